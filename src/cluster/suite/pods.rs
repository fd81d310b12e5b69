use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ContainerState, Pod};
use kube::ResourceExt;

use super::CONTAINER;

const INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// Reasons for which a container waits and that rarely resolve themselves.
const HOPELESS: [&str; 5] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "CreateContainerConfigError",
];
/// Limits of the termination message in a reason. The whole log has already been forwarded.
const LINES: usize = 5;
const CHARACTERS: usize = 400;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stage {
    Waits {
        reason: String,
        hopeless: bool,
    },
    Runs(String),
    Succeeded,
    /// The pod ended without storing its results, or was removed.
    Failed(String),
}

pub(super) fn share(pod: &Pod) -> usize {
    pod.labels().get(INDEX).and_then(|index| index.parse().ok()).unwrap_or_default()
}

pub(super) fn stage(pod: &Pod) -> Stage {
    let status = pod.status.clone().unwrap_or_default();
    let containers = status.container_statuses.unwrap_or_default();
    let state = containers.into_iter().find(|one| one.name == CONTAINER).and_then(|one| one.state);
    let ContainerState { running, terminated, waiting } = state.unwrap_or_default();
    match (status.phase.as_deref(), terminated) {
        (Some("Succeeded"), _) => return Stage::Succeeded,
        (phase, Some(ended)) if ended.exit_code != 0 || phase == Some("Failed") => {
            let how = match ended.signal {
                Some(signal) => format!("it was killed by signal {signal}"),
                None if ended.reason.as_deref() == Some("OOMKilled") => "it exceeded its memory limit".into(),
                None => format!("it exited with code {}", ended.exit_code),
            };
            return Stage::Failed(with(how, ended.message.as_deref()));
        }
        (Some("Failed"), None) => {
            let how = status.reason.unwrap_or_else(|| "it failed".into());
            return Stage::Failed(with(how, status.message.as_deref()));
        }
        // After exit code 0, the pod counts as waiting until its phase becomes Succeeded.
        _ => {}
    }
    if running.is_some() {
        return Stage::Runs(pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default());
    }
    if let Some(waiting) = waiting {
        let reason = waiting.reason.unwrap_or_default();
        let hopeless = HOPELESS.contains(&reason.as_str());
        return Stage::Waits { reason: with(reason, waiting.message.as_deref()), hopeless };
    }
    let conditions = status.conditions.unwrap_or_default();
    let unmet =
        conditions.into_iter().find(|condition| condition.status == "False" && condition.message.is_some());
    let reason = unmet.and_then(|condition| condition.message).unwrap_or_default();
    Stage::Waits { reason, hopeless: false }
}

fn with(what: String, message: Option<&str>) -> String {
    let lines: Vec<_> = message.unwrap_or_default().lines().filter(|line| !line.trim().is_empty()).collect();
    let end = lines[lines.len().saturating_sub(LINES)..].join("\n");
    let cut = match end.char_indices().nth(CHARACTERS) {
        Some((index, _)) => format!("{}…", &end[..index]),
        None => end,
    };
    if cut.is_empty() { what } else { format!("{what}: {cut}") }
}

/// Whether a Job has ended: none of its pods runs, and no pod will start.
pub(super) fn has_ended(job: &Job) -> bool {
    let conditions = job.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| {
        condition.status == "True" && ["Complete", "Failed"].contains(&condition.type_.as_str())
    })
}

pub(super) fn failure_of(job: &Job) -> Option<String> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    let failed =
        conditions.iter().find(|condition| condition.type_ == "Failed" && condition.status == "True")?;
    failed.message.clone().or_else(|| failed.reason.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(phase: &str, state: Value) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "suite-1-x", "labels": {(INDEX): "1"}},
            "spec": {"nodeName": "worker-3", "containers": []},
            "status": {"phase": phase, "containerStatuses": [{
                "name": CONTAINER, "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state}]},
        }))
        .unwrap()
    }

    fn ended(code: i32, message: &str) -> Value {
        json!({"terminated": {"exitCode": code, "message": message}})
    }

    #[rstest::rstest]
    #[case::runs("Running", json!({"running": {}}), Stage::Runs("worker-3".into()))]
    #[case::stored("Succeeded", ended(0, ""), Stage::Succeeded)]
    #[case::killed("Failed", ended(137, ""), Stage::Failed("it exited with code 137".into()))]
    #[case::out_of_memory(
        "Failed",
        json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}}),
        Stage::Failed("it exceeded its memory limit".into())
    )]
    #[case::with_a_message(
        "Failed",
        ended(3, "connecting\n\nerror: the identity may not list pods\n"),
        Stage::Failed("it exited with code 3: connecting\nerror: the identity may not list pods".into())
    )]
    #[case::no_image(
        "Pending",
        json!({"waiting": {"reason": "ErrImageNeverPull", "message": "not present"}}),
        Stage::Waits { reason: "ErrImageNeverPull: not present".into(), hopeless: true }
    )]
    #[case::starting(
        "Pending",
        json!({"waiting": {"reason": "ContainerCreating"}}),
        Stage::Waits { reason: "ContainerCreating".into(), hopeless: false }
    )]
    fn the_stage_of_a_pod_follows_its_container(
        #[case] phase: &str,
        #[case] state: Value,
        #[case] wanted: Stage,
    ) {
        let pod = pod(phase, state);
        assert_eq!((stage(&pod), share(&pod)), (wanted, 1));
    }

    #[test]
    fn a_pending_pod_waits_for_the_reason_of_its_condition() {
        let mut pod = pod("Pending", json!({}));
        pod.status = serde_json::from_value(json!({"phase": "Pending", "conditions": [{
            "type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}]}))
        .unwrap();
        assert_eq!(stage(&pod), Stage::Waits { reason: "0/3 nodes are available".into(), hopeless: false });
    }

    #[test]
    fn an_evicted_pod_fails_with_the_reason_of_the_kubelet() {
        let mut pod = pod("Failed", json!({}));
        pod.status = serde_json::from_value(
            json!({"phase": "Failed", "reason": "Evicted", "message": "low on memory"}),
        )
        .unwrap();
        assert_eq!(stage(&pod), Stage::Failed("Evicted: low on memory".into()));
    }

    #[rstest::rstest]
    #[case(json!({}), false, None)]
    #[case(json!({"conditions": [{"type": "SuccessCriteriaMet", "status": "True"}]}), false, None)]
    #[case(json!({"conditions": [{"type": "Complete", "status": "True"}]}), true, None)]
    #[case(
        json!({"conditions": [{"type": "Failed", "status": "True", "message": "index 1 failed"}]}),
        true,
        Some("index 1 failed")
    )]
    fn a_job_has_ended_when_it_is_complete_or_failed(
        #[case] status: Value,
        #[case] wanted: bool,
        #[case] message: Option<&str>,
    ) {
        let job: Job = serde_json::from_value(json!({"metadata": {}, "status": status})).unwrap();
        assert_eq!((has_ended(&job), failure_of(&job).as_deref()), (wanted, message));
    }
}
