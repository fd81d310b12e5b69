use conformance_history::{Live, Version, count};

use super::state::State;

pub fn lacks(live: &Live, set: &str) -> Option<String> {
    let pcs = live.get("PodCliqueSet", set)?;
    let status = &pcs["status"];
    let size = count(&pcs["spec"]["replicas"]).unwrap_or(0);
    lacks_pods(live, set).or_else(|| {
        if status["updateProgress"]["updateEndedAt"].is_null() {
            Some("updateProgress.updateEndedAt is not set".to_owned())
        } else {
            let updated = count(&status["updatedReplicas"]).unwrap_or(0);
            (updated != size).then(|| format!("updatedReplicas is {updated}, want {size}"))
        }
    })
}

/// Describes which new and Ready pods are missing, regardless of the status.
pub fn lacks_pods(live: &Live, set: &str) -> Option<String> {
    let state = state_of(live, set);
    let cliques: Vec<_> = state.replicas().iter().flat_map(|replica| state.cliques(replica)).collect();
    cliques.iter().find_map(|clique| state.lacks(clique))
}

pub fn exceeds(live: &Live, set: &str) -> Option<String> {
    let state = state_of(live, set);
    let beyond = state.pods.values().map(Version::pod).find(|pod| state.is_surplus(*pod));
    beyond.map(|pod| format!("Pod {} is beyond the requested replicas", pod.name()))
}

fn state_of<'a>(live: &'a Live, set: &str) -> State<'a> {
    let mut state = State::default();
    let objects = ["PodCliqueSet", "PodClique", "PodCliqueScalingGroup", "Pod"];
    for object in objects.into_iter().flat_map(|kind| live.of(kind)) {
        let version = Version::of(object);
        if !version.pod().is_canary() {
            state.apply(version, set);
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, one_clique, worker};
    use serde_json::{Value, json};

    use super::super::REVISION;
    use super::*;

    fn spec(revision: &str) -> Value {
        json!({"containers": [{"env": [{"name": REVISION, "value": revision}]}]})
    }

    fn pod(revision: &str, ready: &str) -> Value {
        let mut pod = worker("w", 0, Some("n"));
        pod["spec"]["containers"] = spec(revision)["containers"].clone();
        pod["status"]["conditions"] = json!([{"type": "Ready", "status": ready}]);
        pod
    }

    #[rstest::rstest]
    #[case::complete(Some(pod("2", "True")), Some("t"), 1, None)]
    #[case::old(Some(pod("1", "True")), Some("t"), 1, Some("Pod w-0-worker-0 has an old template"))]
    #[case::not_ready(Some(pod("2", "False")), Some("t"), 1, Some("Pod w-0-worker-0 is not Ready"))]
    #[case::no_pod(None, Some("t"), 1, Some("PodClique w-0-worker has 0 of 1 pods"))]
    #[case::not_ended(Some(pod("2", "True")), None, 1, Some("updateProgress.updateEndedAt is not set"))]
    #[case::not_counted(Some(pod("2", "True")), Some("t"), 0, Some("updatedReplicas is 0, want 1"))]
    fn what_an_update_lacks_is_described(
        #[case] pod: Option<Value>,
        #[case] ended: Option<&str>,
        #[case] updated: usize,
        #[case] lack: Option<&str>,
    ) {
        let mut pcs = one_clique("w", 1);
        pcs["spec"]["template"]["cliques"][0]["spec"]["podSpec"] = spec("2");
        pcs["status"] = json!({"updatedReplicas": updated, "updateProgress": {"updateEndedAt": ended}});
        let live = Story::flat().added(pcs).all_added(pod).end().end();
        assert_eq!(lacks(&live, "w").as_deref(), lack);
    }
}
