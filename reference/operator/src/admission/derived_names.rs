//! Refuses a PodCliqueSet if two of its parts would create objects of the same kind and name (ADM-24).
//! PodGangs, scaling groups and Services need no rule: their names differ if those of cliques and groups do.
//! The status reports conflicts with other PodCliqueSets, which may be created later (STAT-18).

use grove_api::{PodCliqueSet, PodCliqueTemplateSpec, ResourceSharingScope};

use super::findings::invalid;
use super::structure::pcs_name;
use crate::backend::FieldError;
use crate::backend::name_pattern::NamePattern;
use crate::plan::resource_sharing::{Entry, clique_entries, group_entries, pcs_entries};
use crate::plan::startup_order::has_order;

const TEMPLATE: &str = "spec.template";
const POD_CLIQUE: &str = "PodClique";
const AUTOSCALER: &str = "HorizontalPodAutoscaler";
const CLAIM: &str = "ResourceClaim";
const DEFAULT_SERVICE_ACCOUNT: &str = "default";

struct Source {
    kind: &'static str,
    path: String,
    /// The part in words, such as `clique "a"`.
    part: String,
    value: String,
    names: NamePattern,
}

/// The names of cliques, groups and claims must already be valid.
pub(super) fn check(pcs: &PodCliqueSet) -> Vec<FieldError> {
    let sources = sources(pcs);
    let mut errors: Vec<_> = (1..sources.len())
        .filter_map(|index| {
            let (earlier, later) = (&sources[..index], &sources[index]);
            let mut same_kind = earlier.iter().filter(|earlier| earlier.kind == later.kind);
            same_kind.find_map(|earlier| {
                Some(collision(earlier, later, &earlier.names.common_name(&later.names)?))
            })
        })
        .collect();
    if pcs_name(pcs) == DEFAULT_SERVICE_ACCOUNT && has_order(pcs) {
        let message = "a PodCliqueSet with a startup order gets a ServiceAccount of its name, but \
                       Kubernetes creates this ServiceAccount in every namespace: rename the PodCliqueSet";
        errors.push(invalid("metadata.name", DEFAULT_SERVICE_ACCOUNT, message));
    }
    errors
}

fn collision(earlier: &Source, later: &Source, name: &str) -> FieldError {
    let Source { kind, path, part, value, .. } = later;
    let message = format!("{kind} {name} would belong to {} and to {part}: rename one of them", earlier.part);
    invalid(path, value.as_str(), &message)
}

/// The parts from which the controller derives names of PodCliques, autoscalers and ResourceClaims.
fn sources(pcs: &PodCliqueSet) -> Vec<Source> {
    let template = &pcs.spec.template;
    let of_replica = || NamePattern::of(pcs_name(pcs)).index();
    let mut sources = Vec::new();
    let claims = pcs_entries(&template.resource_sharing);
    let of_set = NamePattern::of(pcs_name(pcs));
    sources.extend(claim_sources(&claims, TEMPLATE, "the PodCliqueSet", &of_set));
    for (index, clique) in template.cliques.iter().enumerate() {
        let path = format!("{TEMPLATE}.cliques[{index}]");
        let (part, names) = match template.group_of(&clique.name) {
            None => (format!("clique {:?}", clique.name), of_replica().name(&clique.name)),
            Some(group) => (
                format!("clique {:?} of scaling group {:?}", clique.name, group.name),
                of_replica().name(&group.name).index().name(&clique.name),
            ),
        };
        sources.extend(autoscaler_source(clique, &path, &part, &names));
        sources.extend(claim_sources(&clique_entries(&clique.resource_sharing), &path, &part, &names));
        let (path, value) = (format!("{path}.name"), clique.name.clone());
        sources.push(Source { kind: POD_CLIQUE, path, part, value, names });
    }
    for (index, group) in template.pod_clique_scaling_groups.iter().enumerate() {
        let path = format!("{TEMPLATE}.podCliqueScalingGroups[{index}]");
        let (part, names) = (format!("scaling group {:?}", group.name), of_replica().name(&group.name));
        sources.extend(claim_sources(&group_entries(&group.resource_sharing), &path, &part, &names));
        if group.scale_config.is_some() {
            let (path, value) = (format!("{path}.name"), group.name.clone());
            sources.push(Source { kind: AUTOSCALER, path, part, value, names });
        }
    }
    sources
}

fn autoscaler_source(
    clique: &PodCliqueTemplateSpec,
    path: &str,
    part: &str,
    names: &NamePattern,
) -> Option<Source> {
    clique.spec.auto_scaling_config.as_ref()?;
    let (path, value) = (format!("{path}.name"), clique.name.clone());
    Some(Source { kind: AUTOSCALER, path, part: part.to_owned(), value, names: names.clone() })
}

