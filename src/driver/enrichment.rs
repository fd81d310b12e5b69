//! Adds fields to the manifest of each case. No clause of the case covers these fields. Without them, the
//! suite would pass an operator that loses volumes or confuses the labels of two cliques.
//!
//! Each clique gets one small feature, and one clique in [`ONE_IN`] also gets large ones. The choice depends
//! only on the ids of the case and the clique, so each run submits the same manifest. The arithmetic of cases
//! stays the same: no feature requests a scarce resource, excludes a node, or prevents a pod from becoming
//! Ready. Spread constraints are missing, because admission rejects them in a clique template.
//!
//! With all features in each clique, pods were 2.4 times as large, and a default run took 1.9 times the
//! processor time. Versions of pods are 4 to 4.5 % larger with this selection.

use conformance_facts::updates::{REVISION, revision};
use conformance_history::{count, text};
use serde_json::{Value, json};

/// A group of fields. A case can leave out some groups, each with a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enrichment {
    /// A second container with variables, requests and a port.
    Container,
    /// A liveness probe of the second container. Its first execution is an hour after the start.
    Probe,
    /// A restartable init container (a sidecar). On simulated nodes, some cliques have a terminating one.
    InitContainers,
    /// An emptyDir, a projected volume and an optional ConfigMap, mounted by the second container.
    Volumes,
    Labels,
    Annotations,
    /// Tolerations of taints that no node has.
    Tolerations,
    /// A required node affinity that every node satisfies.
    NodeAffinity,
    /// Security contexts of the pod and of the second container.
    SecurityContext,
    HostAliases,
    DnsConfig,
}

impl Enrichment {
    pub const ALL: [Self; 11] = [
        Self::Container,
        Self::Probe,
        Self::InitContainers,
        Self::Volumes,
        Self::Labels,
        Self::Annotations,
        Self::Tolerations,
        Self::NodeAffinity,
        Self::SecurityContext,
        Self::HostAliases,
        Self::DnsConfig,
    ];
}

/// To find the feature that causes a failure, remove features from this list.
const ENABLED: &[Enrichment] = &Enrichment::ALL;

/// Small features: each clique has exactly one of them.
const SMALL: [Enrichment; 7] = [
    Enrichment::Labels,
    Enrichment::Annotations,
    Enrichment::Tolerations,
    Enrichment::NodeAffinity,
    Enrichment::SecurityContext,
    Enrichment::HostAliases,
    Enrichment::DnsConfig,
];

/// Of [`ONE_IN`] cliques, one has the features of the first entry, and another those of the second.
const LARGE: [&[Enrichment]; 2] =
    [&[Enrichment::Container, Enrichment::Probe, Enrichment::Volumes], &[Enrichment::InitContainers]];
const ONE_IN: usize = 14;
/// Cliques with more replicas get no large feature.
const MOST_REPLICAS: usize = 3;

/// The case whose cliques have all features. The mutants that drop one of these fields run this case.
pub(crate) const WITH_ALL: &str = "gang/scaled-by-apply";

/// The only image that all clusters of the suite contain.
const IMAGE: &str = "registry.k8s.io/pause:3.10";
const KEY: &str = "example.com/seed";
const EMPTY_KEY: &str = "example.com/empty";
const ABSENT_KEY: &str = "example.com/absent";
const CONTAINER: &str = "enriched";
const VOLUMES: [&str; 3] = ["enriched-scratch", "enriched-labels", "enriched-settings"];
/// The first probe is later than the end of any case.
const FIRST_PROBE_SECONDS: u32 = 3600;

pub fn selected(case: &str, clique: &Value, left_out: &[(Enrichment, &str)]) -> Vec<Enrichment> {
    let is_used = |feature: &Enrichment| {
        ENABLED.contains(feature) && left_out.iter().all(|(found, _)| found != feature)
    };
    if case == WITH_ALL {
        return Enrichment::ALL.into_iter().filter(is_used).collect();
    }
    let seed = seed(&[case, text(&clique["name"])]) as usize;
    let small: Vec<Enrichment> = SMALL.into_iter().filter(is_used).collect();
    let mut selected: Vec<Enrichment> = small.get(seed % small.len().max(1)).copied().into_iter().collect();
    let is_few = count(&clique["spec"]["replicas"]).is_none_or(|replicas| replicas <= MOST_REPLICAS);
    // Use other bits of the seed than above, so that each large feature occurs with each small one.
    let entry = (seed >> 13) % ONE_IN;
    if is_few && entry < LARGE.len() {
        selected.extend(LARGE[entry].iter().copied().filter(is_used));
    }
    selected
}

pub fn enrich(object: &mut Value, case: &str, left_out: &[(Enrichment, &str)], on_kubelets: bool) {
    enrich_with(object, case, on_kubelets, |clique| selected(case, clique, left_out));
}

fn enrich_with(
    object: &mut Value,
    case: &str,
    on_kubelets: bool,
    features_of: impl Fn(&Value) -> Vec<Enrichment>,
) {
    if object["kind"] != "PodCliqueSet" {
        return;
    }
    add_metadata(&mut object["metadata"], seed(&[case]), &features_of(&Value::Null));
    for clique in object["spec"]["template"]["cliques"].as_array_mut().into_iter().flatten() {
        let seed = seed(&[case, text(&clique["name"])]);
        let features = features_of(clique);
        add_metadata(clique, seed, &features);
        add_pod_fields(&mut clique["spec"]["podSpec"], seed, &features, on_kubelets);
    }
}

