//! PodCliqueSets that admission may accept, but that the case of a user's workload cannot judge.

use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::target::Target;
use conformance_expect as expect;
use conformance_expect::startup;
use conformance_history::{list, text};
use serde_json::Value;

use crate::manifest::{Companion, DocumentError, Manifest};

const SERVICE: &str = "Service";

/// 1,000 nodes, the most that a run simulates, have room for 110,000 pods by default.
const MAX_PODS: u64 = 100_000;

/// Returns the first reason, with the number of the document.
pub(crate) fn reason(manifest: &Manifest) -> Option<(usize, DocumentError)> {
    let mut sets = manifest.sets.iter();
    let of_one = sets.find_map(|(document, set)| Some((*document, reason_of(set)?)));
    of_one.or_else(|| same_name(manifest))
}

fn reason_of(set: &Value) -> Option<DocumentError> {
    let name = || text(&set["metadata"]["name"]).to_owned();
    if count(&set["spec"]["replicas"], 0) == 0 {
        return Some(DocumentError::NoReplicas(name()));
    }
    if has_too_many_pods(set) {
        return Some(DocumentError::TooManyPods { set: name(), most: MAX_PODS });
    }
    let mut cliques = list(&set["spec"]["template"]["cliques"]).iter();
    let clique = cliques.position(|clique| !clique["spec"]["podSpec"]["schedulingGroup"].is_null())?;
    Some(DocumentError::OwnSchedulingGroup { clique })
}

fn count(value: &Value, otherwise: u64) -> u64 {
    value.as_u64().unwrap_or(otherwise)
}

/// Counts without a list of the pods, which could exceed the memory.
fn has_too_many_pods(set: &Value) -> bool {
    let template = &set["spec"]["template"];
    let groups = list(&template["podCliqueScalingGroups"]);
    let group_replicas = |group: &Value| count(&group["replicas"], 1);
    let pods = list(&template["cliques"]).iter().map(|clique| {
        let group = groups.iter().find(|group| list(&group["cliqueNames"]).contains(&clique["name"]));
        count(&clique["spec"]["replicas"], 1).max(1).saturating_mul(group.map_or(1, group_replicas))
    });
    // A PodCliqueSet without pods, which admission refuses, has gangs too.
    let gangs = groups.iter().map(group_replicas).fold(1, u64::max);
    let of_replica = pods.fold(0, u64::saturating_add).max(gangs);
    of_replica.saturating_mul(count(&set["spec"]["replicas"], 0)) > MAX_PODS
}

/// Admission sees one PodCliqueSet at a time, so it does not refuse two that need an object of one name.
fn same_name(manifest: &Manifest) -> Option<(usize, DocumentError)> {
    let mut known: BTreeMap<(&str, String), &str> = BTreeMap::new();
    for (document, set) in &manifest.sets {
        let name = text(&set["metadata"]["name"]);
        for created in created_by_grove(set) {
            let object = format!("{} {}", created.0, created.1);
            if let Some(first) = known.insert(created, name) {
                let (first, second) = (first.to_owned(), name.to_owned());
                return Some((*document, DocumentError::SameName { first, second, object }));
            }
        }
    }
    None
}

/// Returns the first companion that has the name of an object of the operator, and is not taken over.
pub(crate) fn name_of_grove(manifest: &Manifest, target: Target) -> Option<(usize, DocumentError)> {
    for (_, set) in &manifest.sets {
        for (kind, name) in taken_names(set, target) {
            let mut taken = manifest.companions.iter().filter(|companion| companion.is(kind, &name));
            // The operator needs a headless Service, and the address of a Service cannot change.
            let is_taken_over = |companion: &Companion| {
                target.takes_over(kind) && (kind != SERVICE || companion.is_headless())
            };
            if let Some(companion) = taken.find(|&companion| !is_taken_over(companion)) {
                let set = text(&set["metadata"]["name"]).to_owned();
                let object = format!("{kind} {name}");
                return Some((companion.document(), DocumentError::NameOfGrove { set, object }));
            }
        }
    }
    None
}

