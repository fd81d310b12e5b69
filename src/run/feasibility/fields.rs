//! Checks the fields that decide whether a pod can be created and scheduled, except requests and node rules.
//! Some refer to objects that no cluster of the harness has. Others can be evaluated only by a scheduler.

use std::collections::BTreeSet;

use conformance_contract::names;
use conformance_expect::refusals::SYSTEM_PRIORITIES;
use conformance_history::{list, text};
use serde_json::Value;

use super::Misfit;
use super::node_rules::Node;
use super::pods::Shape;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

const NO_DEVICE: &str = "no device is published here";

/// Labels and annotations that schedulers evaluate, as whole keys or as prefixes that end with `/`.
const OF_SCHEDULERS: [&str; 8] = [
    names::KAI_QUEUE,
    names::VOLCANO_QUEUE,
    "gpu-fraction",
    "gpu-memory",
    "kai.scheduler/",
    "scheduling.volcano.sh/",
    "scheduling.koordinator.sh/",
    "quota.scheduling.koordinator.sh/",
];

pub(super) fn misfits_of_set(pcs: &Value) -> Vec<Misfit> {
    let template = &pcs["spec"]["template"];
    let mut misfits = Vec::new();
    misfits.extend(priority("spec.template", "the PodCliqueSet", &template["priorityClassName"]));
    let parts = [("podCliqueScalingGroups", "scaling group"), ("cliques", "clique")];
    let parts = parts.into_iter().flat_map(|(key, what)| {
        let all = list(&template[key]).iter().enumerate();
        all.map(move |(index, part)| {
            (format!("spec.template.{key}[{index}]"), format!("{what} {}", text(&part["name"])), part)
        })
    });
    let whole = ("spec.template".to_owned(), "the PodCliqueSet".to_owned(), template);
    for (path, what, part) in std::iter::once(whole).chain(parts) {
        if !list(&part["resourceSharing"]).is_empty() {
            misfits.push(device(
                format!("{path}.resourceSharing[0]"),
                format!("{what} shares a claim of devices"),
            ));
        }
    }
    misfits
}

pub(super) fn misfits(shape: &Shape<'_>) -> Vec<Misfit> {
    let (spec, path) = (&shape.spec, &shape.path);
    let who = format!("each pod of PodClique {}", shape.clique);
    let mut misfits = Vec::new();
    misfits.extend(priority(path, &who, &spec["priorityClassName"]));
    for (index, volume) in list(&spec["volumes"]).iter().enumerate() {
        let claim = volume["persistentVolumeClaim"]["claimName"].as_str();
        let field = if claim.is_some() { "persistentVolumeClaim.claimName" } else { "ephemeral" };
        if claim.is_none() && !volume["ephemeral"].is_object() {
            continue;
        }
        misfits.push(Misfit {
            path: format!("{path}.volumes[{index}].{field}"),
            asks: match claim {
                Some(claim) => format!("{who} needs PersistentVolumeClaim {claim}"),
                None => format!("{who} needs a volume"),
            },
            has: "no volume is provisioned here".into(),
            remedy: match claim {
                Some(_) => "add the claim to the manifest, or use an emptyDir".into(),
                None => "use an emptyDir".into(),
            },
        });
    }
    if !list(&spec["resourceClaims"]).is_empty() {
        misfits.push(device(format!("{path}.resourceClaims[0]"), format!("{who} claims a device")));
    }
    if let Some(class) = spec["runtimeClassName"].as_str() {
        let asks = format!("{who} has RuntimeClass {class}");
        misfits.push(unusable(format!("{path}.runtimeClassName"), asks, "no RuntimeClass exists here"));
    } else if spec["overhead"].as_object().is_some_and(|overhead| !overhead.is_empty()) {
        let asks = format!("{who} has overhead without a RuntimeClass");
        misfits.push(unusable(format!("{path}.overhead"), asks, "the API server rejects such pods"));
    }
    let node = text(&spec["nodeName"]);
    if !node.is_empty() {
        let (asks, has) =
            (format!("{who} names node {node}"), "the API server rejects gated pods with a node name");
        misfits.push(unusable(format!("{path}.nodeName"), asks, has));
    }
    misfits
}

fn unusable(path: String, asks: String, has: &str) -> Misfit {
    Misfit { path, asks, has: has.into(), remedy: "remove the field".into() }
}

fn device(path: String, asks: String) -> Misfit {
    Misfit {
        path,
        asks,
        has: NO_DEVICE.into(),
        remedy: "remove the claim, or pass --nodes FILE with ResourceSlices".into(),
    }
}

/// The extended resources that devices of the classes provide on nodes that do not have them.
pub(super) fn resources_of(classes: &[&Value]) -> BTreeSet<String> {
    let of_class = |class: &&Value| {
        let implicit = format!("deviceclass.resource.kubernetes.io/{}", text(&class["metadata"]["name"]));
        [implicit, text(&class["spec"]["extendedResourceName"]).to_owned()]
    };
    classes.iter().flat_map(of_class).filter(|name| !name.is_empty()).collect()
}

