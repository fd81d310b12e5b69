use grove_api::{PodCliqueSet, PodSpecJson, names};
use serde_json::Value;

use super::findings::{duplicate, invalid, repeated};
use super::names::{check_annotations, check_labels};
use crate::backend::FieldError;
use crate::plan::startup_order::starts_after_others;

pub(super) fn check(pcs: &PodCliqueSet) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, clique) in pcs.spec.template.cliques.iter().enumerate() {
        let path = format!("spec.template.cliques[{index}]");
        errors.extend(check_labels(&clique.labels, &format!("{path}.labels")));
        errors.extend(check_annotations(&clique.annotations, &format!("{path}.annotations")));
        let path = format!("{path}.spec.podSpec");
        errors.extend(check_pod_spec(&clique.spec.pod_spec, &path));
        if starts_after_others(pcs, clique) {
            errors.extend(check_added_names(&clique.spec.pod_spec, &path));
        }
    }
    for (index, group) in pcs.spec.template.pod_clique_scaling_groups.iter().enumerate() {
        let path = format!("spec.template.podCliqueScalingGroups[{index}].annotations");
        errors.extend(check_annotations(&group.annotations, &path));
    }
    errors
}

/// Grove adds a container and volumes with these names to pods that start after other cliques.
fn check_added_names(pod_spec: &PodSpecJson, path: &str) -> Vec<FieldError> {
    let containers = [names::INIT_CONTAINER];
    let volumes = [names::INIT_TOKEN_VOLUME.0, names::INIT_POD_INFO_VOLUME.0];
    let lists =
        [("containers", &containers[..]), ("initContainers", &containers[..]), ("volumes", &volumes[..])];
    let mut errors = Vec::new();
    for (list, added) in lists {
        for (index, entry) in entries(&pod_spec.0, list).enumerate() {
            if let Some(name) = entry["name"].as_str().filter(|name| added.contains(name)) {
                let message = "Grove adds an entry of this name to pods that start after other cliques: \
                               rename this entry";
                errors.push(invalid(format!("{path}.{list}[{index}].name"), name, message));
            }
        }
    }
    errors
}

fn check_pod_spec(pod_spec: &PodSpecJson, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spread: Vec<_> = entries(&pod_spec.0, "topologySpreadConstraints").cloned().collect();
    if !spread.is_empty() {
        let path = format!("{path}.topologySpreadConstraints");
        errors.push(invalid(path, spread, "must not be set"));
    }
    if let Some(node) = pod_spec.node_name() {
        errors.push(invalid(format!("{path}.nodeName"), node, "must not be set"));
    }
    for list in ["containers", "initContainers"] {
        for (index, container) in entries(&pod_spec.0, list).enumerate() {
            errors.extend(check_env(container, &format!("{path}.{list}[{index}].env")));
        }
    }
    errors
}

fn check_env(container: &Value, path: &str) -> Vec<FieldError> {
    let names: Vec<_> =
        entries(container, "env").map(|env| env["name"].as_str().unwrap_or_default()).collect();
    let mut errors = Vec::new();
    for (index, name) in names.iter().enumerate().filter(|(_, name)| !is_env_name(name)) {
        let message = "a valid environment variable name must consist of alphabetic characters, digits, \
                       '_', '-', or '.', and must not start with a digit or '..'";
        errors.push(invalid(format!("{path}[{index}].name"), *name, message));
    }
    for (index, name) in repeated(names) {
        errors.push(duplicate(format!("{path}[{index}].name"), name));
    }
    errors
}

fn is_env_name(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || "-._".contains(c);
    name.starts_with(is_letter)
        && name.chars().all(|c| is_letter(c) || c.is_ascii_digit())
        && name != "."
        && !name.starts_with("..")
}

