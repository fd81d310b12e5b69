//! Rules on shared ResourceClaims (ADM-04). Pod specs use the claim's name, so it must be a DNS label.

use grove_api::{PodCliqueSet, ResourceClaimTemplateConfig, names};
use serde_json::Value;

use super::findings::{duplicate, invalid, repeated};
use crate::backend::FieldError;
use crate::backend::names::is_dns_label;
use crate::plan::resource_sharing::{
    Entry, PodPosition, claims_of_pod, clique_entries, group_entries, pcs_entries,
};

const TEMPLATE: &str = "spec.template";
const LARGE_INDEX: i32 = 99;

pub(super) fn check(pcs: &PodCliqueSet) -> Vec<FieldError> {
    let template = &pcs.spec.template;
    let mut errors = check_templates(&template.resource_claim_templates);
    let declared: Vec<_> =
        template.resource_claim_templates.iter().map(|template| template.name.as_str()).collect();
    let mut check =
        |entries: &[Entry<'_>], path: &str| errors.extend(check_entries(entries, &declared, path));
    check(&pcs_entries(&template.resource_sharing), TEMPLATE);
    for (index, clique) in template.cliques.iter().enumerate() {
        check(&clique_entries(&clique.resource_sharing), &format!("{TEMPLATE}.cliques[{index}]"));
    }
    for (index, group) in template.pod_clique_scaling_groups.iter().enumerate() {
        check(
            &group_entries(&group.resource_sharing),
            &format!("{TEMPLATE}.podCliqueScalingGroups[{index}]"),
        );
    }
    errors.extend(check_filters(pcs));
    if errors.is_empty() {
        errors.extend(check_names(pcs));
    }
    errors
}

fn check_templates(templates: &[ResourceClaimTemplateConfig]) -> Vec<FieldError> {
    let path = format!("{TEMPLATE}.resourceClaimTemplates");
    let mut errors = Vec::new();
    for (index, template) in templates.iter().enumerate() {
        if template.name.is_empty() {
            errors.push(FieldError::required(format!("{path}[{index}].name"), "template name is required"));
        }
        let requests = template.template_spec.pointer("/spec/devices/requests").and_then(Value::as_array);
        if requests.is_none_or(Vec::is_empty) {
            let path = format!("{path}[{index}].templateSpec.spec.devices.requests");
            errors.push(FieldError::required(path, "at least one device request is required"));
        }
    }
    for (index, name) in repeated(templates.iter().map(|template| template.name.as_str())) {
        errors.push(duplicate(format!("{path}[{index}].name"), name));
    }
    errors
}

fn check_entries(entries: &[Entry<'_>], declared: &[&str], path: &str) -> Vec<FieldError> {
    let path = format!("{path}.resourceSharing");
    let mut errors = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        if entry.name.is_empty() {
            errors.push(FieldError::required(format!("{path}[{index}].name"), "reference name is required"));
        }
        if let Some(namespace) = entry.namespace.filter(|_| declared.contains(&entry.name)) {
            let message = "namespace must be empty when name matches an internal resourceClaimTemplate";
            errors.push(invalid(format!("{path}[{index}].namespace"), namespace, message));
        }
    }
    for (index, name) in repeated(entries.iter().map(|entry| entry.name)) {
        errors.push(duplicate(format!("{path}[{index}].name"), name));
    }
    errors
}

fn check_filters(pcs: &PodCliqueSet) -> Vec<FieldError> {
    let template = &pcs.spec.template;
    let cliques: Vec<_> = template.cliques.iter().map(|clique| &clique.name).collect();
    let groups: Vec<_> = template.pod_clique_scaling_groups.iter().map(|group| &group.name).collect();
    let mut errors = Vec::new();
    let mut unknown = |names: &[String], known: &[&String], path: String| {
        for (index, name) in names.iter().enumerate().filter(|(_, name)| !known.contains(name)) {
            errors.push(FieldError::not_found(
                format!("{path}[{index}]"),
                Value::from(name.as_str()).to_string(),
            ));
        }
    };
    // Collected separately, because `unknown` borrows `errors`.
    let mut empty = Vec::new();
    for (index, entry) in template.resource_sharing.iter().enumerate() {
        let Some(filter) = &entry.filter else { continue };
        let path = format!("{TEMPLATE}.resourceSharing[{index}].filter");
        unknown(&filter.child_clique_names, &cliques, format!("{path}.childCliqueNames"));
        unknown(&filter.child_scaling_group_names, &groups, format!("{path}.childScalingGroupNames"));
        if filter.child_clique_names.is_empty() && filter.child_scaling_group_names.is_empty() {
            let message = "filter must specify at least one childCliqueNames or childScalingGroupNames entry";
            empty.push(FieldError::required(path, message));
        }
    }
    for (group_index, group) in template.pod_clique_scaling_groups.iter().enumerate() {
        let members: Vec<_> = group.clique_names.iter().collect();
        for (index, entry) in group.resource_sharing.iter().enumerate() {
            let Some(filter) = &entry.filter else { continue };
            let path =
                format!("{TEMPLATE}.podCliqueScalingGroups[{group_index}].resourceSharing[{index}].filter");
            unknown(&filter.child_clique_names, &members, format!("{path}.childCliqueNames"));
            if filter.child_clique_names.is_empty() {
                let message = "filter must specify at least one childCliqueNames entry";
                empty.push(FieldError::required(path, message));
            }
        }
    }
    errors.extend(empty);
    errors
}

fn check_names(pcs: &PodCliqueSet) -> Vec<FieldError> {
    let template = &pcs.spec.template;
    let pcs_name = pcs.metadata.name.as_deref().unwrap_or_default();
    let mut errors = Vec::new();
    for (index, clique) in template.cliques.iter().enumerate() {
        let group = template.group_of(&clique.name);
        let pcsg = group.map(|group| names::scaling_group(pcs_name, LARGE_INDEX, &group.name));
        let pclq = match &pcsg {
            Some(pcsg) => names::scaling_group_pod_clique(pcsg, LARGE_INDEX, &clique.name),
            None => names::standalone_pod_clique(pcs_name, LARGE_INDEX, &clique.name),
        };
        let group = group.zip(pcsg.as_deref()).map(|(config, pcsg)| (config, pcsg, LARGE_INDEX));
        let position = PodPosition { i: LARGE_INDEX, group, pclq: &pclq, index: LARGE_INDEX };
        let claims = claims_of_pod(pcs, clique, &position);
        let path = format!("{TEMPLATE}.cliques[{index}]");
        for claim in claims.iter().filter(|claim| !is_dns_label(&claim.name)) {
            let message = "the name of a ResourceClaim of the clique's pods must be a DNS label of at most \
                           63 characters; shorten the names of the PodCliqueSet, the clique or the claim";
            errors.push(invalid(format!("{path}.name"), claim.name.as_str(), message));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::fixture::{lines, pcs};

    const TEMPLATES: &str = "/spec/template/resourceClaimTemplates";
    const SHARING: &str = "/spec/template/resourceSharing";
    const CLIQUE: &str = "/spec/template/cliques/0/resourceSharing";
    const GROUP: &str = "/spec/template/podCliqueScalingGroups/0/resourceSharing";

    fn template(name: &str) -> Value {
        let request = json!({"name": "r", "exactly": {"deviceClassName": "c"}});
        json!({"name": name, "templateSpec": {"spec": {"devices": {"requests": [request]}}}})
    }

    fn entry(more: Value) -> Value {
        let mut entry = json!({"name": "nic", "scope": "AllReplicas"});
        for (key, value) in more.as_object().unwrap() {
            entry[key] = value.clone();
        }
        json!([entry])
    }

    fn findings(pointer: &str, value: Value) -> String {
        lines(&check(&pcs(&[(TEMPLATES, json!([template("nic")])), (pointer, value)])))
    }

    #[rstest::rstest]
    #[case(TEMPLATES, json!([template("")]), "resourceClaimTemplates[0].name: Required value")]
    #[case(TEMPLATES, json!([template("a"), template("a")]), "resourceClaimTemplates[1].name: Duplicate value")]
    #[case(TEMPLATES, json!([{"name": "a", "templateSpec": {"spec": {}}}]), "at least one device request is required")]
    #[case(SHARING, entry(json!({"name": ""})), "resourceSharing[0].name: Required value")]
    #[case(SHARING, entry(json!({"namespace": "x"})), "resourceSharing[0].namespace: Invalid value: \"x\"")]
    #[case(CLIQUE, entry(json!({"namespace": "x"})), "cliques[0].resourceSharing[0].namespace: Invalid value: \"x\"")]
    #[case(SHARING, entry(json!({"filter": {}})), "resourceSharing[0].filter: Required value")]
    #[case(SHARING, entry(json!({"filter": {"childCliqueNames": ["x"]}})), "childCliqueNames[0]: Not found: \"x\"")]
    #[case(SHARING, entry(json!({"filter": {"childScalingGroupNames": ["a"]}})), "childScalingGroupNames[0]: Not found")]
    #[case(GROUP, entry(json!({"filter": {}})), "podCliqueScalingGroups[0].resourceSharing[0].filter: Required value")]
    #[case(GROUP, entry(json!({"filter": {"childCliqueNames": ["a"]}})), "childCliqueNames[0]: Not found: \"a\"")]
    #[case(CLIQUE, entry(json!({"name": "n".repeat(60)})), "must be a DNS label of at most 63 characters")]
    #[case(CLIQUE, entry(json!({"name": "n.m"})), "must be a DNS label")]
    fn an_invalid_shared_claim_is_refused(
        #[case] pointer: &str,
        #[case] value: Value,
        #[case] message: &str,
    ) {
        let found = findings(pointer, value);
        assert!(found.contains(message) && !found.contains('\n'), "{found}");
    }

    #[test]
    fn duplicate_entries_are_refused() {
        let twice = json!([{"name": "nic", "scope": "AllReplicas"}, {"name": "nic", "scope": "PerReplica"}]);
        assert!(findings(SHARING, twice).contains("resourceSharing[1].name: Duplicate value: \"nic\""));
    }

    #[rstest::rstest]
    #[case(SHARING, entry(json!({"filter": {"childCliqueNames": ["a", "b"], "childScalingGroupNames": ["sg"]}})))]
    #[case(SHARING, entry(json!({"name": "theirs", "namespace": "shared"})))]
    #[case(SHARING, entry(json!({"namespace": ""})))]
    #[case(CLIQUE, entry(json!({"scope": "PerReplica"})))]
    #[case(GROUP, entry(json!({"filter": {"childCliqueNames": ["b", "c"]}})))]
    fn a_valid_shared_claim_is_admitted(#[case] pointer: &str, #[case] value: Value) {
        assert_eq!(findings(pointer, value), "");
    }
}
