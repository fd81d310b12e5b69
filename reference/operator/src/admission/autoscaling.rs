//! Upstream checks the `replicas` of a scaling group only against the lower limit. This webhook checks both
//! limits, because an autoscaler that starts outside its limits scales at once.

use grove_api::{AutoScalingConfig, PodCliqueSet};

use super::findings::invalid;
use crate::backend::FieldError;

pub(super) fn check(pcs: &PodCliqueSet) -> Vec<FieldError> {
    let template = &pcs.spec.template;
    let mut errors = Vec::new();
    for (index, clique) in template.cliques.iter().enumerate() {
        let path = format!("spec.template.cliques[{index}].spec.autoScalingConfig");
        let Some(config) = &clique.spec.auto_scaling_config else { continue };
        if template.group_of(&clique.name).is_some() {
            let message = "must not be set on a clique of a scaling group: set scaleConfig of the scaling \
                           group instead";
            errors.push(invalid(&path, clique.name.as_str(), message));
        }
        let (replicas, min_available) = (clique.spec.replicas, clique.spec.min_available);
        errors.extend(limits(config, replicas, min_available.unwrap_or(replicas), &path));
    }
    for (index, group) in template.pod_clique_scaling_groups.iter().enumerate() {
        let path = format!("spec.template.podCliqueScalingGroups[{index}].scaleConfig");
        let Some(config) = &group.scale_config else { continue };
        let (replicas, min_available) = (group.replicas.unwrap_or(1), group.min_available.unwrap_or(1));
        errors.extend(limits(config, replicas, min_available, &path));
    }
    errors
}

fn limits(config: &AutoScalingConfig, replicas: i32, min_available: i32, path: &str) -> Vec<FieldError> {
    let (min, max) = (config.min_replicas.unwrap_or(replicas), config.max_replicas);
    let mut errors = Vec::new();
    let mut at_least = |field: &str, value: i32, bound: i32, bound_name: &str| {
        if value < bound {
            let message = format!("must be greater than or equal to {bound_name}");
            errors.push(invalid(format!("{path}.{field}"), value, &message));
        }
    };
    at_least("minReplicas", min, min_available, "minAvailable");
    at_least("maxReplicas", max, min, "minReplicas");
    at_least("maxReplicas", max, replicas, "replicas");
    errors
}

/// The template's `replicas` apply only to objects that are created later (AUTO-10).
pub(super) fn warnings(old: &PodCliqueSet, new: &PodCliqueSet) -> Vec<String> {
    let (before, after) = (&old.spec.template, &new.spec.template);
    let cliques = after.cliques.iter().enumerate().filter_map(|(index, clique)| {
        let old = before.cliques.iter().find(|old| old.name == clique.name)?;
        let changed = old.spec.replicas != clique.spec.replicas;
        changed.then(|| (format!("spec.template.cliques[{index}].spec.replicas"), "PodCliques"))
    });
    let groups = after.pod_clique_scaling_groups.iter().enumerate().filter_map(|(index, group)| {
        let old = before.pod_clique_scaling_groups.iter().find(|old| old.name == group.name)?;
        let changed = old.replicas != group.replicas;
        changed.then(|| {
            (format!("spec.template.podCliqueScalingGroups[{index}].replicas"), "PodCliqueScalingGroups")
        })
    });
    let live = cliques.chain(groups).filter(|_| old.spec.replicas > 0);
    live.map(|(path, kind)| {
        format!("{path} applies only to new replicas of the PodCliqueSet: scale the existing {kind} instead")
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::admission::fixture::{lines, pcs};

    const CLIQUE: &str = "/spec/template/cliques/0/spec/autoScalingConfig";
    const GROUP: &str = "/spec/template/podCliqueScalingGroups/0/scaleConfig";

    /// The clique and the scaling group each have 2 replicas and `minAvailable` 1.
    #[rstest::rstest]
    #[case::both(json!({ "minReplicas": 1, "maxReplicas": 4 }), 0)]
    #[case::min_by_default(json!({ "maxReplicas": 2 }), 0)]
    #[case::below_the_minimum(json!({ "minReplicas": 0, "maxReplicas": 4 }), 1)]
    #[case::max_below_min(json!({ "minReplicas": 5, "maxReplicas": 4 }), 1)]
    #[case::max_below_replicas(json!({ "minReplicas": 1, "maxReplicas": 1 }), 1)]
    fn limits_apply_to_cliques_and_groups(#[case] config: Value, #[case] errors: usize) {
        for pointer in [CLIQUE, GROUP] {
            let found = check(&pcs(&[(pointer, config.clone())]));
            assert_eq!(found.len(), errors, "{}", lines(&found));
        }
    }

    #[test]
    fn messages_name_the_field_and_the_rule() {
        let config = json!({ "minReplicas": 0, "maxReplicas": -1 });
        let member = "/spec/template/cliques/1/spec/autoScalingConfig";
        let found = check(&pcs(&[(member, json!({ "maxReplicas": 1 })), (GROUP, config)]));
        insta::assert_snapshot!(lines(&found), @r#"
        spec.template.cliques[1].spec.autoScalingConfig: Invalid value: "b": must not be set on a clique of a scaling group: set scaleConfig of the scaling group instead
        spec.template.podCliqueScalingGroups[0].scaleConfig.minReplicas: Invalid value: 0: must be greater than or equal to minAvailable
        spec.template.podCliqueScalingGroups[0].scaleConfig.maxReplicas: Invalid value: -1: must be greater than or equal to minReplicas
        spec.template.podCliqueScalingGroups[0].scaleConfig.maxReplicas: Invalid value: -1: must be greater than or equal to replicas
        "#);
    }

    #[test]
    fn changed_template_replicas_cause_a_warning() {
        let clique = ("/spec/template/cliques/0/spec/replicas", json!(5));
        let group = ("/spec/template/podCliqueScalingGroups/0/replicas", json!(5));
        let changed = pcs(&[clique.clone(), group]);
        insta::assert_snapshot!(warnings(&pcs(&[]), &changed).join("\n"), @"
        spec.template.cliques[0].spec.replicas applies only to new replicas of the PodCliqueSet: scale the existing PodCliques instead
        spec.template.podCliqueScalingGroups[0].replicas applies only to new replicas of the PodCliqueSet: scale the existing PodCliqueScalingGroups instead
        ");
        assert_eq!(warnings(&pcs(&[]), &pcs(&[("/spec/replicas", json!(3))])), [] as [String; 0]);
        let none = ("/spec/replicas", json!(0));
        let without_replicas = [pcs(std::slice::from_ref(&none)), pcs(&[none, clique])];
        assert_eq!(warnings(&without_replicas[0], &without_replicas[1]), [] as [String; 0]);
    }
}
