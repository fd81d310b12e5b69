//! `HeldByStartupOrder` lets users distinguish waiting pods from broken pods (START-09).

use std::sync::Arc;

use grove_api::names::CONDITION_HELD_BY_STARTUP_ORDER;
use grove_api::{PodClique, PodCliqueSet};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;

use crate::cache::caches::Caches;
use crate::cache::observed_pod::{ContainerStatus, Pod};
use crate::cache::pods::{is_bound, is_former, is_live, is_ready, own_pods};
use crate::plan::conditions::ConditionUpdate;
use crate::plan::startup_parents::awaited;

pub(super) fn condition(
    caches: &Caches,
    pcs: &PodCliqueSet,
    pclq: &PodClique,
    pods: &[Arc<Pod>],
    before: &[Condition],
) -> Option<ConditionUpdate> {
    let mut waiting = pods.iter().filter(|pod| is_live(pod) && is_bound(pod) && !has_started(pod));
    let unready = waiting.next().map(|_| unready_parents(caches, pcs, pclq)).unwrap_or_default();
    let is_held = !unready.is_empty();
    let is_known = before.iter().any(|known| known.type_ == CONDITION_HELD_BY_STARTUP_ORDER);
    let (reason, message) = match is_held {
        true => ("ParentsNotReady", format!("containers wait for other PodCliques: {}", unready.join(", "))),
        false => ("NotHeld", "no container waits for pods of other PodCliques".to_owned()),
    };
    let condition = ConditionUpdate {
        type_: CONDITION_HELD_BY_STARTUP_ORDER,
        status: Some(is_held),
        reason: reason.into(),
        message,
    };
    (is_held || is_known).then_some(condition)
}

fn unready_parents(caches: &Caches, pcs: &PodCliqueSet, pclq: &PodClique) -> Vec<String> {
    let unready = awaited(caches, pcs, pclq).into_iter().filter_map(|parent| {
        let found = caches.pod_cliques.get(pclq.namespace().as_deref(), &parent.name);
        let ready = found.map_or(0, |found| ready_pods(caches, pcs, &found));
        let is_unready = ready < usize::try_from(parent.ready).unwrap_or(0);
        is_unready.then(|| format!("{} has {ready} of {} pods Ready", parent.name, parent.ready))
    });
    unready.collect()
}

fn ready_pods(caches: &Caches, pcs: &PodCliqueSet, pclq: &PodClique) -> usize {
    let generation = caches.generation_of(pcs, pclq);
    let pods = own_pods(caches, pclq).into_iter();
    pods.filter(|pod| is_live(pod) && is_ready(pod) && !is_former(pod, generation)).count()
}

fn has_started(pod: &Pod) -> bool {
    let containers = pod.status.as_ref().and_then(|status| status.container_statuses.as_deref());
    let has_run = |container: &ContainerStatus| {
        let mut states = [&container.state, &container.last_state].into_iter().flatten();
        states.any(|state| state.running.is_some() || state.terminated.is_some())
    };
    is_ready(pod) || containers.unwrap_or_default().iter().any(has_run)
}

#[cfg(test)]
mod tests {
    use grove_api::names::{LABEL_PART_OF, LABEL_PCS_REPLICA_INDEX, LABEL_POD_CLIQUE};
    use kube::runtime::watcher::Event;
    use serde_json::{Value, json};

    use super::*;
    use crate::context::test_api::{World, owned_by};
    use crate::plan::conditions;

    fn owned(kind: &str, name: &str, owner: (&str, &str), clique: &str) -> Value {
        json!({
            "metadata": {
                "name": name, "namespace": "ns", "uid": format!("uid-of-{name}"),
                "labels": {LABEL_PART_OF: "wl", LABEL_PCS_REPLICA_INDEX: "0", LABEL_POD_CLIQUE: clique},
                "ownerReferences": owned_by(owner.0, owner.1),
            },
            "kind": kind, "spec": {"podSpec": {}, "replicas": 2, "containers": [], "nodeName": "n"},
        })
    }

    /// The clique waits for 2 pods; `ready` pods are Ready. `own` is the state of the clique's pod.
    fn reported(ready: usize, own: Value, before: &[Condition]) -> Option<Condition> {
        let mut world = World::new();
        let pcs = json!({"metadata": {"name": "wl", "namespace": "ns", "uid": "uid-of-wl"}, "spec": {"replicas": 1, "template": {
            "cliqueStartupType": "CliqueStartupTypeInOrder",
            "cliques": [{"name": "a", "spec": {"podSpec": {}, "replicas": 3, "minAvailable": 2}},
                        {"name": "b", "spec": {"podSpec": {}, "replicas": 1}}],
        }}});
        let pcs: PodCliqueSet = serde_json::from_value(pcs).unwrap();
        world.feeds.pod_clique_sets.take(Event::Apply(pcs.clone()));
        let cliques = ["wl-0-a", "wl-0-b"].map(|name| {
            serde_json::from_value::<PodClique>(owned("PodClique", name, ("PodCliqueSet", "wl"), name))
                .unwrap()
        });
        for clique in &cliques {
            world.feeds.pod_cliques.take(Event::Apply(clique.clone()));
        }
        for index in 0..ready {
            let mut pod = owned("Pod", &format!("p{index}"), ("PodClique", "wl-0-a"), "wl-0-a");
            pod["status"] = json!({"conditions": [{"type": "Ready", "status": "True"}]});
            world.feeds.pods.apply(pod);
        }
        let mut pod = owned("Pod", "c", ("PodClique", "wl-0-b"), "wl-0-b");
        pod["spec"]["nodeName"] = own["node"].clone();
        pod["status"] = own["status"].clone();
        let pod = Arc::new(serde_json::from_value(pod).unwrap());
        let update = condition(&world.context.caches, &pcs, &cliques[1], &[pod], before)?;
        conditions::with(before.to_vec(), update, None).pop()
    }

    #[tokio::test]
    async fn a_wait_is_reported_until_enough_parents_are_ready() {
        let held = |ready: usize, own: Value| reported(ready, own, &[]).map(|found| found.message);
        let bound = json!({"node": "n", "status": {}});
        let message = |ready: usize| {
            Some(format!("containers wait for other PodCliques: wl-0-a has {ready} of 2 pods Ready"))
        };
        assert_eq!((held(0, bound.clone()), held(1, bound.clone())), (message(0), message(1)));
        assert_eq!(held(2, bound.clone()), None, "no wait was reported before");
        let before: Vec<_> = reported(1, bound.clone(), &[]).into_iter().collect();
        let after = reported(2, bound, &before).unwrap();
        assert_eq!((after.status.as_str(), after.message.contains("wl-0-a")), ("False", false));
    }

    #[tokio::test]
    async fn unbound_and_started_pods_do_not_wait() {
        let crashed = json!({"containerStatuses": [
            {"name": "m", "ready": false, "restartCount": 1, "image": "", "imageID": "", "lastState": {"terminated": {"exitCode": 1}}},
        ]});
        assert_eq!(reported(0, json!({"node": null, "status": {}}), &[]), None);
        assert_eq!(reported(0, json!({"node": "n", "status": crashed}), &[]), None);
    }
}
