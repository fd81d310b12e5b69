use conformance_contract::target::Target;
use conformance_history::testing::Story;
use serde_json::{Value, json};

use super::jobs::REPLICATED_JOB;
use crate::train_job::JOB_SET;

pub(super) fn story(target: Target, with_leader: bool) -> Story {
    let trainer = json!({"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
        "spec": {"template": {"metadata": {"labels": {"team": "red"}}, "spec": {"schedulerName": "s",
            "containers": [{"resources": {"requests": {"nvidia.com/gpu": "8"}}}]}}}});
    let mut jobs = vec![json!({"name": "node", "template": trainer})];
    if with_leader {
        jobs.insert(0, json!({"name": "leader", "template": {}}));
    }
    let runtime = json!({"metadata": {"name": "runtime r"},
        "spec": {"mlPolicy": {"numNodes": 3}, "template": {"spec": {"replicatedJobs": jobs}}}});
    let train_job = json!({"metadata": {"name": "t"}, "spec": {"runtimeRef": {"name": "r"}}});
    Story::on(target).submitted(runtime).submitted(train_job)
}

pub(super) fn pod(job: &str, index: usize, node: Option<&str>) -> Value {
    json!({"kind": "Pod",
        "metadata": {"name": format!("t-{job}-0-{index}"),
            "labels": {JOB_SET: "t", REPLICATED_JOB: job, "team": "red"}},
        "spec": {"nodeName": node, "schedulerName": "s"}})
}

pub(super) fn pods(bound: usize) -> impl Iterator<Item = Value> {
    (0..3).map(move |index| pod("node", index, (index < bound).then_some("n")))
}
