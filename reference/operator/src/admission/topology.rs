//! Checks topology constraints against the ClusterTopologyBinding that they name (ADM-07). Updates do not
//! check them again. So a binding that was changed or deleted blocks no update (ADM-08).

use grove_api::{PodCliqueScalingGroupConfig, PodCliqueSet, TopologyConstraint};

use super::findings::invalid;
use super::topology_bindings::{LookupError, TopologyBindings};
use crate::backend::{FieldError, Validation};

const CLIQUE: &str = "PodClique";

pub(super) struct Level<'a> {
    pub(super) kind: &'static str,
    pub(super) name: Option<&'a str>,
    pub(super) path: String,
    pub(super) constraint: &'a TopologyConstraint,
}

impl<'a> Level<'a> {
    pub(super) fn topology_name(&self) -> Option<&'a str> {
        self.constraint.topology_name.as_deref().filter(|name| !name.is_empty())
    }

    pub(super) fn title(&self) -> String {
        self.name.map_or_else(|| self.kind.to_owned(), |name| format!("{} '{name}'", self.kind))
    }
}

pub(super) fn pcs_level(pcs: &PodCliqueSet) -> Option<Level<'_>> {
    let constraint = pcs.spec.template.topology_constraint.as_ref()?;
    Some(Level {
        kind: "PodCliqueSet",
        name: None,
        path: "spec.template.topologyConstraint".into(),
        constraint,
    })
}

pub(super) fn group_levels(pcs: &PodCliqueSet) -> Vec<(Level<'_>, &PodCliqueScalingGroupConfig)> {
    let groups = pcs.spec.template.pod_clique_scaling_groups.iter().enumerate();
    groups
        .filter_map(|(index, group)| {
            let constraint = group.topology_constraint.as_ref()?;
            let path = format!("spec.template.podCliqueScalingGroups[{index}].topologyConstraint");
            Some((Level { kind: "PodCliqueScalingGroup", name: Some(&group.name), path, constraint }, group))
        })
        .collect()
}

pub(super) fn clique_levels(pcs: &PodCliqueSet) -> Vec<Level<'_>> {
    let cliques = pcs.spec.template.cliques.iter().enumerate();
    cliques
        .filter_map(|(index, clique)| {
            let constraint = clique.topology_constraint.as_ref()?;
            let path = format!("spec.template.cliques[{index}].topologyConstraint");
            Some(Level { kind: CLIQUE, name: Some(&clique.name), path, constraint })
        })
        .collect()
}

pub(super) async fn check(
    pcs: &PodCliqueSet,
    bindings: &dyn TopologyBindings,
) -> Result<Validation, LookupError> {
    let levels = Levels { pcs: pcs_level(pcs), groups: group_levels(pcs), cliques: clique_levels(pcs) };
    let errors = levels.check_names();
    let named = levels.iter().find_map(|level| Some((level, level.topology_name()?)));
    let Some((level, name)) = named.filter(|_| errors.is_empty()) else {
        return Ok(Validation { errors, warnings: Vec::new() });
    };
    let Some(binding) = bindings.binding(name).await? else {
        let message = format!("ClusterTopologyBinding {name:?} not found");
        let errors = vec![invalid(format!("{}.topologyName", level.path), name, &message)];
        return Ok(Validation { errors, warnings: Vec::new() });
    };
    let domains = Domains(binding.spec.levels.into_iter().map(|level| level.domain).collect());
    let mut errors = levels.check_domains(&domains);
    if errors.is_empty() {
        errors = levels.check_hierarchy(&domains);
    }
    Ok(Validation { errors, warnings: levels.redundancies(&domains) })
}

/// Domains of a ClusterTopologyBinding, broadest first.
struct Domains(Vec<String>);

impl Domains {
    fn contains(&self, domain: &str) -> bool {
        self.0.iter().any(|known| known == domain)
    }

