use serde_json::{Value, json};

use super::*;

fn pcs(edit: impl FnOnce(&mut Value)) -> PodCliqueSet {
    let clique = |name: &str| json!({"name": name, "spec": {"podSpec": {}, "replicas": 2}});
    let mut pcs = json!({
        "metadata": {"name": "wl"},
        "spec": {"replicas": 1, "template": {
            "cliques": [clique("a"), clique("b")],
            "podCliqueScalingGroups": [{"name": "g", "cliqueNames": ["b"]}],
        }},
    });
    edit(&mut pcs);
    serde_json::from_value(pcs).unwrap()
}

fn constraint(pack: &Value) -> Value {
    json!({"topologyName": "t", "pack": pack})
}

fn findings(pcs: &PodCliqueSet) -> String {
    let found = validate(pcs);
    let errors = found.errors.iter().map(ToString::to_string);
    errors
        .chain(found.warnings.iter().map(|warning| format!("warning: {warning}")))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn a_pod_clique_set_without_constraints_is_admitted() {
    assert_eq!(findings(&pcs(|_| {})), "");
}

#[test]
fn a_required_level_of_the_pod_clique_set_is_admitted() {
    let set = |pcs: &mut Value| {
        pcs["spec"]["template"]["topologyConstraint"] = constraint(&json!({"required": "rack"}));
    };
    assert_eq!(findings(&pcs(set)), "");
}

#[test]
fn a_level_of_a_clique_or_a_group_is_refused() {
    let pcs = pcs(|pcs| {
        let template = &mut pcs["spec"]["template"];
        template["cliques"][0]["topologyConstraint"] = constraint(&json!({"required": "rack"}));
        template["podCliqueScalingGroups"][0]["topologyConstraint"] =
            constraint(&json!({"preferred": "rack"}));
    });
    insta::assert_snapshot!(findings(&pcs), @"
    spec.template.cliques[0].topologyConstraint: Forbidden: scheduler backend koord-scheduler cannot honour this constraint: Koordinator honours one topology for a whole gang, and this PodCliqueSet has several cliques: constrain the PodCliqueSet
    spec.template.podCliqueScalingGroups[0].topologyConstraint: Forbidden: scheduler backend koord-scheduler cannot honour this constraint: Koordinator cannot keep the podgroups of a scaling-group replica in one domain
    ");
}

#[rstest::rstest]
#[case::alone(json!([]), true)]
#[case::in_a_group(json!([{"name": "g", "cliqueNames": ["a"], "replicas": 3}]), true)]
#[case::two_replicas_in_the_base_gang(
    json!([{"name": "g", "cliqueNames": ["a"], "replicas": 3, "minAvailable": 2}]),
    false
)]
fn the_only_podgroup_of_its_gangs_may_have_a_level(#[case] groups: Value, #[case] admitted: bool) {
    let pcs = pcs(|pcs| {
        let template = &mut pcs["spec"]["template"];
        template["cliques"].as_array_mut().unwrap().truncate(1);
        template["cliques"][0]["topologyConstraint"] = constraint(&json!({"required": "host"}));
        template["podCliqueScalingGroups"] = groups;
    });
    assert_eq!(validate(&pcs).admits(), admitted, "{}", findings(&pcs));
}

#[rstest::rstest]
#[case(json!({"preferred": "rack"}), false)]
#[case(json!({"required": "block", "preferred": "rack"}), true)]
fn a_preferred_level_alone_is_refused(#[case] pack: Value, #[case] admitted: bool) {
    let found = validate(&pcs(|pcs| pcs["spec"]["template"]["topologyConstraint"] = constraint(&pack)));
    assert_eq!(found.admits(), admitted, "{found:?}");
    assert_eq!(found.warnings.len(), usize::from(admitted), "{found:?}");
}

#[rstest::rstest]
#[case("grove.io/auto-mnnvl", "enabled", 3)]
#[case("grove.io/auto-mnnvl", "disabled", 0)]
#[case("grove.io/mnnvl-group", "train", 3)]
#[case("grove.io/mnnvl-group", "none", 0)]
fn mnnvl_is_refused_at_every_level(#[case] key: &str, #[case] value: &str, #[case] errors: usize) {
    let pcs = pcs(|pcs| {
        let annotations = json!({key: value});
        pcs["metadata"]["annotations"] = annotations.clone();
        pcs["spec"]["template"]["cliques"][1]["annotations"] = annotations.clone();
        pcs["spec"]["template"]["podCliqueScalingGroups"][0]["annotations"] = annotations;
    });
    assert_eq!(validate(&pcs).errors.len(), errors, "{}", findings(&pcs));
}

#[test]
fn the_refusal_of_mnnvl_names_the_annotation() {
    let pcs = pcs(|pcs| pcs["metadata"]["annotations"] = json!({"grove.io/auto-mnnvl": "enabled"}));
    insta::assert_snapshot!(findings(&pcs), @"metadata.annotations[grove.io/auto-mnnvl]: Forbidden: scheduler backend koord-scheduler does not support multi-node NVLink (MNNVL): remove the annotation");
}

#[test]
fn shared_claims_are_refused_at_every_level() {
    let sharing = json!([{"name": "nic", "scope": "PerReplica"}]);
    let pcs = pcs(|pcs| {
        let template = &mut pcs["spec"]["template"];
        template["resourceSharing"] = sharing.clone();
        template["cliques"][1]["resourceSharing"] = sharing.clone();
        template["podCliqueScalingGroups"][0]["resourceSharing"] = sharing;
    });
    let found = validate(&pcs).errors;
    let paths: Vec<_> = found.iter().map(|error| error.path.trim_end_matches(".resourceSharing")).collect();
    assert_eq!(
        paths,
        ["spec.template", "spec.template.cliques[1]", "spec.template.podCliqueScalingGroups[0]"]
    );
    assert!(found.iter().all(|error| error.message.contains("cannot honour shared resource claims")));
}
