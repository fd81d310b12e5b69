use kube::ResourceExt;
use serde_json::json;

use super::*;
use crate::backend::volcano::api::ANNOTATION_QUEUE;

fn clique(name: &str) -> Value {
    let container = json!({"name": "c", "resources": {"requests": {"cpu": 1}}});
    json!({"name": name, "spec": {"podSpec": {"containers": [container]}, "replicas": 2}})
}

fn template() -> Value {
    json!({
        "cliques": [clique("a"), clique("b")],
        "podCliqueScalingGroups": [{"name": "g", "cliqueNames": ["b"]}],
    })
}

fn pcs(template: Value) -> PodCliqueSet {
    let spec = json!({"replicas": 1, "template": template});
    serde_json::from_value(json!({"metadata": {"name": "wl", "namespace": "team"}, "spec": spec})).unwrap()
}

fn queued(replicas: i32, queue: &str) -> PodCliqueSet {
    let mut pcs = pcs(template());
    pcs.spec.replicas = replicas;
    pcs.annotations_mut().insert(ANNOTATION_QUEUE.to_owned(), queue.to_owned());
    pcs
}

#[rstest::rstest]
#[case::set("/topologyConstraint", true)]
#[case::clique("/cliques/0/topologyConstraint", true)]
#[case::scaling_group("/podCliqueScalingGroups/0/topologyConstraint", false)]
fn a_required_level_is_refused_on_a_scaling_group(#[case] place: &str, #[case] honoured: bool) {
    let (parent, field) = place.rsplit_once('/').unwrap();
    let validated = |pack: Value| {
        let mut template = template();
        template.pointer_mut(parent).unwrap()[field] = json!({"topologyName": "t", "pack": pack});
        validate(&pcs(template), None)
    };
    let required = validated(json!({"required": "rack"}));
    assert_eq!((required.admits(), required.warnings.len()), (honoured, 0), "{required:?}");
    assert!(!validated(json!({"preferred": "rack"})).admits(), "preferred alone is never honoured");
    let both = validated(json!({"required": "rack", "preferred": "host"}));
    assert_eq!((both.admits(), both.warnings.len()), (honoured, usize::from(honoured)), "{both:?}");
}

#[test]
fn a_pod_clique_set_and_its_cliques_may_both_be_constrained() {
    let mut template = template();
    template["topologyConstraint"] = json!({"topologyName": "t", "pack": {"required": "block"}});
    for clique in template["cliques"].as_array_mut().unwrap() {
        clique["topologyConstraint"] = json!({"topologyName": "t", "pack": {"required": "rack"}});
    }
    assert_eq!(validate(&pcs(template), None), Validation::default());
}

#[rstest::rstest]
#[case::kept(queued(2, "q"), queued(1, "q"), true, false)]
#[case::changed(queued(1, "r"), queued(1, "q"), false, true)]
#[case::changed_while_scaling_in(queued(0, "r"), queued(1, "q"), false, true)]
#[case::removed(pcs(template()), queued(1, "q"), false, true)]
#[case::default_by_name(queued(1, "default"), pcs(template()), true, false)]
#[case::changed_before_there_is_a_gang(queued(1, "r"), queued(0, "q"), true, true)]
fn a_queue_is_fixed_while_gangs_exist(
    #[case] new: PodCliqueSet,
    #[case] old: PodCliqueSet,
    #[case] admitted: bool,
    #[case] enters: bool,
) {
    let found = validate(&new, Some(&old));
    assert_eq!(found.admits(), admitted, "{found:?}");
    assert_eq!(enters_queue(&new, Some(&old)), enters);
    assert!(enters_queue(&new, None));
}

#[rstest::rstest]
#[case::requests(json!({"containers": [{"resources": {"requests": {"cpu": 1}}}]}), true)]
#[case::limits(json!({"containers": [{}, {"resources": {"limits": {"example.com/gpu": 1}}}]}), true)]
#[case::init_container(json!({"initContainers": [{"resources": {"requests": {"cpu": 1}}}], "containers": [{}]}), true)]
#[case::pod(json!({"resources": {"requests": {"cpu": 1}}, "containers": [{}]}), true)]
#[case::claims_only(json!({"containers": [{"resources": {"claims": [{"name": "x"}]}}]}), false)]
#[case::empty(json!({"containers": [{"resources": {"requests": {}}}]}), false)]
#[case::nothing(json!({}), false)]
fn best_effort_pods_cause_a_warning(#[case] pod_spec: Value, #[case] has_resources: bool) {
    let mut template = template();
    template["cliques"][1]["spec"]["podSpec"] = pod_spec;
    let new = pcs(template);
    let found = validate(&new, None);
    assert!(found.admits());
    assert_eq!(found.warnings.len(), usize::from(!has_resources), "{found:?}");
    assert!(
        found.warnings.iter().all(|warning| warning.starts_with("spec.template.cliques[1].spec.podSpec "))
    );
    assert!(validate(&new, Some(&new)).warnings.is_empty(), "an update causes no second warning");
}

#[test]
fn messages_name_the_field_and_the_rule() {
    let mut template = template();
    template["podCliqueScalingGroups"][0]["topologyConstraint"] =
        json!({"topologyName": "t", "pack": {"required": "rack"}});
    let group = validate(&pcs(template), None);
    let moved = validate(&queued(1, "r"), Some(&queued(1, "q")));
    insta::assert_snapshot!(format!("{}\n{}", group.errors[0], moved.errors[0]), @r#"
    spec.template.podCliqueScalingGroups[0].topologyConstraint: Forbidden: scheduler backend volcano cannot honour this constraint: Volcano cannot keep the podgroups of a scaling-group replica in one domain: constrain the PodCliqueSet or its cliques instead
    metadata.annotations[scheduling.grove.io/volcano-queue]: Forbidden: the queue cannot change from "q" to "r" while PodGangs exist; recreate the PodCliqueSet
    "#);
}

#[test]
fn shared_claims_are_refused() {
    let mut template = template();
    template["cliques"][0]["resourceSharing"] = json!([{"name": "nic", "scope": "AllReplicas"}]);
    let errors = validate(&pcs(template), None).errors;
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].path, "spec.template.cliques[0].resourceSharing");
}