    fn is_broader(&self, a: &str, b: &str) -> bool {
        let index = |domain| self.0.iter().position(|known| known == domain);
        matches!((index(a), index(b)), (Some(a), Some(b)) if a < b)
    }
}

struct Levels<'a> {
    pcs: Option<Level<'a>>,
    groups: Vec<(Level<'a>, &'a PodCliqueScalingGroupConfig)>,
    cliques: Vec<Level<'a>>,
}

impl<'a> Levels<'a> {
    fn iter(&self) -> impl Iterator<Item = &Level<'a>> {
        self.pcs.iter().chain(self.groups.iter().map(|(level, _)| level)).chain(&self.cliques)
    }

    fn group_of(&self, level: &Level<'_>) -> Option<&Level<'a>> {
        let clique = level.name.filter(|_| level.kind == CLIQUE)?;
        let is_member =
            |group: &PodCliqueScalingGroupConfig| group.clique_names.iter().any(|member| member == clique);
        self.groups.iter().find(|(_, group)| is_member(group)).map(|(level, _)| level)
    }

    fn pairs(&self) -> Vec<(&Level<'a>, &Level<'a>)> {
        let groups = self.groups.iter().map(|(level, _)| level);
        let below_pcs = self
            .pcs
            .iter()
            .flat_map(|pcs| groups.clone().chain(&self.cliques).map(move |child| (pcs, child)));
        let below_group = self.cliques.iter().filter_map(|clique| Some((self.group_of(clique)?, clique)));
        below_pcs.chain(below_group).collect()
    }

    fn check_names(&self) -> Vec<FieldError> {
        let pcs_topology = self.pcs.as_ref().and_then(Level::topology_name);
        let has_name = |level: &Level<'_>| level.topology_name().or(pcs_topology).is_some();
        let is_named = |level: &&Level<'_>| has_name(level) || self.group_of(level).is_some_and(has_name);
        let message = "neither this topologyConstraint nor one above it names a topology";
        let unnamed =
            |level: &Level<'_>| FieldError::required(format!("{}.topologyName", level.path), message);
        let mut errors: Vec<_> = self.iter().filter(|level| !is_named(level)).map(unnamed).collect();
        let named: Vec<_> = self.iter().filter_map(|level| Some((level, level.topology_name()?))).collect();
        if named.iter().any(|(_, name)| *name != named[0].1) {
            let message = "must be the same in all topologyConstraints of a PodCliqueSet";
            let conflict = |(level, name): &(&Level<'_>, &str)| {
                invalid(format!("{}.topologyName", level.path), *name, message)
            };
            errors.extend(named.iter().map(conflict));
        }
        errors
    }

    fn check_domains(&self, domains: &Domains) -> Vec<FieldError> {
        let mut errors = Vec::new();
        for level in self.iter() {
            let pack = level.constraint.pack.as_ref();
            let fields = [
                ("packDomain", level.constraint.pack_domain.as_deref()),
                ("pack.required", pack.and_then(|pack| pack.required.as_deref())),
                ("pack.preferred", pack.and_then(|pack| pack.preferred.as_deref())),
            ];
            for (field, domain) in fields.into_iter().filter_map(|(field, domain)| Some((field, domain?))) {
                if !domains.contains(domain) {
                    let known = domains.0.join(" ");
                    let message = format!("topology domain '{domain}' does not exist: use one of [{known}]");
                    errors.push(invalid(format!("{}.{field}", level.path), domain, &message));
                }
            }
        }
        errors
    }

    /// Compares required domains with required ones, and preferred domains with preferred ones.
    fn check_hierarchy(&self, domains: &Domains) -> Vec<FieldError> {
        let mut errors = Vec::new();
        for (parent, child) in self.pairs() {
            let (above, below) = (parent.constraint, child.constraint);
            let required = ("pack.required", above.required_domain(), below.required_domain());
            let preferred = ("pack.preferred", above.preferred_domain(), below.preferred_domain());
            for (field, above, below) in [required, preferred] {
                if let (Some(above), Some(below)) = (above, below)
                    && domains.is_broader(below, above)
                {
                    let domain = |level: &Level<'_>, domain| {
                        format!("{} topology constraint domain '{domain}'", level.title())
                    };
                    let message =
                        format!("{} is narrower than {}", domain(parent, above), domain(child, below));
                    errors.push(invalid(format!("{}.{field}", parent.path), above, &message));
                }
            }
        }
        errors
    }

    fn redundancies(&self, domains: &Domains) -> Vec<String> {
        let is_redundant = |level: &&Level<'_>| {
            let constraint = level.constraint;
            let both = constraint.preferred_domain().zip(constraint.required_domain());
            both.is_some_and(|(preferred, required)| domains.is_broader(preferred, required))
        };
        let warning = |level: &Level<'_>| {
            format!(
                "{0}.pack.preferred has no effect, because it is coarser than {0}.pack.required",
                level.path
            )
        };
        self.iter().filter(is_redundant).map(warning).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::admission::fixture::{Topo, lines, pcs};

    const PCS: &str = "/spec/template/topologyConstraint";
    const GROUP: &str = "/spec/template/podCliqueScalingGroups/0/topologyConstraint";
    const CLIQUE_A: &str = "/spec/template/cliques/0/topologyConstraint";
    const CLIQUE_B: &str = "/spec/template/cliques/1/topologyConstraint";

    fn required(domain: &str) -> Value {
        json!({ "topologyName": "topo", "pack": { "required": domain } })
    }

    fn inherits(domain: &str) -> Value {
        json!({ "pack": { "required": domain } })
    }

    fn preferred(domain: &str) -> Value {
        json!({ "topologyName": "topo", "pack": { "preferred": domain } })
    }

    async fn findings(edits: &[(&str, Value)]) -> Validation {
        check(&pcs(edits), &Topo).await.unwrap()
    }

    #[rstest::rstest]
    #[case::none(&[])]
    #[case::one_level(&[(PCS, required("rack"))])]
    #[case::name_from_the_pod_clique_set(&[(PCS, required("rack")), (CLIQUE_A, inherits("host"))])]
    #[case::name_from_the_group(&[(GROUP, required("rack")), (CLIQUE_B, inherits("host"))])]
    #[case::nested(&[(PCS, required("block")), (GROUP, required("rack")), (CLIQUE_B, required("host"))])]
    #[case::same_domain(&[(PCS, required("rack")), (CLIQUE_A, required("rack"))])]
    #[case::preferred_is_apart_from_required(&[(PCS, required("host")), (CLIQUE_A, preferred("zone"))])]
    #[case::siblings_are_free(&[(GROUP, required("host")), (CLIQUE_A, required("zone"))])]
    #[tokio::test]
    async fn a_valid_constraint_is_admitted(#[case] edits: &[(&str, Value)]) {
        assert_eq!(findings(edits).await, Validation::default());
    }

    #[rstest::rstest]
    #[case::unknown_domain(&[(PCS, required("row"))])]
    #[case::unknown_preferred_domain(&[(PCS, preferred("row"))])]
    #[case::no_name(&[(PCS, inherits("rack"))])]
    #[case::no_name_to_inherit(&[(GROUP, required("rack")), (CLIQUE_A, inherits("host"))])]
    #[case::unknown_binding(&[(PCS, json!({ "topologyName": "other", "pack": { "required": "rack" } }))])]
    #[case::clique_broader_than_the_pod_clique_set(&[(PCS, required("rack")), (CLIQUE_A, required("block"))])]
    #[case::group_broader_than_the_pod_clique_set(&[(PCS, required("rack")), (GROUP, inherits("block"))])]
    #[case::clique_broader_than_its_group(&[(GROUP, required("rack")), (CLIQUE_B, inherits("block"))])]
    #[case::preferred_broader_than_its_parent(&[(PCS, preferred("rack")), (CLIQUE_A, preferred("block"))])]
    #[tokio::test]
    async fn an_invalid_constraint_is_refused(#[case] edits: &[(&str, Value)]) {
        assert_eq!(findings(edits).await.errors.len(), 1);
    }

    #[tokio::test]
    async fn a_group_named_like_a_clique_inherits_from_no_group() {
        let groups = "/spec/template/podCliqueScalingGroups/-";
        let twin = json!({ "name": "b", "cliqueNames": ["a"], "topologyConstraint": inherits("host") });
        assert_eq!(findings(&[(GROUP, required("rack")), (groups, twin)]).await.errors.len(), 1);
    }

    #[tokio::test]
    async fn messages_name_the_field_and_the_rule() {
        let two_names = json!({ "topologyName": "other", "pack": { "required": "rack" } });
        let errors = [
            findings(&[(PCS, inherits("rack")), (GROUP, inherits("rack")), (CLIQUE_B, inherits("host"))])
                .await,
            findings(&[(PCS, required("rack")), (CLIQUE_B, two_names.clone())]).await,
            findings(&[(CLIQUE_A, two_names)]).await,
            findings(&[(PCS, required("row")), (CLIQUE_B, preferred("cell"))]).await,
            findings(&[(PCS, required("host")), (GROUP, inherits("rack")), (CLIQUE_B, inherits("block"))])
                .await,
        ];
        let errors: Vec<_> = errors.iter().map(|findings| lines(&findings.errors)).collect();
        insta::assert_snapshot!(errors.join("\n\n"), @r#"
        spec.template.topologyConstraint.topologyName: Required value: neither this topologyConstraint nor one above it names a topology
        spec.template.podCliqueScalingGroups[0].topologyConstraint.topologyName: Required value: neither this topologyConstraint nor one above it names a topology
        spec.template.cliques[1].topologyConstraint.topologyName: Required value: neither this topologyConstraint nor one above it names a topology

        spec.template.topologyConstraint.topologyName: Invalid value: "topo": must be the same in all topologyConstraints of a PodCliqueSet
        spec.template.cliques[1].topologyConstraint.topologyName: Invalid value: "other": must be the same in all topologyConstraints of a PodCliqueSet

        spec.template.cliques[0].topologyConstraint.topologyName: Invalid value: "other": ClusterTopologyBinding "other" not found

        spec.template.topologyConstraint.pack.required: Invalid value: "row": topology domain 'row' does not exist: use one of [zone block rack host]
        spec.template.cliques[1].topologyConstraint.pack.preferred: Invalid value: "cell": topology domain 'cell' does not exist: use one of [zone block rack host]

        spec.template.topologyConstraint.pack.required: Invalid value: "host": PodCliqueSet topology constraint domain 'host' is narrower than PodCliqueScalingGroup 'sg' topology constraint domain 'rack'
        spec.template.topologyConstraint.pack.required: Invalid value: "host": PodCliqueSet topology constraint domain 'host' is narrower than PodClique 'b' topology constraint domain 'block'
        spec.template.podCliqueScalingGroups[0].topologyConstraint.pack.required: Invalid value: "rack": PodCliqueScalingGroup 'sg' topology constraint domain 'rack' is narrower than PodClique 'b' topology constraint domain 'block'
        "#);
    }

    #[tokio::test]
    async fn a_preferred_domain_that_the_required_one_implies_is_a_warning() {
        let both = |required: &str, preferred: &str| {
            let pack = json!({ "required": required, "preferred": preferred });
            json!({ "topologyName": "topo", "pack": pack })
        };
        assert_eq!(findings(&[(PCS, both("block", "rack"))]).await, Validation::default());
        let redundant = findings(&[(PCS, both("rack", "block"))]).await;
        assert_eq!(redundant.errors, []);
        insta::assert_snapshot!(redundant.warnings.join("\n"), @"spec.template.topologyConstraint.pack.preferred has no effect, because it is coarser than spec.template.topologyConstraint.pack.required");
    }
}