/// Removes misfits about device claims: where devices are published, only a scheduler can decide them.
pub(super) fn without_device_claims(misfits: &mut Vec<Misfit>) -> Vec<String> {
    misfits.extract_if(.., |misfit| misfit.has == NO_DEVICE).map(|misfit| misfit.path).collect()
}

fn priority(path: &str, who: &str, class: &Value) -> Option<Misfit> {
    let class = class.as_str().filter(|class| !class.is_empty() && !SYSTEM_PRIORITIES.contains(class))?;
    Some(Misfit {
        path: format!("{path}.priorityClassName"),
        asks: format!("{who} has PriorityClass {class}"),
        has: format!("only {} exist here", SYSTEM_PRIORITIES.join(" and ")),
        remedy: "add the PriorityClass to the manifest, or remove the field".into(),
    })
}

/// Required pod affinity and spread constraints whose topology key no node has: no node satisfies them.
pub(super) fn misfits_of_keys(shape: &Shape<'_>, nodes: &[Node<'_>]) -> Vec<Misfit> {
    let missing = rules(&shape.spec).into_iter().filter(|rule| !rule.is_anti && !rule.is_carried(nodes));
    let misfit = |rule: Rule<'_>| Misfit {
        path: format!("{}.{}.topologyKey", shape.path, rule.path),
        asks: format!("each pod of PodClique {} needs nodes with label {}", shape.clique, rule.key),
        has: format!("no node has label {}", rule.key),
        remedy: "use the label of a level, such as topology.kubernetes.io/rack".into(),
    };
    missing.map(misfit).collect()
}

pub(super) fn undecided(shape: &Shape<'_>, nodes: &[Node<'_>]) -> Vec<String> {
    let carried = rules(&shape.spec).into_iter().filter(|rule| rule.is_carried(nodes));
    let paths = carried.map(|rule| rule.path).chain(written_volumes(&shape.spec));
    paths.map(|path| format!("{}.{path}", shape.path)).collect()
}

/// Volumes that the pods of a node cannot share while one of them writes. kube-scheduler considers this
/// (VolumeRestrictions), and other schedulers may not.
fn written_volumes(spec: &Value) -> Vec<String> {
    let mut paths = Vec::new();
    for (index, volume) in list(&spec["volumes"]).iter().enumerate() {
        for kind in ["gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd"] {
            let is_shared = volume[kind]["readOnly"] == true && kind != "awsElasticBlockStore";
            if volume[kind].is_object() && !is_shared {
                paths.push(format!("volumes[{index}].{kind}"));
            }
        }
    }
    paths
}

pub(super) fn undecided_metadata(pcs: &Value) -> Vec<String> {
    let cliques = list(&pcs["spec"]["template"]["cliques"]).iter().enumerate();
    let cliques = cliques.map(|(index, clique)| (format!("spec.template.cliques[{index}]"), clique));
    let parts = std::iter::once(("metadata".to_owned(), &pcs["metadata"])).chain(cliques);
    let of_part = |(path, part): (String, &Value)| {
        let mut found = Vec::new();
        for field in ["labels", "annotations"] {
            let keys = part[field].as_object().into_iter().flatten().map(|(key, _)| key.as_str());
            let known = keys.filter(|key| OF_SCHEDULERS.iter().any(|known| is_of(known, key)));
            found.extend(known.map(|key| format!("{path}.{field}[{key:?}]")));
        }
        found
    };
    parts.flat_map(of_part).collect()
}

fn is_of(known: &str, key: &str) -> bool {
    key == known || (known.ends_with('/') && key.starts_with(known))
}

struct Rule<'a> {
    path: String,
    key: &'a str,
    is_anti: bool,
}

impl Rule<'_> {
    fn is_carried(&self, nodes: &[Node<'_>]) -> bool {
        nodes.iter().any(|node| node.label(self.key).is_some())
    }
}

fn rules(spec: &Value) -> Vec<Rule<'_>> {
    let mut rules = Vec::new();
    for (field, is_anti) in [("podAffinity", false), ("podAntiAffinity", true)] {
        for (index, term) in list(&spec["affinity"][field][REQUIRED]).iter().enumerate() {
            let path = format!("affinity.{field}.{REQUIRED}[{index}]");
            rules.push(Rule { path, key: text(&term["topologyKey"]), is_anti });
        }
    }
    for (index, constraint) in list(&spec["topologySpreadConstraints"]).iter().enumerate() {
        if constraint["whenUnsatisfiable"] != "ScheduleAnyway" {
            let path = format!("topologySpreadConstraints[{index}]");
            rules.push(Rule { path, key: text(&constraint["topologyKey"]), is_anti: false });
        }
    }
    rules
}
