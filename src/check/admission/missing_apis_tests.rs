use conformance_contract::names;
use conformance_history::testing::Story;
use serde_json::json;

use super::*;
use crate::messages;

fn pod(spec: Value) -> Value {
    let mut pod =
        json!({"kind": "Pod", "metadata": {"name": "pod"}, "spec": {"schedulerName": "default-scheduler"}});
    for (field, value) in spec.as_object().into_iter().flatten() {
        pod["spec"][field] = value.clone();
    }
    pod
}

#[rstest::rstest]
#[case::gated(json!({"schedulingGates": [{"name": names::GATE}]}), true)]
#[case::in_a_group(json!({"schedulingGroup": {"podGroupName": "g"}, "nodeName": "n"}), true)]
#[case::of_another_scheduler(json!({"schedulerName": "another"}), true)]
#[case::released(json!({}), false)]
#[case::bound(json!({"nodeName": "n"}), false)]
#[case::bound_with_its_gate(json!({"schedulingGates": [{"name": names::GATE}], "nodeName": "n"}), false)]
fn a_released_pod_without_a_scheduling_group_is_a_violation(#[case] spec: Value, #[case] is_right: bool) {
    let story =
        Story::flat().added(pod(json!({"schedulingGates": [{"name": names::GATE}]}))).modified(pod(spec));
    let ruling = no_loose_pods(&story.end());
    assert_eq!(ruling.is_ok(), is_right, "{ruling:?}");
    assert!(matches!(no_loose_pods(&Story::flat().end()), Err(Broken::NotReached(_))));
}

#[test]
fn a_restart_of_the_controller_is_a_violation() {
    let marked = |story: Story, pid: u32| story.mark(SharedMark::Controller, json!({"pid": pid}));
    assert_eq!(one_process(&marked(marked(Story::flat(), 7), 7).end()), Ok(()));
    assert_eq!(messages(one_process(&marked(marked(marked(Story::flat(), 7), 7), 8).end())).len(), 1);
    let another_between = marked(marked(marked(Story::flat(), 7), 8), 7);
    assert_eq!(messages(one_process(&another_between.end())).len(), 1);
    assert!(matches!(one_process(&marked(Story::flat(), 7).end()), Err(Broken::NotReached(_))));
}
