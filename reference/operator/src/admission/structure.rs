//! Upstream's rules on one PodCliqueSet (ADM-04), and a stricter one: no dots in names, as host names need.

use grove_api::{PodCliqueScalingGroupConfig, PodCliqueSet, PodCliqueTemplateSpec};

use super::findings::{duplicate, invalid, repeated};
use super::names::combined_length_error;
use crate::backend::FieldError;
use crate::backend::names::is_dns_label;
use crate::plan::duration::duration;

const GREATER_THAN_0: &str = "must be greater than 0";
const NOT_A_LABEL: &str = "must be a valid DNS label, because host names of pods contain it";

pub(super) fn check(pcs: &PodCliqueSet) -> Vec<FieldError> {
    let template = &pcs.spec.template;
    let mut errors = Vec::new();
    let name = pcs_name(pcs);
    if !name.is_empty() && !is_dns_label(name) {
        errors.push(invalid("metadata.name", name, NOT_A_LABEL));
    }
    if pcs.spec.replicas < 0 {
        errors.push(invalid("spec.replicas", pcs.spec.replicas, "must be greater than or equal to 0"));
    }
    if template.cliques.is_empty() {
        errors.push(FieldError::required("spec.template.cliques", "at least one PodClique must be defined"));
    }
    for (index, clique) in template.cliques.iter().enumerate() {
        check_clique(pcs, clique, &format!("spec.template.cliques[{index}]"), &mut errors);
    }
    for (index, name) in repeated(template.cliques.iter().map(|clique| clique.name.as_str())) {
        errors.push(duplicate(format!("spec.template.cliques[{index}].name"), name));
    }
    // Several cliques may have no role.
    let roles = repeated(template.cliques.iter().map(role)).into_iter().filter(|(_, role)| !role.is_empty());
    for (index, role) in roles {
        errors.push(duplicate(format!("spec.template.cliques[{index}].spec.roleName"), role));
    }
    for (index, group) in template.pod_clique_scaling_groups.iter().enumerate() {
        check_group(pcs, group, &format!("spec.template.podCliqueScalingGroups[{index}]"), &mut errors);
    }
    check_groups_are_disjoint(&template.pod_clique_scaling_groups, &mut errors);
    if let Some(delay) = &template.termination_delay {
        errors.extend(check_termination_delay(delay));
    }
    errors
}

fn role(clique: &PodCliqueTemplateSpec) -> &str {
    clique.spec.role_name.as_deref().unwrap_or_default()
}

fn check_clique(
    pcs: &PodCliqueSet,
    clique: &PodCliqueTemplateSpec,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    let name = clique.name.as_str();
    if name.is_empty() {
        errors.push(FieldError::required(format!("{path}.name"), "field cannot be empty"));
    } else if !is_dns_label(name) {
        let message = format!("the name of a clique {NOT_A_LABEL}");
        errors.push(invalid(format!("{path}.name"), name, &message));
    }
    let standalone = pcs.spec.template.group_of(name).is_none();
    if standalone && let Some(error) = combined_length_error(pcs_name(pcs), None, name) {
        errors.push(invalid(format!("{path}.name"), name, &error));
        errors.push(invalid("metadata.name", pcs_name(pcs), &error));
    }
    if clique.spec.min_available.is_none() {
        errors.push(FieldError::required(format!("{path}.spec.minAvailable"), "field is required"));
    }
    check_counts(Some(clique.spec.replicas), clique.spec.min_available, &format!("{path}.spec"), errors);
}

fn check_group(
    pcs: &PodCliqueSet,
    group: &PodCliqueScalingGroupConfig,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    let name = group.name.as_str();
    if !is_dns_label(name) {
        let message = format!("the name of a scaling group {NOT_A_LABEL}");
        errors.push(invalid(format!("{path}.name"), name, &message));
    }
    // Upstream admits an empty group. Its scaled PodGangs have no podgroup, which no backend supports.
    if group.clique_names.is_empty() {
        let message = "a scaling group must have at least one clique";
        errors.push(FieldError::required(format!("{path}.cliqueNames"), message));
    }
    let cliques = &pcs.spec.template.cliques;
    let is_unknown = |member: &&String| !cliques.iter().any(|clique| clique.name == **member);
    let unknown: Vec<_> = group.clique_names.iter().filter(is_unknown).map(String::as_str).collect();
    if !unknown.is_empty() {
        let message = "unknown clique names: cliqueNames must name cliques of this PodCliqueSet";
        errors.push(invalid(format!("{path}.cliqueNames"), unknown.join(","), message));
    }
    for (index, member) in group.clique_names.iter().enumerate() {
        if let Some(error) = combined_length_error(pcs_name(pcs), Some(name), member) {
            errors.push(invalid(format!("{path}.cliqueNames[{index}]"), member.as_str(), &error));
            errors.push(invalid(format!("{path}.name"), name, &error));
            errors.push(invalid("metadata.name", pcs_name(pcs), &error));
        }
    }
    check_counts(group.replicas, group.min_available, path, errors);
}

