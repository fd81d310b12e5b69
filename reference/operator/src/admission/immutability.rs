//! The immutable shape of a live PodCliqueSet's gangs (ADM-03). Cliques and groups may be reordered.

use grove_api::{PodCliqueScalingGroupConfig, PodCliqueSet, PodCliqueTemplateSpec};

use super::findings::{RECREATE, invalid};
use super::topology_change;
use crate::backend::FieldError;

pub(super) fn check(old: &PodCliqueSet, new: &PodCliqueSet) -> Vec<FieldError> {
    let (before, after) = (&old.spec.template, &new.spec.template);
    let mut changes = Changes::default();
    let path = "spec.template";
    changes.cliques(&before.cliques, &after.cliques);
    let (old_type, new_type) = (before.clique_startup_type, after.clique_startup_type);
    let startup_type_changed = old_type.unwrap_or_default() != new_type.unwrap_or_default();
    changes.immutable(startup_type_changed, format!("{path}.cliqueStartupType"));
    changes.groups(&before.pod_clique_scaling_groups, &after.pod_clique_scaling_groups);
    let claims_changed = before.resource_claim_templates != after.resource_claim_templates;
    changes.immutable(claims_changed, format!("{path}.resourceClaimTemplates"));
    changes.immutable(before.resource_sharing != after.resource_sharing, format!("{path}.resourceSharing"));
    changes.errors.extend(topology_change::check(old, new));
    changes.errors
}

#[derive(Default)]
struct Changes {
    errors: Vec<FieldError>,
}

impl Changes {
    fn cliques(&mut self, old: &[PodCliqueTemplateSpec], new: &[PodCliqueTemplateSpec]) {
        let path = "spec.template.cliques";
        if old.len() != new.len() {
            self.forbidden(path, "not allowed to change clique composition");
        }
        for (index, after) in new.iter().enumerate() {
            let path = format!("{path}[{index}]");
            let name = &after.name;
            let Some(before) = old.iter().find(|before| before.name == *name) else {
                let composition = "not allowed to change clique composition";
                let message = format!("{composition}, new clique name '{name}' is not allowed");
                self.forbidden(format!("{path}.name"), &message);
                continue;
            };
            let (old, new) = (&before.spec, &after.spec);
            self.immutable(old.role_name != new.role_name, format!("{path}.spec.roleName"));
            self.immutable_count(old.min_available, new.min_available, format!("{path}.spec.minAvailable"));
            self.immutable(old.starts_after != new.starts_after, format!("{path}.spec.startsAfter"));
            self.immutable(
                before.resource_sharing != after.resource_sharing,
                format!("{path}.resourceSharing"),
            );
            let scheduler_changed = old.pod_spec.scheduler_name() != new.pod_spec.scheduler_name();
            self.immutable(scheduler_changed, format!("{path}.spec.podSpec.schedulerName"));
        }
    }

    fn groups(&mut self, old: &[PodCliqueScalingGroupConfig], new: &[PodCliqueScalingGroupConfig]) {
        let path = "spec.template.podCliqueScalingGroups";
        if old.len() != new.len() {
            self.forbidden(path, "not allowed to add or remove PodCliqueScalingGroupConfigs");
        }
        for (index, after) in new.iter().enumerate() {
            let path = format!("{path}[{index}]");
            let name = &after.name;
            let Some(before) = old.iter().find(|before| before.name == *name) else {
                let composition = "not allowed to change scaling group composition";
                let message = format!("{composition}, new scaling group name '{name}' is not allowed");
                self.forbidden(format!("{path}.name"), &message);
                continue;
            };
            self.immutable(before.clique_names != after.clique_names, format!("{path}.cliqueNames"));
            self.immutable_count(before.min_available, after.min_available, format!("{path}.minAvailable"));
            self.immutable(
                before.resource_sharing != after.resource_sharing,
                format!("{path}.resourceSharing"),
            );
        }
    }

    fn immutable_count(&mut self, old: Option<i32>, new: Option<i32>, path: String) {
        if old != new {
            self.errors.push(invalid(path, new, &format!("field is immutable; {RECREATE}")));
        }
    }

    fn immutable(&mut self, changed: bool, path: String) {
        if changed {
            self.forbidden(path, "field is immutable");
        }
    }