pub(super) fn entries<'a>(object: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    object.get(list).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::fixture::{Edits, lines, pcs};

    const POD_SPEC: &str = "/spec/template/cliques/0/spec/podSpec";

    fn errors(field: &str, value: Value) -> Vec<FieldError> {
        let pointer = format!("{POD_SPEC}/{field}");
        let edits: Edits<'_> = &[(pointer.as_str(), value)];
        check(&pcs(edits))
    }

    #[rstest::rstest]
    #[case("nodeName", json!("n1"))]
    #[case("topologySpreadConstraints", json!([{ "maxSkew": 1 }]))]
    #[case("containers/0/env", json!([{ "name": "1A" }]))]
    #[case("containers/0/env", json!([{ "name": "..A" }]))]
    #[case("containers/0/env", json!([{ "name": "A" }, { "name": "A" }]))]
    #[case("initContainers", json!([{ "env": [{ "name": "A B" }] }]))]
    fn an_invalid_pod_template_is_refused(#[case] field: &str, #[case] value: Value) {
        assert_eq!(errors(field, value).len(), 1);
    }

    #[rstest::rstest]
    #[case("nodeName", json!(""))]
    #[case("nodeSelector", json!({ "pool": "x" }))]
    #[case("topologySpreadConstraints", json!([]))]
    #[case("containers/0/env", json!([{ "name": "A" }, { "name": "B.c-d_1" }]))]
    #[case("initContainers", json!([{ "env": [{ "name": "A" }] }]))]
    #[case("restartPolicy", json!("Never"))]
    fn a_valid_pod_template_is_admitted(#[case] field: &str, #[case] value: Value) {
        assert_eq!(errors(field, value), []);
    }

    #[rstest::rstest]
    #[case("containers", "grove-initc", "CliqueStartupTypeInOrder", 1)]
    #[case("initContainers", "grove-initc", "CliqueStartupTypeInOrder", 1)]
    #[case("volumes", "pod-info-vol", "CliqueStartupTypeInOrder", 1)]
    #[case("volumes", "sa-token-secret-vol", "CliqueStartupTypeInOrder", 1)]
    #[case("volumes", "grove-initc", "CliqueStartupTypeInOrder", 0)]
    #[case("containers", "grove-initc", "CliqueStartupTypeAnyOrder", 0)]
    fn the_names_that_grove_adds_are_refused(
        #[case] list: &str,
        #[case] name: &str,
        #[case] order: &str,
        #[case] expected: usize,
    ) {
        let pcs = pcs(&[
            ("/spec/template/cliqueStartupType", json!(order)),
            (&format!("/spec/template/cliques/1/spec/podSpec/{list}"), json!([{ "name": name }])),
            // The first clique waits for no other.
            (&format!("{POD_SPEC}/{list}"), json!([{ "name": name }])),
        ]);
        assert_eq!(check(&pcs).len(), expected, "{}", lines(&check(&pcs)));
    }

    #[test]
    fn labels_and_annotations_of_every_clique_and_group() {
        let pcs = pcs(&[
            ("/spec/template/cliques/1/labels", json!({ "a b": "" })),
            ("/spec/template/cliques/2/annotations", json!({ "a b": "" })),
            ("/spec/template/podCliqueScalingGroups/0/annotations", json!({ "a b": "" })),
        ]);
        insta::assert_snapshot!(lines(&check(&pcs)), @r#"
        spec.template.cliques[1].labels: Invalid value: "a b": not a valid label key
        spec.template.cliques[2].annotations: Invalid value: "a b": not a valid annotation key
        spec.template.podCliqueScalingGroups[0].annotations: Invalid value: "a b": not a valid annotation key
        "#);
    }

    #[test]
    fn messages_name_the_field_and_the_rule() {
        let pcs = pcs(&[
            (&format!("{POD_SPEC}/nodeName"), json!("n1")),
            (&format!("{POD_SPEC}/topologySpreadConstraints"), json!([{}])),
            (
                &format!("{POD_SPEC}/containers/0/env"),
                json!([{ "name": "1A" }, { "name": "B" }, { "name": "B" }]),
            ),
        ]);
        insta::assert_snapshot!(lines(&check(&pcs)), @r#"
        spec.template.cliques[0].spec.podSpec.topologySpreadConstraints: Invalid value: [{}]: must not be set
        spec.template.cliques[0].spec.podSpec.nodeName: Invalid value: "n1": must not be set
        spec.template.cliques[0].spec.podSpec.containers[0].env[0].name: Invalid value: "1A": a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit or '..'
        spec.template.cliques[0].spec.podSpec.containers[0].env[2].name: Duplicate value: "B"
        "#);
    }
}