/// The objects that an operator creates in addition to those of Grove's own kinds. The reference operator
/// needs those of init containers only with a startup order. Others, such as upstream, may always need them.
fn taken_names(set: &Value, target: Target) -> Vec<(&'static str, String)> {
    let name = text(&set["metadata"]["name"]);
    let services =
        (0..count(&set["spec"]["replicas"], 0)).map(|replica| (SERVICE, format!("{name}-{replica}")));
    let mut taken: Vec<_> = services.collect();
    let has_order = startup::parents(set).values().any(|parents| !parents.is_empty());
    if has_order || target.declaration().is_some() {
        let role = format!("grove.io:pcs:{name}");
        taken.extend([
            ("ServiceAccount", name.to_owned()),
            ("Role", role.clone()),
            ("RoleBinding", role),
            ("Secret", format!("{name}-ic-sat")),
        ]);
    }
    taken
}

/// Returns the first claim of devices that no pod can get. The namespace of the case is new, so a claim or its
/// template must be in the manifest. `classes` are the names of all DeviceClasses, if they are known.
pub(crate) fn missing_claim(
    manifest: &Manifest,
    classes: Option<&BTreeSet<&str>>,
) -> Option<(usize, DocumentError)> {
    for (document, set) in &manifest.sets {
        for (clique, template) in list(&set["spec"]["template"]["cliques"]).iter().enumerate() {
            for (index, claim) in list(&template["spec"]["podSpec"]["resourceClaims"]).iter().enumerate() {
                let (kind, name) = match text(&claim["resourceClaimName"]) {
                    "" => ("ResourceClaimTemplate", text(&claim["resourceClaimTemplateName"])),
                    name => ("ResourceClaim", name),
                };
                if name.is_empty() {
                    continue;
                }
                let object = format!("{kind} {name}");
                let Some(spec) = manifest.spec(kind, name) else {
                    return Some((*document, DocumentError::NoClaim { clique, index, object }));
                };
                let spec = if kind == "ResourceClaim" { spec } else { &spec["spec"] };
                if let Some(class) = classes.and_then(|classes| missing_class(spec, classes)) {
                    let class = class.to_owned();
                    return Some((*document, DocumentError::NoDeviceClass { clique, index, object, class }));
                }
            }
        }
    }
    None
}

/// Returns the class of a request for which no class exists. A request has one class, or several alternatives.
fn missing_class<'a>(claim: &'a Value, classes: &BTreeSet<&str>) -> Option<&'a str> {
    list(&claim["devices"]["requests"]).iter().find_map(|request| {
        // Up to v1beta1, the class is a field of the request itself.
        let of_request = [&request["exactly"], request].into_iter().chain(list(&request["firstAvailable"]));
        let named = of_request.map(|part| text(&part["deviceClassName"])).filter(|class| !class.is_empty());
        let named: Vec<_> = named.collect();
        named.first().filter(|_| !named.iter().any(|class| classes.contains(class))).copied()
    })
}

/// The kinds and names of the objects of Grove's own kinds, except those of claims.
fn created_by_grove(set: &Value) -> BTreeSet<(&'static str, String)> {
    let name = text(&set["metadata"]["name"]);
    let mut created = BTreeSet::new();
    let mut minimums: BTreeMap<String, usize> = BTreeMap::new();
    for gang in expect::gangs(set) {
        if gang.is_base {
            created.insert(("PodGang", format!("{name}-{}", gang.replica)));
        } else if let Some((group, index)) = gang.groups.first().and_then(|group| group.scaling_group.clone())
        {
            let minimum = *minimums.entry(group.clone()).or_insert(index);
            created.insert(("PodGang", format!("{group}-{}", index - minimum)));
        }
        for group in gang.groups {
            created.insert(("PodClique", group.clique));
            created.extend(group.scaling_group.map(|(group, _)| ("PodCliqueScalingGroup", group)));
        }
    }
    created
}

#[cfg(test)]
mod tests {
    use conformance_contract::backend_declaration::BackendDeclaration;
    use serde_json::json;

    use super::*;

    /// One clique is standalone. The other one is in a scaling group with one replica above its minimum.
    fn set(name: &str, group: &str, order: &str) -> String {
        let clique = |name: &str| json!({"name": name, "spec": {"replicas": 2, "podSpec": {}}});
        let member = format!("member-{group}");
        let template = json!({
            "cliqueStartupType": order,
            "cliques": [clique("a"), clique(&member)],
            "podCliqueScalingGroups": [{"name": group, "cliqueNames": [member], "replicas": 2}],
        });
        let set = json!({"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": {"name": name},
            "spec": {"replicas": 1, "template": template}});
        format!("{set}\n")
    }