fn check_groups_are_disjoint(groups: &[PodCliqueScalingGroupConfig], errors: &mut Vec<FieldError>) {
    for (index, name) in repeated(groups.iter().map(|group| group.name.as_str())) {
        errors.push(duplicate(format!("spec.template.podCliqueScalingGroups[{index}].name"), name));
    }
    let mut members = Vec::new();
    for (group, names) in groups.iter().map(|group| &group.clique_names).enumerate() {
        let path =
            |member: usize| format!("spec.template.podCliqueScalingGroups[{group}].cliqueNames[{member}]");
        members.extend(names.iter().enumerate().map(|(member, name)| (path(member), name.as_str())));
    }
    for (index, name) in repeated(members.iter().map(|(_, name)| *name)) {
        errors.push(duplicate(&members[index].0, name));
    }
}

fn check_counts(replicas: Option<i32>, min_available: Option<i32>, path: &str, errors: &mut Vec<FieldError>) {
    if let Some(replicas) = replicas.filter(|replicas| *replicas <= 0) {
        errors.push(invalid(format!("{path}.replicas"), replicas, GREATER_THAN_0));
    }
    if let Some(min_available) = min_available.filter(|min_available| *min_available <= 0) {
        errors.push(invalid(format!("{path}.minAvailable"), min_available, GREATER_THAN_0));
    }
    if let (Some(replicas), Some(min_available)) = (replicas, min_available)
        && min_available > replicas
    {
        let message = "minAvailable must not be greater than replicas";
        errors.push(invalid(format!("{path}.minAvailable"), min_available, message));
    }
}

fn check_termination_delay(delay: &str) -> Option<FieldError> {
    let message = match duration(delay) {
        Some(delay) if !delay.is_zero() => return None,
        Some(_) => "terminationDelay must be greater than 0",
        None => "must be a duration such as 4h or 1h30m",
    };
    Some(invalid("spec.template.terminationDelay", delay, message))
}

