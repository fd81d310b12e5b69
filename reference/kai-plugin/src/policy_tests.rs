use serde_json::json;

use super::*;

fn runtime(policy: Value, jobs: Value) -> Value {
    json!({"spec": {"podGroupPolicy": policy, "template": {"spec": {"replicatedJobs": jobs}}}})
}

fn job(name: &str, scheduler: Value) -> Value {
    json!({"name": name, "template": {"spec": {"template": {"spec": {"schedulerName": scheduler}}}}})
}

fn on_kai() -> Value {
    json!([job("node", json!("kai-scheduler"))])
}

#[rstest::rstest]
#[case::no_runtime(json!(null), None)]
#[case::no_policy(json!({"spec": {}}), None)]
#[case::null_policy(json!({"spec": {"podGroupPolicy": null}}), None)]
#[case::of_another(json!({"spec": {"podGroupPolicy": {"coscheduling": {}}}}), None)]
#[case::null_kai(json!({"spec": {"podGroupPolicy": {"kaiScheduler": null}}}), None)]
#[case::no_queue(json!({"spec": {"podGroupPolicy": {"kaiScheduler": {}}}}), Some(None))]
#[case::empty_queue(json!({"spec": {"podGroupPolicy": {"kaiScheduler": {"queue": ""}}}}), Some(None))]
#[case::queue(json!({"spec": {"podGroupPolicy": {"kaiScheduler": {"queue": "team-a"}}}}), Some(Some("team-a")))]
fn the_queue_of_a_runtime(#[case] runtime: Value, #[case] queue: Option<Option<&str>>) {
    assert_eq!(Policy::of(&runtime).map(Policy::queue), queue);
}

#[rstest::rstest]
#[case::short("a", true)]
#[case::longest(&"a".repeat(63), true)]
#[case::mixed("Team_A.v-1", true)]
#[case::too_long(&"a".repeat(64), false)]
#[case::slash("team/a", false)]
#[case::dash_first("-a", false)]
#[case::dot_last("a.", false)]
#[case::other_script("équipe", false)]
fn a_queue_must_be_a_label_value(#[case] queue: &str, #[case] admitted: bool) {
    let runtime = runtime(json!({"kaiScheduler": {"queue": queue}}), on_kai());
    let findings = Policy::of(&runtime).unwrap().check();
    assert_eq!(findings.admits(), admitted, "{findings:?}");
    assert!(findings.warnings.is_empty(), "{findings:?}");
}

#[test]
fn an_invalid_queue_is_reported_with_the_rule() {
    let runtime = runtime(json!({"kaiScheduler": {"queue": "team/a"}}), on_kai());
    insta::assert_snapshot!(Policy::of(&runtime).unwrap().check().errors[0], @r#"spec.podGroupPolicy.kaiScheduler.queue: Invalid value: "team/a": it becomes the value of the label kai.scheduler/queue, which must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"#);
}

#[rstest::rstest]
#[case::volcano(json!({"kaiScheduler": {}, "volcano": {}}), "spec.podGroupPolicy.volcano")]
#[case::coscheduling(json!({"kaiScheduler": {"queue": "a"}, "coscheduling": {}}), "spec.podGroupPolicy.coscheduling")]
fn a_second_policy_is_refused(#[case] policy: Value, #[case] path: &str) {
    let runtime = runtime(policy, on_kai());
    let paths: Vec<_> =
        Policy::of(&runtime).unwrap().check().errors.into_iter().map(|error| error.path).collect();
    assert_eq!(paths, [path]);
}

#[test]
fn exclusive_topology_is_refused_at_every_level() {
    let annotated = json!({"annotations": {EXCLUSIVE_TOPOLOGY: "rack"}});
    let mut at_both = runtime(json!({"kaiScheduler": {}}), on_kai());
    at_both["spec"]["template"]["metadata"] = annotated.clone();
    at_both["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["metadata"] = annotated;
    let paths: Vec<_> =
        Policy::of(&at_both).unwrap().check().errors.into_iter().map(|error| error.path).collect();
    let key = format!("annotations[{EXCLUSIVE_TOPOLOGY}]");
    assert_eq!(
        paths,
        [
            format!("spec.template.metadata.{key}"),
            format!("spec.template.spec.replicatedJobs[0].template.metadata.{key}"),
        ]
    );
    let patched = json!({"spec": {"runtimePatches": [
        {"manager": "m", "trainingRuntimeSpec": {"template": at_both["spec"]["template"]}},
    ]}});
    assert_eq!(check_patches(&patched).len(), 2);
}

#[test]
fn a_queue_in_a_patch_must_be_a_label_value() {
    let with = |queue: &str| {
        let labels = json!({"metadata": {"labels": {QUEUE_LABEL: queue}}});
        let jobs = json!([{"name": "node", "template": {"spec": {"template": labels}}}]);
        let template = json!({"spec": {"replicatedJobs": jobs}});
        json!({"spec": {"runtimePatches": [{"manager": "m", "trainingRuntimeSpec": {"template": template}}]}})
    };
    assert!(check_patches(&with("team-a")).is_empty());
    assert_eq!(check_patches(&with("team/a")).len(), 1);
    assert!(check_patches(&json!({"spec": {}})).is_empty());
}

#[test]
fn jobs_on_other_schedulers_and_dependent_jobs_cause_warnings() {
    let mut waiting = job("node", json!("kai-scheduler"));
    waiting["dependsOn"] = json!([{"name": "initializer", "status": "Complete"}]);
    let runtime = runtime(json!({"kaiScheduler": {}}), json!([job("initializer", json!(null)), waiting]));
    let findings = Policy::of(&runtime).unwrap().check();
    assert!(findings.admits());
    insta::assert_snapshot!(findings.warnings.join("\n"), @r#"
    spec.template.spec.replicatedJobs[0].template.spec.template.spec.schedulerName: "initializer" does not use kai-scheduler: the label kai.scheduler/queue on its pods has no effect
    spec.template.spec.replicatedJobs[1].dependsOn: no job starts: KAI 0.16 and later wait for all pods of the gang, but JobSet creates the pods of "node" only after those of other jobs; remove dependsOn
    "#);
}
