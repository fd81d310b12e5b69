//! Rules on pod templates. A template must not set fields that Grove sets, nor fields with which the API
//! server would reject every pod.

use grove_api::{PodCliqueSet, PodSpecJson};
use serde_json::Value;

use super::findings::{duplicate, invalid, repeated};
use super::names::{check_annotations, check_labels};
use crate::backend::{FieldError, Validation};

pub(super) fn check(pcs: &PodCliqueSet) -> Validation {
    let mut findings = Validation::default();
    for (index, clique) in pcs.spec.template.cliques.iter().enumerate() {
        let path = format!("spec.template.cliques[{index}]");
        findings.errors.extend(check_labels(&clique.labels, &format!("{path}.labels")));
        findings.errors.extend(check_annotations(&clique.annotations, &format!("{path}.annotations")));
        findings.extend(check_pod_spec(&clique.spec.pod_spec, &format!("{path}.spec.podSpec")));
    }
    findings
}

fn check_pod_spec(pod_spec: &PodSpecJson, path: &str) -> Validation {
    let mut findings = Validation::default();
    let restart_policy = pod_spec.0.get("restartPolicy").and_then(Value::as_str);
    // Upstream also warns about `Always`, although it sets that value itself.
    if restart_policy.is_some_and(|policy| policy != "Always") {
        let warning = format!("{path}.restartPolicy will be ignored, it will be set to Always");
        findings.warnings.push(warning);
    }
    let spread: Vec<_> = entries(&pod_spec.0, "topologySpreadConstraints").cloned().collect();
    if !spread.is_empty() {
        let path = format!("{path}.topologySpreadConstraints");
        findings.errors.push(invalid(path, spread, "must not be set"));
    }
    if let Some(node) = pod_spec.node_name() {
        findings.errors.push(invalid(format!("{path}.nodeName"), node, "must not be set"));
    }
    for list in ["containers", "initContainers"] {
        for (index, container) in entries(&pod_spec.0, list).enumerate() {
            findings.errors.extend(check_env(container, &format!("{path}.{list}[{index}].env")));
        }
    }
    findings
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

fn entries<'a>(object: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    object.get(list).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::admission::fixture::{Edits, lines, pcs};

    const POD_SPEC: &str = "/spec/template/cliques/0/spec/podSpec";

    fn findings(field: &str, value: Value) -> Validation {
        let pointer = format!("{POD_SPEC}/{field}");
        let edits: Edits<'_> = &[(pointer.as_str(), value)];
        check(&pcs(edits))
    }

    #[rstest]
    #[case("nodeName", json!("n1"))]
    #[case("topologySpreadConstraints", json!([{ "maxSkew": 1 }]))]
    #[case("containers/0/env", json!([{ "name": "1A" }]))]
    #[case("containers/0/env", json!([{ "name": "..A" }]))]
    #[case("containers/0/env", json!([{ "name": "A" }, { "name": "A" }]))]
    #[case("initContainers", json!([{ "env": [{ "name": "A B" }] }]))]
    fn refused(#[case] field: &str, #[case] value: Value) {
        assert_eq!(findings(field, value).errors.len(), 1);
    }

    #[rstest]
    #[case("nodeName", json!(""))]
    #[case("nodeSelector", json!({ "pool": "x" }))]
    #[case("topologySpreadConstraints", json!([]))]
    #[case("containers/0/env", json!([{ "name": "A" }, { "name": "B.c-d_1" }]))]
    #[case("initContainers", json!([{ "env": [{ "name": "A" }] }]))]
    #[case("restartPolicy", json!("Always"))]
    fn admitted(#[case] field: &str, #[case] value: Value) {
        assert_eq!(findings(field, value), Validation::default());
    }

    #[test]
    fn labels_and_annotations_of_every_clique() {
        let pcs = pcs(&[
            ("/spec/template/cliques/1/labels", json!({ "a b": "" })),
            ("/spec/template/cliques/2/annotations", json!({ "a b": "" })),
        ]);
        insta::assert_snapshot!(lines(&check(&pcs).errors), @r#"
        spec.template.cliques[1].labels: Invalid value: "a b": not a valid label key
        spec.template.cliques[2].annotations: Invalid value: "a b": not a valid annotation key
        "#);
    }

    #[test]
    fn messages() {
        let pcs = pcs(&[
            (&format!("{POD_SPEC}/nodeName"), json!("n1")),
            (&format!("{POD_SPEC}/topologySpreadConstraints"), json!([{}])),
            (&format!("{POD_SPEC}/restartPolicy"), json!("Never")),
            (
                &format!("{POD_SPEC}/containers/0/env"),
                json!([{ "name": "1A" }, { "name": "B" }, { "name": "B" }]),
            ),
        ]);
        let findings = check(&pcs);
        insta::assert_snapshot!(lines(&findings.errors), @r#"
        spec.template.cliques[0].spec.podSpec.topologySpreadConstraints: Invalid value: [{}]: must not be set
        spec.template.cliques[0].spec.podSpec.nodeName: Invalid value: "n1": must not be set
        spec.template.cliques[0].spec.podSpec.containers[0].env[0].name: Invalid value: "1A": a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit or '..'
        spec.template.cliques[0].spec.podSpec.containers[0].env[2].name: Duplicate value: "B"
        "#);
        insta::assert_snapshot!(findings.warnings.join("\n"), @"spec.template.cliques[0].spec.podSpec.restartPolicy will be ignored, it will be set to Always");
    }
}
