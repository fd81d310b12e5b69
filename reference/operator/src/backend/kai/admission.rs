//! Refuses a change of queue or node pool while gangs exist (KAI-04, KAI-09). Topology needs no rule: KAI
//! honours constraints at all three levels, required and preferred (KAI-06).

use grove_api::{PodCliqueSet, PodCliqueSetTemplateSpec};
use kube::ResourceExt;

use super::{node_pool, queue};
use crate::backend::name_pattern::NamePattern;
use crate::backend::template::TEMPLATE;
use crate::backend::{FieldError, Validation};

const KEPT: &str = ": KAI keeps the queue of an existing PodGroup; recreate the PodCliqueSet";

pub(super) fn validate(pcs: &PodCliqueSet, old: Option<&PodCliqueSet>) -> Validation {
    let error = match queue::of_pcs(pcs) {
        Ok(queue) => old.and_then(|old| queue.refuse_move(queue::of_pcs(old).ok()?.name, old, KEPT)),
        Err(error) => Some(error),
    };
    let errors = error.into_iter().chain(node_pool::check(pcs, old));
    Validation { errors: errors.chain(subgroup_names(pcs)).collect(), warnings: Vec::new() }
}

/// Refuses two subgroups of the same name. KAI gets one subgroup per podgroup, and one per replica of a
/// constrained scaling group in the base PodGang, named `<pcs>-<i>-<group>-<j>`.
fn subgroup_names(pcs: &PodCliqueSet) -> Vec<FieldError> {
    let template = &pcs.spec.template;
    let replica = || NamePattern::of(&pcs.name_any()).index();
    let constrained =
        template.pod_clique_scaling_groups.iter().filter(|group| group.topology_constraint.is_some());
    let parents: Vec<_> = constrained.map(|group| (group, replica().name(&group.name).index())).collect();
    let mut errors = Vec::new();
    for (index, clique) in template.cliques.iter().enumerate() {
        let leaf = leaf_names(replica(), template, &clique.name);
        let same = parents.iter().find_map(|(group, parent)| {
            let name = parent.common_name(&leaf)?;
            let j: i32 = name.rsplit('-').next()?.parse().ok()?;
            (j < group.min_available.unwrap_or(1)).then_some((group, name))
        });
        if let Some((group, name)) = same {
            let message = format!(
                "{:?}: KAI would have subgroup {name} for this clique and for a replica of scaling group {:?}, which has a \
                 topology constraint: rename one of them",
                clique.name, group.name
            );
            errors.push(FieldError::invalid(format!("{TEMPLATE}.cliques[{index}].name"), message));
        }
    }
    errors
}

fn leaf_names(replica: NamePattern, template: &PodCliqueSetTemplateSpec, clique: &str) -> NamePattern {
    match template.group_of(clique) {
        None => replica.name(clique),
        Some(group) => replica.name(&group.name).index().name(clique),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::backend::kai::api::KEY_QUEUE;

    fn pcs(replicas: i32, queue: &str) -> PodCliqueSet {
        let labels = if queue.is_empty() { json!({}) } else { json!({KEY_QUEUE: queue}) };
        let clique = json!({"name": "a", "spec": {"replicas": 1, "podSpec": {}}});
        let spec = json!({"replicas": replicas, "template": {"cliques": [clique]}});
        serde_json::from_value(json!({"metadata": {"name": "wl", "labels": labels}, "spec": spec})).unwrap()
    }

    #[rstest::rstest]
    #[case::new_with_queue(pcs(1, "q"), None, true)]
    #[case::new_without_queue(pcs(1, ""), None, false)]
    #[case::kept(pcs(2, "q"), Some(pcs(1, "q")), true)]
    #[case::changed(pcs(1, "r"), Some(pcs(1, "q")), false)]
    #[case::changed_while_scaling_in(pcs(0, "r"), Some(pcs(1, "q")), false)]
    #[case::removed(pcs(1, ""), Some(pcs(1, "q")), false)]
    #[case::changed_before_there_is_a_gang(pcs(1, "r"), Some(pcs(0, "q")), true)]
    #[case::queue_added(pcs(1, "q"), Some(pcs(1, "")), true)]
    fn a_queue_is_required_and_fixed_while_gangs_exist(
        #[case] new: PodCliqueSet,
        #[case] old: Option<PodCliqueSet>,
        #[case] admitted: bool,
    ) {
        let found = validate(&new, old.as_ref());
        assert_eq!(found.admits(), admitted, "{found:?}");
    }

    #[rstest::rstest]
    #[case::replica_of_the_base("g-1", true, true)]
    #[case::replica_of_a_scaled_gang("g-2", true, false)]
    #[case::without_a_constraint("g-1", false, false)]
    #[case::another_name("g-x", true, false)]
    fn two_subgroups_of_one_name_are_refused(
        #[case] clique: &str,
        #[case] constrained: bool,
        #[case] refused: bool,
    ) {
        let member = |name: &str| json!({"name": name, "spec": {"replicas": 1, "podSpec": {}}});
        let mut group = json!({"name": "g", "cliqueNames": ["b"], "replicas": 3, "minAvailable": 2});
        if constrained {
            group["topologyConstraint"] = json!({"topologyName": "t", "pack": {"required": "rack"}});
        }
        let mut pcs = pcs(1, "q");
        pcs.spec.template = serde_json::from_value(
            json!({"cliques": [member(clique), member("b")], "podCliqueScalingGroups": [group]}),
        )
        .unwrap();
        let found = validate(&pcs, None);
        assert_eq!(!found.admits(), refused, "{found:?}");
    }

    #[test]
    fn a_moved_queue_is_named() {
        let found = validate(&pcs(1, "r"), Some(&pcs(1, "q")));
        insta::assert_snapshot!(found.errors[0], @r#"metadata.labels[kai.scheduler/queue]: Forbidden: the queue cannot change from "q" to "r" while PodGangs exist: KAI keeps the queue of an existing PodGroup; recreate the PodCliqueSet"#);
    }
}
