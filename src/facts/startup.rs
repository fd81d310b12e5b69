use conformance_history::{Pod, list};
use serde_json::Value;

pub const INIT_CONTAINER: &str = "grove-initc";

/// Returns the init container that waits for other cliques, which must be the last one.
pub fn last_init(pod: &Value) -> Option<&Value> {
    list(&pod["spec"]["initContainers"]).last().filter(|last| last["name"] == INIT_CONTAINER)
}

/// Returns the name of the Secret with the token of the waiting init container.
pub fn token_of(pod: &Value) -> Option<&str> {
    let mounts = list(&last_init(pod)?["volumeMounts"]);
    let is_mounted = |volume: &&Value| mounts.iter().any(|mount| mount["name"] == volume["name"]);
    let mut volumes = list(&pod["spec"]["volumes"]).iter().filter(is_mounted);
    volumes.find_map(|volume| volume["secret"]["secretName"].as_str())
}

/// Whether a container has ever started, even if it was restarted since.
pub fn has_started(pod: Pod<'_>) -> bool {
    let has = |state: &Value| state["running"].is_object() || state["terminated"].is_object();
    list(&pod.0["status"]["containerStatuses"])
        .iter()
        .any(|container| has(&container["state"]) || has(&container["lastState"]))
}

pub fn init_container_runs(pod: Pod<'_>) -> bool {
    let mut inits = list(&pod.0["status"]["initContainerStatuses"]).iter();
    inits.any(|container| container["name"] == INIT_CONTAINER && container["state"]["running"].is_object())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_token_is_in_the_mounted_secret_of_the_last_init_container() {
        let pod = |last: &str| {
            json!({"spec": {
                "initContainers": [{"name": "own"}, {"name": last, "volumeMounts": [{"name": "t"}]}],
                "volumes": [
                    {"name": "u", "secret": {"secretName": "another"}},
                    {"name": "t", "secret": {"secretName": "w-token"}},
                ],
            }})
        };
        assert_eq!(token_of(&pod(INIT_CONTAINER)), Some("w-token"));
        assert_eq!(token_of(&pod("another")), None);
    }

    #[rstest::rstest]
    #[case::waiting(json!({"state": {"waiting": {}}}), false)]
    #[case::running(json!({"state": {"running": {}}}), true)]
    #[case::ended(json!({"state": {"terminated": {}}}), true)]
    #[case::restarted(json!({"state": {"waiting": {}}, "lastState": {"terminated": {}}}), true)]
    fn a_waiting_container_has_started_only_if_it_restarts(#[case] container: Value, #[case] started: bool) {
        let pod = json!({"status": {"containerStatuses": [container]}});
        assert_eq!(has_started(Pod(&pod)), started);
    }

    #[test]
    fn only_a_running_init_container_of_grove_counts() {
        let pod = |name: &str, state: &str| {
            let container = json!({"name": name, "state": {state: {}}});
            json!({"status": {"initContainerStatuses": [container]}})
        };
        assert!(init_container_runs(Pod(&pod(INIT_CONTAINER, "running"))));
        assert!(!init_container_runs(Pod(&pod(INIT_CONTAINER, "terminated"))));
        assert!(!init_container_runs(Pod(&pod("own", "running"))));
    }
}
