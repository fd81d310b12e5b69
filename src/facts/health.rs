use conformance_history::{Pod, list};
use serde_json::Value;

/// Whether a pod counts for its clique: it has not finished and is not terminating.
pub fn is_live(pod: Pod<'_>) -> bool {
    !pod.is_terminating() && !["Failed", "Succeeded"].iter().any(|phase| pod.0["status"]["phase"] == *phase)
}

pub fn is_bound(pod: Pod<'_>) -> bool {
    is_live(pod) && pod.node().is_some()
}

pub fn awaits_binding(pod: Pod<'_>) -> bool {
    pod.node().is_none() && pod.gates().is_empty()
}

pub fn is_ready(pod: Pod<'_>) -> bool {
    is_bound(pod) && has_ready(pod)
}

fn has_ready(pod: Pod<'_>) -> bool {
    pod.condition("Ready").is_some_and(|ready| ready["status"] == "True")
}

/// Whether a pod is bound, and is Ready or has no failed or unready container. Containers that have not
/// started do not count as unready, nor do running init containers, which become Ready only at their end.
pub fn is_healthy(pod: Pod<'_>) -> bool {
    let status = &pod.0["status"];
    let (inits, containers) = (list(&status["initContainerStatuses"]), list(&status["containerStatuses"]));
    let has_broken_container =
        || containers.iter().any(is_unready) || inits.iter().chain(containers).any(has_failed);
    is_bound(pod) && (has_ready(pod) || !has_broken_container())
}

/// Whether a status has all wanted fields. For each wanted element of a list, an element must have its fields.
pub fn has_fields(status: &Value, wanted: &Value) -> bool {
    match wanted {
        Value::Object(fields) => fields.iter().all(|(key, wanted)| has_fields(&status[key], wanted)),
        Value::Array(all) => {
            all.iter().all(|wanted| list(status).iter().any(|element| has_fields(element, wanted)))
        }
        Value::Null => true,
        _ => status == wanted,
    }
}

fn is_unready(container: &Value) -> bool {
    container["started"] == true && container["ready"] != true
}

fn has_failed(container: &Value) -> bool {
    let codes = ["state", "lastState"].map(|state| &container[state]["terminated"]["exitCode"]);
    codes.into_iter().any(|code| code.as_i64().is_some_and(|code| code != 0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(node: bool, ready: bool, container: Value) -> Value {
        let ready = if ready { "True" } else { "False" };
        json!({
            "metadata": {"name": "p"},
            "spec": {"nodeName": node.then_some("n")},
            "status": {"conditions": [{"type": "Ready", "status": ready}], "containerStatuses": [container]},
        })
    }

    #[rstest::rstest]
    #[case::phase(json!({"phase": "Failed"}), true)]
    #[case::another_phase(json!({"phase": "Running"}), false)]
    #[case::condition(json!({"conditions": [{"type": "Ready", "status": "False"}]}), true)]
    #[case::another_condition(json!({"conditions": [{"type": "Ready", "status": "True"}]}), false)]
    #[case::nested(json!({"containerStatuses": [{"name": "c", "state": {"running": {}}}]}), true)]
    #[case::missing(json!({"allocatable": {"pods": "1"}}), false)]
    #[case::nothing_wanted(json!({"allocatable": null}), true)]
    fn a_status_has_the_fields_that_were_written(#[case] wanted: Value, #[case] has: bool) {
        let status = json!({
            "phase": "Failed",
            "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "False"}],
            "containerStatuses": [{"name": "c", "state": {"running": {"startedAt": null}}}],
        });
        assert_eq!(has_fields(&status, &wanted), has);
    }

    #[rstest::rstest]
    #[case::ready(true, true, json!({"started": true, "ready": true}), true)]
    #[case::ready_after_a_crash(true, true, json!({"lastState": {"terminated": {"exitCode": 1}}}), true)]
    #[case::unbound(false, true, json!({}), false)]
    #[case::not_started(true, false, json!({"started": false, "state": {"waiting": {}}}), true)]
    #[case::started_but_unready(true, false, json!({"started": true, "ready": false}), false)]
    #[case::crash_looping(true, false, json!({"lastState": {"terminated": {"exitCode": 1}}}), false)]
    #[case::failed_now(true, false, json!({"state": {"terminated": {"exitCode": 2}}}), false)]
    #[case::exited_with_0(true, false, json!({"lastState": {"terminated": {"exitCode": 0}}}), true)]
    fn a_pod_with_a_failed_or_unready_container_is_unhealthy(
        #[case] node: bool,
        #[case] ready: bool,
        #[case] container: Value,
        #[case] healthy: bool,
    ) {
        let mut found = pod(node, ready, container);
        assert_eq!(is_healthy(Pod(&found)), healthy);
        found["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert!(!is_healthy(Pod(&found)) && !is_ready(Pod(&found)) && !is_bound(Pod(&found)));
    }

    #[test]
    fn a_failed_init_container_counts_and_a_finished_pod_does_not() {
        let mut found = pod(true, false, json!({}));
        found["status"]["initContainerStatuses"] =
            json!([{"started": true, "ready": false, "state": {"running": {}}}]);
        assert!(is_healthy(Pod(&found)), "the init container is running");
        found["status"]["initContainerStatuses"] = json!([{"state": {"terminated": {"exitCode": 1}}}]);
        assert!(is_bound(Pod(&found)) && !is_healthy(Pod(&found)));
        found["status"]["phase"] = json!("Failed");
        assert!(!is_bound(Pod(&found)));
    }
}