pub(super) fn pcs_name(pcs: &PodCliqueSet) -> &str {
    pcs.metadata.name.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::admission::fixture::{Edits, lines, pcs};

    const CLIQUES: &str = "/spec/template/cliques";
    const GROUPS: &str = "/spec/template/podCliqueScalingGroups";

    fn findings(pointer: &str, value: Value) -> Vec<FieldError> {
        let edits: Edits<'_> = &[(pointer, value)];
        check(&pcs(edits))
    }

    fn clique(name: &str) -> Value {
        json!({ "name": name, "spec": { "replicas": 1, "minAvailable": 1, "podSpec": {} } })
    }

    #[rstest::rstest]
    #[case("/spec/replicas", json!(-1), "must be greater than or equal to 0")]
    #[case(CLIQUES, json!([]), "at least one PodClique must be defined")]
    #[case(&format!("{CLIQUES}/0/spec/replicas"), json!(0), "must be greater than 0")]
    #[case(&format!("{CLIQUES}/0/spec/minAvailable"), json!(0), "must be greater than 0")]
    #[case(&format!("{CLIQUES}/0/spec/minAvailable"), json!(3), "must not be greater than replicas")]
    #[case(&format!("{CLIQUES}/0/spec/minAvailable"), Value::Null, "field is required")]
    #[case(&format!("{CLIQUES}/0/name"), json!(""), "field cannot be empty")]
    #[case(&format!("{CLIQUES}/0/name"), json!("A"), "must be a valid DNS label")]
    #[case(&format!("{CLIQUES}/0/name"), json!("a.b"), "must be a valid DNS label")]
    #[case("/metadata/name", json!("de.mo"), "metadata.name: Invalid value: \"de.mo\": must be a valid DNS label")]
    #[case(&format!("{CLIQUES}/-"), clique("a"), "cliques[3].name: Duplicate value")]
    #[case(&format!("{CLIQUES}/0/spec/roleName"), json!("b"), "cliques[1].spec.roleName: Duplicate value")]
    #[case(&format!("{GROUPS}/0/replicas"), json!(0), "must be greater than 0")]
    #[case(&format!("{GROUPS}/0/minAvailable"), json!(0), "must be greater than 0")]
    #[case(&format!("{GROUPS}/0/minAvailable"), json!(3), "must not be greater than replicas")]
    #[case(&format!("{GROUPS}/0/name"), json!("sg_x"), "must be a valid DNS label")]
    #[case(&format!("{GROUPS}/0/name"), json!("s.g"), "must be a valid DNS label")]
    #[case(
        &format!("{GROUPS}/0/cliqueNames"),
        json!(["b", "x"]),
        "unknown clique names: cliqueNames must name cliques of this PodCliqueSet"
    )]
    #[case(&format!("{GROUPS}/0/cliqueNames"), json!(["b", "b"]), "[0].cliqueNames[1]: Duplicate value")]
    #[case(&format!("{GROUPS}/0/cliqueNames"), json!([]), "a scaling group must have at least one clique")]
    #[case(&format!("{GROUPS}/-"), json!({ "name": "sg", "cliqueNames": ["a"] }), "[1].name: Duplicate value")]
    #[case(&format!("{GROUPS}/-"), json!({ "name": "sh", "cliqueNames": ["b"] }), "[1].cliqueNames[0]: Duplicate")]
    #[case("/spec/template/terminationDelay", json!("0s"), "must be greater than 0")]
    #[case("/spec/template/terminationDelay", json!("4 hours"), "must be a duration")]
    fn an_invalid_shape_is_refused(#[case] pointer: &str, #[case] value: Value, #[case] message: &str) {
        let errors = lines(&findings(pointer, value));
        assert!(errors.contains(message), "{errors}");
    }

    #[rstest::rstest]
    #[case("/spec/replicas", json!(0))]
    #[case(&format!("{CLIQUES}/0/spec/replicas"), json!(1))]
    #[case(&format!("{CLIQUES}/0/spec/minAvailable"), json!(1))]
    #[case(&format!("{CLIQUES}/0/spec/minAvailable"), json!(2))]
    #[case(&format!("{CLIQUES}/0/name"), json!("a-b-1"))]
    #[case(&format!("{CLIQUES}/-"), clique("d"))]
    #[case(&format!("{CLIQUES}/0/spec/roleName"), json!("d"))]
    #[case(&format!("{GROUPS}/0/replicas"), json!(1))]
    #[case(&format!("{GROUPS}/0/minAvailable"), json!(2))]
    #[case(&format!("{GROUPS}/0/name"), json!("sg-x"))]
    #[case(&format!("{GROUPS}/0/cliqueNames"), json!(["b"]))]
    #[case(&format!("{GROUPS}/-"), json!({ "name": "sh", "cliqueNames": ["a"] }))]
    #[case("/spec/template/terminationDelay", json!("1s"))]
    fn a_valid_shape_is_admitted(#[case] pointer: &str, #[case] value: Value) {
        assert_eq!(findings(pointer, value), []);
    }

    #[test]
    fn cliques_without_a_role_are_admitted() {
        let pcs = pcs(&[(&format!("{CLIQUES}/-"), clique("d")), (&format!("{CLIQUES}/-"), clique("e"))]);
        assert_eq!(check(&pcs), []);
    }

    /// `demo` has 4 characters and `sg` 2; the limit is 45.
    #[rstest::rstest]
    #[case::standalone_fits("a", 41, 0)]
    #[case::standalone_is_too_long("a", 42, 2)]
    #[case::member_fits("b", 39, 0)]
    #[case::member_is_too_long("b", 40, 3)]
    #[case::member_is_no_standalone("b", 42, 3)]
    fn a_combined_name_that_is_too_long_is_refused(
        #[case] clique: &str,
        #[case] length: usize,
        #[case] errors: usize,
    ) {
        let name = json!("n".repeat(length));
        let pcs = match clique {
            "a" => pcs(&[(&format!("{CLIQUES}/0/name"), name)]),
            _ => pcs(&[
                (&format!("{CLIQUES}/1/name"), name.clone()),
                (&format!("{GROUPS}/0/cliqueNames/0"), name),
            ]),
        };
        assert_eq!(check(&pcs).len(), errors);
    }

    #[test]
    fn messages_name_the_field_and_the_rule() {
        let counts = check(&pcs(&[
            ("/spec/replicas", json!(-1)),
            (&format!("{CLIQUES}/0/spec/replicas"), json!(-2)),
            (&format!("{CLIQUES}/1/spec/minAvailable"), json!(2)),
            (&format!("{CLIQUES}/2/spec/minAvailable"), Value::Null),
            (&format!("{GROUPS}/0/minAvailable"), json!(0)),
            ("/spec/template/terminationDelay", json!("-4h")),
        ]));
        insta::assert_snapshot!(lines(&counts), @r#"
        spec.replicas: Invalid value: -1: must be greater than or equal to 0
        spec.template.cliques[0].spec.replicas: Invalid value: -2: must be greater than 0
        spec.template.cliques[0].spec.minAvailable: Invalid value: 1: minAvailable must not be greater than replicas
        spec.template.cliques[1].spec.minAvailable: Invalid value: 2: minAvailable must not be greater than replicas
        spec.template.cliques[2].spec.minAvailable: Required value: field is required
        spec.template.podCliqueScalingGroups[0].minAvailable: Invalid value: 0: must be greater than 0
        spec.template.terminationDelay: Invalid value: "-4h": terminationDelay must be greater than 0
        "#);
        let names = check(&pcs(&[
            (&format!("{CLIQUES}/0/name"), json!("A")),
            (&format!("{CLIQUES}/1/name"), json!("")),
            (&format!("{CLIQUES}/2/spec/roleName"), json!("a")),
            (&format!("{CLIQUES}/-"), clique("c")),
            (&format!("{GROUPS}/-"), json!({ "name": "sg", "cliqueNames": ["x", "y", "c"] })),
            (&format!("{GROUPS}/-"), json!({ "name": "S", "cliqueNames": [] })),
        ]));
        insta::assert_snapshot!(lines(&names), @r#"
        spec.template.cliques[0].name: Invalid value: "A": the name of a clique must be a valid DNS label, because host names of pods contain it
        spec.template.cliques[1].name: Required value: field cannot be empty
        spec.template.cliques[3].name: Duplicate value: "c"
        spec.template.cliques[2].spec.roleName: Duplicate value: "a"
        spec.template.podCliqueScalingGroups[0].cliqueNames: Invalid value: "b": unknown clique names: cliqueNames must name cliques of this PodCliqueSet
        spec.template.podCliqueScalingGroups[1].cliqueNames: Invalid value: "x,y": unknown clique names: cliqueNames must name cliques of this PodCliqueSet
        spec.template.podCliqueScalingGroups[2].name: Invalid value: "S": the name of a scaling group must be a valid DNS label, because host names of pods contain it
        spec.template.podCliqueScalingGroups[2].cliqueNames: Required value: a scaling group must have at least one clique
        spec.template.podCliqueScalingGroups[1].name: Duplicate value: "sg"
        spec.template.podCliqueScalingGroups[1].cliqueNames[2]: Duplicate value: "c"
        "#);
        let nothing = check(&pcs(&[(CLIQUES, json!([])), (GROUPS, json!([]))]));
        insta::assert_snapshot!(lines(&nothing), @"spec.template.cliques: Required value: at least one PodClique must be defined");
    }

    #[test]
    fn a_long_name_is_reported_at_every_part() {
        let name = json!("n".repeat(40));
        let pcs = pcs(&[
            (&format!("{CLIQUES}/1/name"), name.clone()),
            (&format!("{GROUPS}/0/cliqueNames/0"), name),
        ]);
        insta::assert_snapshot!(lines(&check(&pcs)), @r#"
        spec.template.podCliqueScalingGroups[0].cliqueNames[0]: Invalid value: "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn": combined resource name length 46 exceeds 45-character limit required for pod naming. Consider shortening: PodCliqueSet 'demo', PodCliqueScalingGroup 'sg', or PodClique 'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn'
        spec.template.podCliqueScalingGroups[0].name: Invalid value: "sg": combined resource name length 46 exceeds 45-character limit required for pod naming. Consider shortening: PodCliqueSet 'demo', PodCliqueScalingGroup 'sg', or PodClique 'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn'
        metadata.name: Invalid value: "demo": combined resource name length 46 exceeds 45-character limit required for pod naming. Consider shortening: PodCliqueSet 'demo', PodCliqueScalingGroup 'sg', or PodClique 'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn'
        "#);
    }
}