    fn forbidden(&mut self, path: impl Into<String>, message: &str) {
        self.errors.push(FieldError::forbidden(path, format!("{message}; {RECREATE}")));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::admission::fixture::{lines, pcs};

    const CLIQUE: &str = "/spec/template/cliques/0";
    const GROUP: &str = "/spec/template/podCliqueScalingGroups/0";

    fn change(edits: &[(&str, Value)]) -> Vec<FieldError> {
        check(&pcs(&[]), &pcs(edits))
    }

    fn clique(name: &str) -> Value {
        json!({ "name": name, "spec": { "replicas": 1, "minAvailable": 1, "podSpec": {} } })
    }

    fn sharing() -> Value {
        json!([{ "name": "claim", "scope": "AllReplicas" }])
    }

    #[rstest::rstest]
    #[case("/spec/template/cliques/-", clique("d"))]
    #[case("/spec/template/cliques/0", Value::Null)]
    #[case(&format!("{CLIQUE}/name"), json!("z"))]
    #[case(&format!("{CLIQUE}/spec/roleName"), json!("other"))]
    #[case(&format!("{CLIQUE}/spec/minAvailable"), json!(2))]
    #[case(&format!("{CLIQUE}/spec/startsAfter"), json!(["b"]))]
    #[case(&format!("{CLIQUE}/spec/podSpec/schedulerName"), json!("volcano"))]
    #[case(&format!("{CLIQUE}/resourceSharing"), sharing())]
    #[case(&format!("{CLIQUE}/topologyConstraint"), json!({ "pack": { "required": "rack" } }))]
    #[case("/spec/template/podCliqueScalingGroups/-", json!({ "name": "sh", "cliqueNames": ["a"] }))]
    #[case("/spec/template/podCliqueScalingGroups/0", Value::Null)]
    #[case(&format!("{GROUP}/name"), json!("sh"))]
    #[case(&format!("{GROUP}/cliqueNames"), json!(["b"]))]
    #[case(&format!("{GROUP}/minAvailable"), json!(2))]
    #[case(&format!("{GROUP}/resourceSharing"), sharing())]
    #[case("/spec/template/cliqueStartupType", json!("CliqueStartupTypeInOrder"))]
    #[case("/spec/template/resourceClaimTemplates", json!([{ "name": "claim", "templateSpec": {} }]))]
    #[case("/spec/template/resourceSharing", sharing())]
    fn a_change_of_an_immutable_field_is_refused(#[case] pointer: &str, #[case] value: Value) {
        let errors = change(&[(pointer, value)]);
        assert!(!errors.is_empty());
        for error in errors {
            assert!(error.message.ends_with("recreate the PodCliqueSet to change it"), "{error}");
        }
    }

    #[rstest::rstest]
    #[case("/spec/replicas", json!(2))]
    #[case("/spec/updateStrategy", json!({ "type": "OnDelete" }))]
    #[case("/spec/template/terminationDelay", json!("1h"))]
    #[case("/spec/template/priorityClassName", json!("high"))]
    #[case("/spec/template/cliqueStartupType", json!("CliqueStartupTypeAnyOrder"))]
    #[case("/spec/template/headlessServiceConfig", json!({ "publishNotReadyAddresses": false }))]
    #[case(&format!("{CLIQUE}/spec/replicas"), json!(1))]
    #[case(&format!("{CLIQUE}/spec/podSpec/containers/0/image"), json!("pause:2"))]
    #[case(&format!("{CLIQUE}/labels"), json!({ "app": "x" }))]
    #[case(&format!("{CLIQUE}/annotations"), json!({ "note": "x" }))]
    #[case(&format!("{CLIQUE}/spec/podSpec/schedulerName"), json!(""))]
    #[case(&format!("{GROUP}/replicas"), json!(3))]
    #[case(&format!("{GROUP}/annotations"), json!({ "note": "x" }))]
    #[case("/metadata/labels", json!({ "app": "x" }))]
    fn a_change_of_a_mutable_field_is_admitted(#[case] pointer: &str, #[case] value: Value) {
        assert_eq!(change(&[(pointer, value)]), []);
    }

    #[test]
    fn reordering_is_admitted() {
        let mut reordered = pcs(&[]);
        reordered.spec.template.cliques.reverse();
        assert_eq!(check(&pcs(&[]), &reordered), []);
    }

    #[test]
    fn messages_name_the_field_and_the_rule() {
        let errors = change(&[
            (&format!("{CLIQUE}/name"), json!("z")),
            ("/spec/template/cliques/-", clique("d")),
            ("/spec/template/cliques/1/spec/minAvailable", json!(2)),
            ("/spec/template/cliques/2/spec/podSpec", json!({ "schedulerName": "volcano" })),
            (&format!("{GROUP}/cliqueNames"), json!(["b"])),
            ("/spec/template/podCliqueScalingGroups/-", json!({ "name": "sh", "cliqueNames": ["a"] })),
        ]);
        insta::assert_snapshot!(lines(&errors), @"
        spec.template.cliques: Forbidden: not allowed to change clique composition; recreate the PodCliqueSet to change it
        spec.template.cliques[0].name: Forbidden: not allowed to change clique composition, new clique name 'z' is not allowed; recreate the PodCliqueSet to change it
        spec.template.cliques[1].spec.minAvailable: Invalid value: 2: field is immutable; recreate the PodCliqueSet to change it
        spec.template.cliques[2].spec.podSpec.schedulerName: Forbidden: field is immutable; recreate the PodCliqueSet to change it
        spec.template.cliques[3].name: Forbidden: not allowed to change clique composition, new clique name 'd' is not allowed; recreate the PodCliqueSet to change it
        spec.template.podCliqueScalingGroups: Forbidden: not allowed to add or remove PodCliqueScalingGroupConfigs; recreate the PodCliqueSet to change it
        spec.template.podCliqueScalingGroups[0].cliqueNames: Forbidden: field is immutable; recreate the PodCliqueSet to change it
        spec.template.podCliqueScalingGroups[1].name: Forbidden: not allowed to change scaling group composition, new scaling group name 'sh' is not allowed; recreate the PodCliqueSet to change it
        ");
    }
}