fn add_pod_fields(pod: &mut Value, seed: u32, features: &[Enrichment], on_kubelets: bool) {
    for feature in features {
        match feature {
            Enrichment::Container => {
                let container = container(seed, features, revision(pod));
                append(pod, "containers", container);
            }
            Enrichment::InitContainers => append(pod, "initContainers", init_container(seed, on_kubelets)),
            Enrichment::Volumes => add_volumes(pod),
            Enrichment::Tolerations => add_tolerations(pod, seed),
            Enrichment::NodeAffinity => add_node_affinity(pod),
            Enrichment::SecurityContext => {
                let groups = json!([2000 + seed % 1000, 3000 + seed % 1000]);
                pod["securityContext"]["supplementalGroups"] = groups;
            }
            Enrichment::HostAliases => {
                let names = json!(["a.example.com", "b.example.com"]);
                let ip = format!("192.0.2.{}", 1 + seed % 254);
                append(pod, "hostAliases", json!({"ip": ip, "hostnames": names}));
            }
            Enrichment::DnsConfig => {
                let ndots = (2 + seed % 3).to_string();
                pod["dnsConfig"]["options"] = json!([{"name": "ndots", "value": ndots}, {"name": "edns0"}]);
            }
            // `add_metadata` and `container` add these features.
            Enrichment::Labels | Enrichment::Annotations | Enrichment::Probe => {}
        }
    }
}

/// FNV-1a, because the hash of the standard library may change between releases.
fn seed(words: &[&str]) -> u32 {
    let bytes = words.iter().flat_map(|word| word.bytes().chain([0]));
    bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn add_metadata(holder: &mut Value, seed: u32, selected: &[Enrichment]) {
    if selected.contains(&Enrichment::Labels) {
        holder["labels"][KEY] = format!("{seed:08x}").into();
        holder["labels"][EMPTY_KEY] = "".into();
    }
    if selected.contains(&Enrichment::Annotations) {
        // This value is invalid as a label, so that an operator that mixes up labels and annotations fails.
        holder["annotations"][KEY] = format!("{{\"seed\": {seed}}}\n").into();
    }
}

/// An update changes the revision variable in every container. The second container gets the variable at the
/// start if the first container has it. A case that reverts an update then restores the whole template.
fn container(seed: u32, selected: &[Enrichment], revision: Option<&str>) -> Value {
    let mut container = json!({
        "name": CONTAINER,
        "image": IMAGE,
        // The last variable refers to earlier ones, so the order matters.
        "env": [
            {"name": "ENRICHED_SEED", "value": seed.to_string()},
            {"name": "ENRICHED_NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "ENRICHED_BOTH", "value": "$(ENRICHED_SEED)-$(ENRICHED_NODE)"},
        ],
        "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}},
        "ports": [{"name": "enriched", "containerPort": 20_000 + seed % 10_000, "protocol": "TCP"}],
    });
    if let Some(revision) = revision {
        append(&mut container, "env", json!({"name": REVISION, "value": revision}));
    }
    if selected.contains(&Enrichment::Probe) {
        container["livenessProbe"] = json!({
            "tcpSocket": {"port": "enriched"},
            "initialDelaySeconds": FIRST_PROBE_SECONDS + seed % 60,
        });
    }
    if selected.contains(&Enrichment::Volumes) {
        let [scratch, labels, settings] = VOLUMES;
        container["volumeMounts"] = json!([
            {"name": scratch, "mountPath": "/enriched/scratch"},
            {"name": labels, "mountPath": "/enriched/labels", "readOnly": true},
            {"name": settings, "mountPath": "/enriched/settings", "readOnly": true},
        ]);
    }
    if selected.contains(&Enrichment::SecurityContext) {
        container["securityContext"] = json!({"allowPrivilegeEscalation": false});
    }
    container
}

/// The init container terminates only on simulated nodes. No image on the suite's kubelets terminates.
fn init_container(seed: u32, on_kubelets: bool) -> Value {
    let env = json!([{"name": "ENRICHED_SEED", "value": seed.to_string()}]);
    if !on_kubelets && seed.is_multiple_of(2) {
        return json!({"name": "enriched-first", "image": IMAGE, "env": env});
    }
    json!({
        "name": "enriched-sidecar", "image": IMAGE, "restartPolicy": "Always", "env": env,
        "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}},
    })
}

fn add_volumes(pod: &mut Value) {
    let [scratch, labels, settings] = VOLUMES;
    let items = json!([{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]);
    let volumes = [
        json!({"name": scratch, "emptyDir": {"sizeLimit": "1Mi"}}),
        json!({"name": labels, "projected": {"sources": [{"downwardAPI": {"items": items}}]}}),
        json!({"name": settings, "configMap": {"name": settings, "optional": true}}),
    ];
    volumes.into_iter().for_each(|volume| append(pod, "volumes", volume));
}

fn add_tolerations(pod: &mut Value, seed: u32) {
    let tolerations = [
        json!({"key": KEY, "value": seed.to_string(), "effect": "PreferNoSchedule"}),
        json!({"key": ABSENT_KEY, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60 + seed % 60}),
    ];
    tolerations.into_iter().for_each(|toleration| append(pod, "tolerations", toleration));
}

fn add_node_affinity(pod: &mut Value) {
    let everywhere = json!([{"key": ABSENT_KEY, "operator": "DoesNotExist"}]);
    let required = &mut pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    // Node selector terms are alternatives, so another term would weaken the case's own terms.
    if required.is_null() {
        *required = json!({"nodeSelectorTerms": [{"matchExpressions": everywhere}]});
    }
}

fn append(holder: &mut Value, list: &str, entry: Value) {
    match holder[list].as_array_mut() {
        Some(entries) => entries.push(entry),
        None => holder[list] = json!([entry]),
    }
}

#[cfg(test)]
#[path = "enrichment_tests.rs"]
mod tests;
