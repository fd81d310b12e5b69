use conformance_history::{Version, condition};
use serde::Serialize;
use serde_json::Value;

/// Pods use all phases except `Exists` and `Initialized`. Other objects use some of the phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Phase {
    Exists,
    Gated,
    Pending,
    Initialized,
    /// A bound pod, or a gang that is reported as scheduled.
    Bound,
    /// A ready pod, or a gang resource whose phase is Running.
    Ready,
    Ended,
    Deleting,
}

impl Phase {
    pub(super) fn of(version: &Version<'_>) -> Self {
        let pod = version.pod();
        if pod.is_terminating() {
            Self::Deleting
        } else if version.kind() == "Pod" {
            Self::of_pod(version)
        } else {
            Self::of_other(version.object)
        }
    }

    fn of_pod(version: &Version<'_>) -> Self {
        let pod = version.pod();
        let phase = version.object["status"]["phase"].as_str();
        if matches!(phase, Some("Succeeded" | "Failed")) {
            Self::Ended
        } else if is_true(version.object, "Ready") {
            Self::Ready
        } else if pod.node().is_some() {
            Self::Bound
        } else if pod.gates().is_empty() {
            Self::Pending
        } else {
            Self::Gated
        }
    }

    /// How a scheduled gang is reported: by a condition (since 1.37 `...InitiallyScheduled`) or by a phase.
    fn of_other(object: &Value) -> Self {
        let phase = object["status"]["phase"].as_str();
        if matches!(phase, Some("Running")) {
            Self::Ready
        } else if SCHEDULED_CONDITIONS.iter().any(|of_type| is_true(object, of_type))
            || phase == Some("Scheduled")
        {
            Self::Bound
        } else if is_true(object, "Initialized") {
            Self::Initialized
        } else {
            Self::Exists
        }
    }
}

const SCHEDULED_CONDITIONS: [&str; 4] =
    ["PodGroupScheduled", "PodGroupInitiallyScheduled", "CompositePodGroupInitiallyScheduled", "Scheduled"];

fn is_true(object: &Value, of_type: &str) -> bool {
    condition(object, of_type).is_some_and(|condition| condition["status"] == "True")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ready(status: &str) -> Value {
        json!({"conditions": [{"type": "Ready", "status": status}]})
    }

    #[rstest::rstest]
    #[case::gated(json!({"spec": {"schedulingGates": [{"name": "g"}]}}), Phase::Gated)]
    #[case::released(json!({"spec": {}}), Phase::Pending)]
    #[case::no_gate_left(json!({"spec": {"schedulingGates": []}}), Phase::Pending)]
    #[case::bound(json!({"spec": {"nodeName": "n"}, "status": ready("False")}), Phase::Bound)]
    #[case::ready(json!({"spec": {"nodeName": "n"}, "status": ready("True")}), Phase::Ready)]
    #[case::ended(json!({"spec": {"nodeName": "n"}, "status": {"phase": "Failed"}}), Phase::Ended)]
    #[case::deleting(
        json!({"metadata": {"deletionTimestamp": "now"}, "spec": {"nodeName": "n"}, "status": ready("True")}),
        Phase::Deleting
    )]
    fn the_phase_of_a_pod_follows_from_its_gates_node_and_status(
        #[case] mut pod: Value,
        #[case] phase: Phase,
    ) {
        pod["kind"] = "Pod".into();
        assert_eq!(Phase::of(&Version::of(&pod)), phase);
    }

    #[rstest::rstest]
    #[case(json!({}), Phase::Exists)]
    #[case(json!({"phase": "Pending", "conditions": [{"type": "Initialized", "status": "True"}]}), Phase::Initialized)]
    #[case(json!({"conditions": [{"type": "Initialized", "status": "False"}]}), Phase::Exists)]
    #[case(json!({"conditions": [{"type": "PodGroupScheduled", "status": "True"}]}), Phase::Bound)]
    #[case(json!({"conditions": [{"type": "PodGroupInitiallyScheduled", "status": "True"}]}), Phase::Bound)]
    #[case(json!({"conditions": [{"type": "CompositePodGroupInitiallyScheduled", "status": "True"}]}), Phase::Bound)]
    #[case(json!({"conditions": [{"type": "PodGroupInitiallyScheduled", "status": "False"}]}), Phase::Exists)]
    #[case(json!({"phase": "Running"}), Phase::Ready)]
    fn the_phase_of_a_gang_follows_from_its_status(#[case] status: Value, #[case] phase: Phase) {
        let gang = json!({"kind": "PodGang", "status": status});
        assert_eq!(Phase::of(&Version::of(&gang)), phase);
    }
}