    fn message(documents: &[String]) -> Option<String> {
        let manifest = Manifest::read(&documents.join("---\n")).unwrap();
        reason(&manifest).map(|(document, reason)| format!("document {document}: {reason}"))
    }

    #[rstest::rstest]
    #[case::different("w", "x", "sg", None)]
    #[case::like_a_pod_gang("w", "w-0", "sg", None)]
    #[case::scaling_group(
        "w",
        "w-0",
        "s",
        Some("PodCliqueSets w and w-0 would both have PodCliqueScalingGroup w-0-0-s")
    )]
    #[case::scaled_pod_gang(
        "w",
        "w-0-0-s",
        "t",
        Some("PodCliqueSets w and w-0-0-s would both have PodGang w-0-0-s-0")
    )]
    fn two_pod_clique_sets_with_one_derived_name_are_refused(
        #[case] first: &str,
        #[case] second: &str,
        #[case] group: &str,
        #[case] expected: Option<&str>,
    ) {
        // The group `0-s` of the first PodCliqueSet has the same object name as the group `s` of `w-0`.
        let found = message(&[set(first, "0-s", ""), set(second, group, "")]);
        match expected {
            Some(expected) => {
                assert!(found.as_ref().is_some_and(|found| found.contains(expected)), "{found:?}")
            }
            None => assert_eq!(found, None),
        }
    }

    const IN_ORDER: &str = "CliqueStartupTypeInOrder";
    const RBAC: &str = "rbac.authorization.k8s.io/v1";

    /// Returns the message about a companion, for the reference operator or for one that takes over objects.
    fn taken(order: &str, companion: &str, takes_over: Option<&[&str]>) -> Option<String> {
        let manifest = Manifest::read(&[set("w", "sg", order), companion.to_owned()].join("---\n")).unwrap();
        let target = match takes_over {
            None => Target::VOLCANO,
            Some(kinds) => Target::VOLCANO.declared_by(BackendDeclaration {
                takes_over: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
                ..BackendDeclaration::default()
            }),
        };
        let found = name_of_grove(&manifest, target);
        found.map(|(document, reason)| format!("document {document}: {reason}"))
    }

    fn companion(version: &str, kind: &str, name: &str) -> String {
        format!("apiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name:?}}}\n")
    }

    #[rstest::rstest]
    #[case::account(&companion("v1", "ServiceAccount", "w"), IN_ORDER, true)]
    #[case::account_without_an_order(&companion("v1", "ServiceAccount", "w"), "CliqueStartupTypeAnyOrder", false)]
    #[case::account_of_another_name(&companion("v1", "ServiceAccount", "w-0"), IN_ORDER, false)]
    #[case::role(&companion(RBAC, "Role", "grove.io:pcs:w"), IN_ORDER, true)]
    #[case::role_binding(&companion(RBAC, "RoleBinding", "grove.io:pcs:w"), IN_ORDER, true)]
    #[case::secret(&companion("v1", "Secret", "w-ic-sat"), IN_ORDER, true)]
    #[case::secret_without_an_order(&companion("v1", "Secret", "w-ic-sat"), "", false)]
    #[case::service(&companion("v1", "Service", "w-0"), "", true)]
    #[case::service_of_no_replica(&companion("v1", "Service", "w-1"), "", false)]
    fn a_companion_with_the_name_of_groves_object_is_refused(
        #[case] companion: &str,
        #[case] order: &str,
        #[case] is_refused: bool,
    ) {
        let found = taken(order, companion, None);
        assert_eq!(found.is_some(), is_refused, "{found:?}");
        if let Some(found) = found {
            assert!(
                found.starts_with("document 2: Grove creates ") && found.contains(" for PodCliqueSet w"),
                "{found}"
            );
        }
    }

    #[rstest::rstest]
    #[case::account(&companion("v1", "ServiceAccount", "w"), &["ServiceAccount"], false)]
    #[case::another_kind(&companion("v1", "ServiceAccount", "w"), &["Service"], true)]
    #[case::secret(&companion("v1", "Secret", "w-ic-sat"), &["ServiceAccount"], true)]
    #[case::headless_service(
        "apiVersion: v1\nkind: Service\nmetadata: {name: w-0}\nspec: {clusterIP: None}\n", &["Service"], false
    )]
    #[case::service_with_an_address(&companion("v1", "Service", "w-0"), &["Service"], true)]
    fn an_operator_may_take_over_companions(
        #[case] companion: &str,
        #[case] takes_over: &[&str],
        #[case] is_refused: bool,
    ) {
        let found = taken("CliqueStartupTypeAnyOrder", companion, Some(takes_over));
        assert_eq!(found.is_some(), is_refused, "{found:?}");
    }

    #[rstest::rstest]
    #[case::known(json!({"exactly": {"deviceClassName": "gpu"}}), false)]
    #[case::unknown(json!({"exactly": {"deviceClassName": "nic"}}), true)]
    #[case::of_v1beta1(json!({"deviceClassName": "nic"}), true)]
    #[case::alternatives(json!({"firstAvailable": [{"deviceClassName": "nic"}, {"deviceClassName": "gpu"}]}), false)]
    #[case::no_alternative(json!({"firstAvailable": [{"deviceClassName": "nic"}, {"deviceClassName": "fpga"}]}), true)]
    fn a_claim_needs_an_existing_device_class(#[case] request: Value, #[case] is_refused: bool) {
        let claims = json!([{"name": "c", "resourceClaimTemplateName": "t"}]);
        let clique = json!({"name": "a", "spec": {"podSpec": {"resourceClaims": claims}}});
        let set = json!({"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": {"name": "w"},
            "spec": {"replicas": 1, "template": {"cliques": [clique]}}});
        let template = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "t"},
            "spec": {"spec": {"devices": {"requests": [request]}}}});
        let manifest = Manifest::read(&format!("{set}\n---\n{template}\n")).unwrap();
        let found = missing_claim(&manifest, Some(&BTreeSet::from(["gpu"])));
        let found = found.map(|(_, reason)| reason.to_string());
        assert_eq!(found.is_some(), is_refused, "{found:?}");
        let is_named =
            found.is_none_or(|found| found.contains("requests a device of DeviceClass nic, which neither"));
        assert!(is_named);
        assert!(missing_claim(&manifest, None).is_none(), "the classes of a cluster are unknown");
    }

    #[rstest::rstest]
    #[case::of_the_manifest("resourceClaimTemplateName", "gpu", None)]
    #[case::template(
        "resourceClaimTemplateName",
        "other",
        Some("ResourceClaimTemplate other is not in the manifest: add")
    )]
    #[case::claim(
        "resourceClaimName",
        "gpu",
        Some("resourceClaims[0]: ResourceClaim gpu is not in the manifest: add it")
    )]
    fn a_claim_must_be_in_the_manifest(
        #[case] field: &str,
        #[case] name: &str,
        #[case] expected: Option<&str>,
    ) {
        let clique =
            json!({"name": "a", "spec": {"podSpec": {"resourceClaims": [{"name": "c", (field): name}]}}});
        let set = json!({"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": {"name": "w"},
            "spec": {"replicas": 1, "template": {"cliques": [clique]}}});
        let template = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: gpu}\n";
        let found = missing_claim(&Manifest::read(&format!("{set}\n---\n{template}")).unwrap(), None);
        let found = found.map(|(_, reason)| reason.to_string());
        assert_eq!(found.is_some(), expected.is_some(), "{found:?}");
        assert!(found.unwrap_or_default().contains(expected.unwrap_or_default()));
    }

    #[test]
    fn pods_are_counted_in_every_replica() {
        let set = |replicas: u64, group: u64, pods: u64| {
            let clique = json!({"name": "a", "spec": {"replicas": pods}});
            let group = json!({"name": "g", "cliqueNames": ["a"], "replicas": group});
            let template = json!({"cliques": [clique], "podCliqueScalingGroups": [group]});
            json!({"spec": {"replicas": replicas, "template": template}})
        };
        assert!(!has_too_many_pods(&set(10, 1000, 10)));
        assert!(has_too_many_pods(&set(10, 1000, 11)));
        assert!(!has_too_many_pods(&set(1, MAX_PODS, 1)), "one pod per replica of the group");
        assert!(has_too_many_pods(&set(1, u64::MAX, 10)));
    }

    #[rstest::rstest]
    #[case::replicas(json!({"replicas": u64::MAX, "template": {}}))]
    #[case::group(json!({"replicas": 1, "template": {"podCliqueScalingGroups": [{"replicas": u64::MAX}]}}))]
    fn replicas_without_cliques_are_counted(#[case] spec: Value) {
        assert!(has_too_many_pods(&json!({"spec": spec})));
    }
}
