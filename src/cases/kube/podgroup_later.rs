//! 2 nodes x 8 GPUs; 2 pods x 8 GPUs of a PodGroup that does not exist yet. The harness creates the pods,
//! because an operator may refuse pods with a scheduling group (KUBE-15).

use conformance_history::Version;
use http::Method;

use crate::prelude::*;

const BOUND_BEFORE_GROUP: Code = Code::new("bound-before-group");
const UNBOUND_WITH_GROUP: Code = Code::new("unbound-with-group");

pub(crate) const CASE: Case =
    case!("Pods that the scheduler sees before their PodGroup are bound once it exists")
        .clauses(&[KUBE_14])
        .nodes(&[nodes(2).gpus(8)]);

const PODS: [&str; 2] = ["early-0", "early-1"];
const GROUP: &str = "late";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let outcome = group_after_pods(test).await;
    // No PodCliqueSet owns these pods, so nothing else deletes them and frees their nodes.
    for name in PODS {
        test.attempt(Method::DELETE, "Pod", name, &Value::Null).await?;
    }
    outcome
}

async fn group_after_pods(test: &mut TestContext) -> Result<(), Stop> {
    for name in PODS {
        test.create("Pod", &pod(name, &test.namespace)).await?;
    }
    test.scheduler_passes().await?;
    let late = json!({
        "metadata": {"name": GROUP},
        "spec": {"schedulingPolicy": {"gang": {"minCount": PODS.len()}}},
    });
    test.create("PodGroup", &late).await?;
    test.until_bound(PODS.len()).await
}

fn pod(name: &str, pool: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "schedulerName": Scheduler::KUBE.name(),
            "schedulingGroup": {"podGroupName": GROUP},
            "nodeSelector": {names::POOL: pool},
            "tolerations": [{"key": names::POOL, "value": pool, "effect": "NoSchedule"}],
            "terminationGracePeriodSeconds": 0,
            "containers": [{
                "name": "worker",
                "image": "registry.k8s.io/pause:3.10",
                "resources": {"limits": {names::GPU: "8"}},
            }],
        },
    })
}

/// `passed` is the index of an entry; the PodGroup is created later.
fn bound_with_their_group(history: &History, passed: usize) -> Ruling {
    let bound: Vec<Version<'_>> = binding::bindings(history).collect();
    let early = bound.iter().filter(|version| version.index < passed);
    none(early.map(|version| {
        violation(
            BOUND_BEFORE_GROUP,
            format!("Pod {} was bound before PodGroup {GROUP} existed", version.name()),
        )
        .shown_by("bound", *version)
    }))?;
    if history.named("PodGroup", GROUP).next().is_none() {
        return Err(Broken::NotReached(format!("PodGroup {GROUP} was never created")));
    }
    let left = PODS.into_iter().filter(|name| bound.iter().all(|version| version.name() != *name));
    none(left.map(|name| {
        let found = violation(
            UNBOUND_WITH_GROUP,
            format!("Pod {name} was not bound after PodGroup {GROUP} was created"),
        );
        let last = history.named("Pod", name).last();
        last.into_iter().fold(found, |found, version| found.shown_by("not bound", version))
    }))
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KUBE_14, || {
        let (passed, _) = history.reached(SharedMark::SchedulerPassed)?;
        bound_with_their_group(history, passed)
    })]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(name: &str, node: &str) -> Value {
        let mut pod = pod(name, "ns");
        pod["spec"]["nodeName"] = node.into();
        pod
    }

    fn ruling(early: usize, has_group: bool, late: usize) -> Ruling {
        let waiting = Story::flat().all_added(PODS.map(|name| pod(name, "ns")));
        let bind = |story: Story, count: usize| {
            PODS[..count].iter().fold(story, |story, name| story.modified(on(name, "n")))
        };
        let passed = bind(waiting, early).mark(SharedMark::SchedulerPassed, Value::Null);
        let grouped = if has_group { passed.added(object("PodGroup", GROUP)) } else { passed };
        check(&bind(grouped, late).end()).remove(0).ruling
    }

    #[test]
    fn pods_are_bound_when_their_group_appears() {
        assert_eq!(ruling(0, true, 2), Ok(()));
        assert!(matches!(ruling(0, true, 1), Err(Broken::Violated(_))), "one was not tried again");
        assert!(matches!(ruling(0, true, 0), Err(Broken::Violated(_))), "none was");
        assert!(matches!(ruling(1, true, 2), Err(Broken::Violated(_))), "one was bound without its group");
        assert!(matches!(ruling(0, false, 0), Err(Broken::NotReached(_))));
    }

    #[test]
    fn pods_deleted_after_their_binding_count_as_bound() {
        let bound = PODS.map(|name| on(name, "n"));
        let waiting = Story::flat().all_added(PODS.map(|name| pod(name, "ns")));
        let passed = waiting.mark(SharedMark::SchedulerPassed, Value::Null).added(object("PodGroup", GROUP));
        let story = bound.iter().cloned().fold(passed, Story::modified);
        let history = bound.into_iter().fold(story, Story::deleted).end();
        assert_eq!(check(&history).remove(0).ruling, Ok(()));
    }

    #[test]
    fn pods_of_an_operator_are_ignored() {
        let mut foreign = on("brought-0-worker-x", "n");
        foreign["spec"]["schedulingGroup"] = Value::Null;
        let waiting = Story::flat().all_added(PODS.map(|name| pod(name, "ns")));
        let passed = waiting.mark(SharedMark::SchedulerPassed, Value::Null).added(object("PodGroup", GROUP));
        let story = passed.added(foreign).all_added(PODS.map(|name| on(name, "n")));
        assert_eq!(check(&story.end()).remove(0).ruling, Ok(()));
    }
}
