//! 2 nodes x 8 GPUs; 2 pods x 8 GPUs of a gang resource that does not exist yet. The harness creates both,
//! because an operator releases pods only after their gang resource exists.

use conformance_check::wake_up;
use conformance_history::list;
use http::Method;

use crate::prelude::*;

marks! {
    /// The names of the waiting pods: `{"pods"}`.
    CREATED = "the gang resource is created";
    BOUND = "the pods of the gang resource are bound";
}

pub(crate) const CASE: Case = case!("A waiting gang is bound soon after its gang resource is created")
    .clauses(&[WAKE_11])
    .nodes(&[nodes(2).gpus(8)])
    .except(Scheduler::KOORDINATOR);

pub(super) async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    // KAI identifies a PodGroup by its name alone.
    let gang = test.domain("late");
    let pods = [0, 1].map(|index| format!("{gang}-{index}"));
    let outcome = resource_after_pods(test, &gang, &pods).await;
    // No PodCliqueSet owns these pods, and they would keep their nodes occupied.
    for pod in &pods {
        test.attempt(Method::DELETE, "Pod", pod, &Value::Null).await?;
    }
    outcome
}

async fn resource_after_pods(test: &mut TestContext, gang: &str, pods: &[String; 2]) -> Result<(), Stop> {
    let (of_pods, resources): (Vec<_>, Vec<_>) = schedulers::of(test.target)
        .plain_gang(gang, pods.len())
        .into_iter()
        .partition(|(kind, _)| *kind == "Pod");
    for (kind, pod) in of_pods {
        for name in pods {
            test.create(kind, &placed(pod.clone(), name, &test.namespace)).await?;
        }
    }
    test.scheduler_passes().await?;
    test.mark(CREATED, json!({"pods": pods}));
    for (kind, mut resource) in resources {
        resource["metadata"]["labels"][names::CANARY] = "true".into();
        test.create(kind, &resource).await?;
    }
    let bound = |live: &Live| pods.iter().all(|name| is_bound(live, name));
    test.until(Awaited::demanded_by(WAKE_11, "the pods bound"), SCHEDULING, bound).await?;
    test.mark(BOUND, Value::Null);
    Ok(())
}

/// Places the pod on the case's nodes. Its label excludes it from the checks of an operator.
fn placed(mut pod: Value, name: &str, pool: &str) -> Value {
    pod["metadata"]["name"] = name.into();
    pod["metadata"]["labels"][names::CANARY] = "true".into();
    pod["spec"]["nodeSelector"] = json!({names::POOL: pool});
    pod["spec"]["tolerations"] = json!([{"key": names::POOL, "value": pool, "effect": "NoSchedule"}]);
    pod["spec"]["containers"] = json!([{
        "name": "worker", "image": "registry.k8s.io/pause:3.10", "resources": {"limits": {names::GPU: "8"}},
    }]);
    pod
}

fn is_bound(live: &Live, pod: &str) -> bool {
    live.get("Pod", pod).is_some_and(|pod| Pod(pod).node().is_some())
}

pub(super) fn check(history: &History) -> Vec<Finding> {
    vec![finding(WAKE_11, || {
        let (created, mark) = history.reached(CREATED)?;
        let pods: Vec<_> = list(&mark.detail["pods"]).iter().map(text).collect();
        let before = history.before(created);
        if let Some(early) = pods.iter().find(|name| is_bound(&before, name)) {
            return Err(Broken::NotReached(format!("Pod {early} was bound without its gang resource")));
        }
        history.at(BOUND, |bound| wake_up::are_bound_soon(&history.upto(bound), &pods, created))
    })]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruling(early: usize, late: usize) -> Ruling {
        let bind = |story: Story, count: usize| {
            ["a", "b"][..count].iter().fold(story, |story, name| {
                let mut bound = object("Pod", name);
                bound["spec"]["nodeName"] = "n".into();
                story.modified(bound)
            })
        };
        let waiting = Story::flat().added(object("Pod", "a")).added(object("Pod", "b"));
        let created = bind(waiting, early).mark(CREATED, json!({"pods": ["a", "b"]}));
        let bound = bind(created, late).mark(BOUND, Value::Null);
        check(&bound.deleted(object("Pod", "a")).end()).remove(0).ruling
    }

    #[test]
    fn all_pods_are_bound_after_their_gang_resource_is_created() {
        assert_eq!(ruling(0, 2), Ok(()));
        assert!(matches!(ruling(0, 1), Err(Broken::Violated(_))), "one pod was not tried again");
        assert!(matches!(ruling(1, 2), Err(Broken::NotReached(_))), "one pod did not wait");
    }
}