fn claim_sources(
    entries: &[Entry<'_>],
    path: &str,
    part: &str,
    names: &NamePattern,
) -> impl Iterator<Item = Source> {
    entries.iter().enumerate().map(move |(index, entry)| Source {
        kind: CLAIM,
        path: format!("{path}.resourceSharing[{index}].name"),
        part: format!("claim {:?} of {part}", entry.name),
        value: entry.name.to_owned(),
        names: match entry.scope {
            ResourceSharingScope::AllReplicas => names.clone().name("all"),
            ResourceSharingScope::PerReplica => names.clone().index(),
        }
        .name(entry.name),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::admission::fixture::{Edits, lines, pcs};

    const CLIQUES: &str = "/spec/template/cliques";
    const GROUPS: &str = "/spec/template/podCliqueScalingGroups";

    fn findings(edits: Edits<'_>) -> String {
        lines(&check(&pcs(edits)))
    }

    fn renamed(name: &str) -> String {
        findings(&[(&format!("{CLIQUES}/0/name"), json!(name))])
    }

    /// The group of the fixture is `sg` with the cliques `b` and `c` in 2 replicas.
    #[rstest::rstest]
    #[case::replica("sg-1-b", "PodClique demo-0-sg-1-b")]
    #[case::later_replica("sg-7-c", "PodClique demo-0-sg-7-c")]
    fn a_clique_with_the_name_of_a_member_is_refused(#[case] name: &str, #[case] object: &str) {
        let found = renamed(name);
        assert!(found.contains(object) && found.contains(&format!("{name:?}")), "{found}");
        assert!(!found.contains('\n'), "{found}");
    }

    #[rstest::rstest]
    #[case("sg-1")]
    #[case("sg-01-b")]
    #[case("sg-b-1")]
    #[case("sg-1-a")]
    #[case("sg")]
    fn a_similar_clique_is_admitted(#[case] name: &str) {
        assert_eq!(renamed(name), "");
    }

    /// `demo-0-sg-0-1-b` is clique `1-b` in replica 0 of `sg`, and clique `b` in replica 1 of `sg-0`.
    #[test]
    fn members_of_two_groups_with_one_name_are_refused() {
        let other = json!({"name": "sg-0", "cliqueNames": ["b"], "replicas": 1, "minAvailable": 1});
        let found = findings(&[
            (&format!("{CLIQUES}/2/name"), json!("1-b")),
            (&format!("{GROUPS}/0/cliqueNames"), json!(["1-b"])),
            (&format!("{GROUPS}/-"), other),
        ]);
        assert!(found.contains("PodClique demo-0-sg-0-1-b"), "{found}");
    }

    #[rstest::rstest]
    #[case::both(json!({"maxReplicas": 3}), json!({"maxReplicas": 3}), true)]
    #[case::only_the_clique(json!({"maxReplicas": 3}), Value::Null, false)]
    #[case::only_the_group(Value::Null, json!({"maxReplicas": 3}), false)]
    fn two_autoscalers_of_one_name_are_refused(
        #[case] of_clique: Value,
        #[case] of_group: Value,
        #[case] refused: bool,
    ) {
        let found = findings(&[
            (&format!("{CLIQUES}/0/name"), json!("sg")),
            (&format!("{CLIQUES}/0/spec/autoScalingConfig"), of_clique),
            (&format!("{GROUPS}/0/scaleConfig"), of_group),
        ]);
        assert_eq!(found.contains("HorizontalPodAutoscaler demo-0-sg would belong"), refused, "{found}");
    }

    #[test]
    fn two_claims_of_one_name_are_refused() {
        let all = |name: &str| json!([{"name": name, "scope": "AllReplicas"}]);
        let found = findings(&[
            (&format!("{CLIQUES}/0/name"), json!("sg")),
            (&format!("{CLIQUES}/0/resourceSharing"), all("nic")),
            (&format!("{GROUPS}/0/resourceSharing"), all("nic")),
        ]);
        assert!(found.contains("ResourceClaim demo-0-sg-all-nic"), "{found}");
        let of_one_pod = findings(&[
            ("/spec/template/resourceSharing", json!([{"name": "a-all-nic", "scope": "PerReplica"}])),
            (&format!("{CLIQUES}/0/resourceSharing"), all("nic")),
        ]);
        assert!(of_one_pod.contains("ResourceClaim demo-0-a-all-nic"), "{of_one_pod}");
        let of_different_names = findings(&[
            (&format!("{CLIQUES}/0/resourceSharing"), all("nic")),
            (&format!("{GROUPS}/0/resourceSharing"), all("nic")),
        ]);
        assert_eq!(of_different_names, "");
    }

    #[rstest::rstest]
    #[case("default", json!("CliqueStartupTypeInOrder"), 1)]
    #[case("default", json!("CliqueStartupTypeAnyOrder"), 0)]
    #[case("defaults", json!("CliqueStartupTypeInOrder"), 0)]
    fn the_default_service_account_is_not_taken(
        #[case] name: &str,
        #[case] order: Value,
        #[case] errors: usize,
    ) {
        let pcs = pcs(&[("/metadata/name", json!(name)), ("/spec/template/cliqueStartupType", order)]);
        assert_eq!(check(&pcs).len(), errors);
    }

    #[test]
    fn messages_name_the_field_and_the_rule() {
        insta::assert_snapshot!(renamed("sg-1-b"), @r#"spec.template.cliques[1].name: Invalid value: "b": PodClique demo-0-sg-1-b would belong to clique "sg-1-b" and to clique "b" of scaling group "sg": rename one of them"#);
    }
}
