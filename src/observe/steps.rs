//! What drivers do with gangs of plain pods. A timeout of a wait is not a failure.

use std::ops::Range;
use std::time::Duration;

use conformance_contract::names;
use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits::{self, Limit};
use conformance_expect::schedulers;
use conformance_history::{Live, SharedMark, counted_pods};
use serde_json::{Value, json};

use crate::plain_gang::PlainGang;
use crate::seen::{self, CHANGED, OBSERVED, REPLIED, UNSUPPORTED};

/// The label of a pod with its index, for affinity.
pub(crate) const MEMBER: &str = "conformance.grove.io/member";

pub(crate) async fn submit(test: &TestContext, gang: &PlainGang, pods: usize) -> Result<(), Stop> {
    create_resource(test, gang, |_| {}).await?;
    create_pods(test, gang, 0..pods).await
}

/// Submits a gang that does not fit, and waits for a full pass of the scheduler.
pub(crate) async fn submit_waiting(
    test: &mut TestContext,
    gang: &PlainGang,
    pods: usize,
) -> Result<(), Stop> {
    submit(test, gang, pods).await?;
    full_pass(test).await
}

pub(crate) async fn submit_copies(test: &TestContext, gang: &PlainGang, copies: usize) -> Result<(), Stop> {
    for copy in 0..copies {
        submit(test, &gang.copy(copy), gang.minimum).await?;
    }
    Ok(())
}

pub(crate) async fn submit_bound(test: &TestContext, gang: &PlainGang, pods: usize) -> Result<(), Stop> {
    submit(test, gang, pods).await?;
    until_bound(test, gang, pods).await
}

pub(crate) async fn create_resource(
    test: &TestContext,
    gang: &PlainGang,
    edit: impl FnOnce(&mut Value),
) -> Result<Value, Stop> {
    let (kind, mut resource) = part(test, gang, |kind| kind != "Pod")?;
    resource["metadata"]["labels"][names::GANG] = gang.name.into();
    edit(&mut resource);
    test.create(kind, &resource).await
}

/// The question is about `field`. If the API server drops it, the question does not apply.
pub(crate) async fn create_resource_with(
    test: &TestContext,
    gang: &PlainGang,
    field: &str,
    value: Value,
) -> Result<(), Stop> {
    let stored = create_resource(test, gang, |resource| resource["spec"][field] = value).await?;
    let Some(reason) = lacks(&stored, field) else { return Ok(()) };
    test.mark(UNSUPPORTED, json!({"reason": reason}));
    Err(Stop::Refused { action: "create the gang resource".into(), reason })
}

/// The API server drops unknown fields, and fields whose feature gate is off.
fn lacks(stored: &Value, field: &str) -> Option<String> {
    let is_dropped = stored["spec"][field].is_null();
    is_dropped.then(|| {
        format!("its gang resource has no field {field} in this version, or the field's gate is off")
    })
}

pub(crate) async fn create_pods(
    test: &TestContext,
    gang: &PlainGang,
    indices: Range<usize>,
) -> Result<(), Stop> {
    for index in indices {
        create_pod(test, gang, index, |_| {}).await?;
    }
    Ok(())
}

pub(crate) async fn create_pod(
    test: &TestContext,
    gang: &PlainGang,
    index: usize,
    edit: impl FnOnce(&mut Value),
) -> Result<(), Stop> {
    let (kind, mut pod) = part(test, gang, |kind| kind == "Pod")?;
    pod["metadata"]["name"] = pod_name(test, gang, index).into();
    pod["metadata"]["labels"][names::GANG] = gang.name.into();
    pod["metadata"]["labels"][MEMBER] = index.to_string().into();
    let gpus = json!({names::GPU: gang.gpus.to_string()});
    let spec = &mut pod["spec"];
    spec["containers"] = json!([{
        "name": "worker", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": gpus, "limits": gpus},
    }]);
    spec["nodeSelector"] = json!({names::POOL: test.namespace});
    spec["tolerations"] = json!([{"key": names::POOL, "value": test.namespace, "effect": "NoSchedule"}]);
    spec["terminationGracePeriodSeconds"] = 0.into();
    edit(&mut pod);
    test.create(kind, &pod).await.map(drop)
}

pub(crate) fn gated(pod: &mut Value) {
    pod["spec"]["schedulingGates"] = json!([{"name": names::FOREIGN_GATE}]);
}

pub(crate) async fn remove_gate(test: &TestContext, gang: &PlainGang, index: usize) -> Result<(), Stop> {
    let change = json!({"spec": {"schedulingGates": null}});
    test.patch("Pod", &pod_name(test, gang, index), change).await.map(drop)
}

/// A pod with this finalizer stays Terminating on its node after its deletion, until [`release`].
const FINALIZER: &str = "example.com/keep";

pub(crate) fn kept(pod: &mut Value) {
    pod["metadata"]["finalizers"] = json!([FINALIZER]);
}

pub(crate) async fn release(test: &TestContext, gang: &PlainGang, index: usize) -> Result<(), Stop> {
    let change = json!({"metadata": {"finalizers": null}});
    test.patch("Pod", &pod_name(test, gang, index), change).await.map(drop)
}

/// Deletes the pod at an index without grace, and waits until the history shows it.
pub(crate) async fn lose_pod(test: &TestContext, gang: &PlainGang, index: usize) -> Result<(), Stop> {
    test.force_delete_pod(&pod_name(test, gang, index)).await
}

pub(crate) async fn delete_resource(test: &TestContext, gang: &PlainGang) -> Result<(), Stop> {
    let (kind, _) = part(test, gang, |kind| kind != "Pod")?;
    test.delete(kind, &own_name(test, gang)).await
}

/// Sets the spec of the gang resource to that of `gang`, and records whether the API server accepts it.
pub(crate) async fn change_spec(test: &TestContext, gang: &PlainGang) -> Result<(), Stop> {
    let (kind, resource) = part(test, gang, |kind| kind != "Pod")?;
    changed(test);
    let reply = test.patch(kind, &own_name(test, gang), json!({"spec": resource["spec"]})).await;
    record_reply(test, reply.map(drop))
}

/// Deletes the gang resource, creates it again at once, and records whether the API server accepts that.
pub(crate) async fn recreate_resource(test: &TestContext, gang: &PlainGang) -> Result<(), Stop> {
    changed(test);
    delete_resource(test, gang).await?;
    let reply = create_resource(test, gang, |_| {}).await;
    record_reply(test, reply.map(drop))
}

fn record_reply(test: &TestContext, reply: Result<(), Stop>) -> Result<(), Stop> {
    let refusal = match reply {
        Ok(()) => Value::Null,
        Err(Stop::Refused { reason, .. }) => reason.into(),
        Err(stop) => return Err(stop),
    };
    test.mark(REPLIED, json!({"refusal": refusal}));
    Ok(())
}

/// Creates a priority class that only this run uses, and returns its name once admission knows it.
pub(crate) async fn priority_class(test: &TestContext) -> Result<String, Stop> {
    let class = test.namespace.clone();
    let object = json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": class, "labels": {names::RUN: test.test_cluster.run}}, "value": 1000,
    });
    test.apply_companion(object).await?;
    let probe = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"}, "spec": {
            "priorityClassName": class, "schedulingGates": [{"name": names::FOREIGN_GATE}],
            "containers": [{"name": "pause", "image": "registry.k8s.io/pause:3.10"}],
        },
    });
    let known = Awaited::of_harness(format!("the priority class {class} known to admission"));
    test.poll_until(known, limits::REACTION, || async {
        match test.create("Pod", &probe).await {
            Ok(_) => Ok(Some(())),
            Err(Stop::Refused { .. }) => Ok(None),
            Err(stop) => Err(stop),
        }
    })
    .await?;
    test.delete("Pod", "probe").await?;
    Ok(class)
}

/// Waits until a new object has a later creation time than the existing ones. Creation times have a
/// resolution of one second. Volcano and KAI order gangs of the same age by name, and KAI pods by UID.
pub(crate) async fn next_second(test: &TestContext) -> Result<(), Stop> {
    test.watch_for(Duration::from_secs(1)).await
}

pub(crate) fn changed(test: &TestContext) {
    test.mark(CHANGED, Value::Null);
}

/// Waits until this number of pods is bound. Without them the observation has no answer.
pub(crate) async fn until_bound(test: &TestContext, gang: &PlainGang, count: usize) -> Result<(), Stop> {
    let state = Awaited::of_harness(format!("{} of gang {} bound", counted_pods(count), gang.name));
    test.until(state, limits::SCHEDULING, |live| seen::bound(live, gang) >= count).await
}

/// Waits for a full pass of the scheduler, and until the history has all objects that it wrote.
pub(crate) async fn full_pass(test: &mut TestContext) -> Result<(), Stop> {
    test.scheduler_passes().await?;
    // The canaries are pods, so the watches of other kinds may lag behind.
    test.caught_up().await
}

/// Waits for a state, at most for the time of another try. A [`full_pass`] follows.
pub(crate) async fn settle(
    test: &mut TestContext,
    state: &str,
    is_reached: impl Fn(&Live) -> bool,
) -> Result<(), Stop> {
    try_until(test, state, limits::ANOTHER_TRY, is_reached).await?;
    full_pass(test).await
}

pub(crate) async fn try_until(
    test: &TestContext,
    state: &str,
    limit: Limit,
    is_reached: impl Fn(&Live) -> bool,
) -> Result<(), Stop> {
    match test.until(Awaited::of_harness(state), limit, is_reached).await {
        // On a machine that was too slow to decide, the timeout proves nothing.
        Err(Stop::Timeout(timeout)) if timeout.too_slow.is_none() => {
            test.mark(SharedMark::ContinuedAfterTimeout, Value::Null);
            Ok(())
        }
        ended => ended,
    }
}

/// Like [`settle`], and sets the mark at which the question is answered.
pub(crate) async fn observe(
    test: &mut TestContext,
    state: &str,
    is_reached: impl Fn(&Live) -> bool,
) -> Result<(), Stop> {
    settle(test, state, is_reached).await?;
    test.mark(OBSERVED, Value::Null);
    Ok(())
}

/// Like [`observe`], for the state that the pods at these indices are bound.
pub(crate) async fn observe_bound(
    test: &mut TestContext,
    gang: &PlainGang,
    indices: Range<usize>,
) -> Result<(), Stop> {
    let state = format!("pods {indices:?} of gang {} bound", gang.name);
    observe(test, &state, |live| indices.clone().all(|index| seen::is_bound(live, gang, index))).await
}

pub(crate) async fn observe_replacement(
    test: &mut TestContext,
    gang: &PlainGang,
    index: usize,
) -> Result<(), Stop> {
    create_pods(test, gang, index..index + 1).await?;
    observe_bound(test, gang, index..index + 1).await
}

pub(crate) fn pod_name(test: &TestContext, gang: &PlainGang, index: usize) -> String {
    format!("{}-{index}", own_name(test, gang))
}

pub(crate) fn own_name(test: &TestContext, gang: &PlainGang) -> String {
    let name = unique(gang.name, &test.namespace);
    match gang.copy {
        Some(copy) => format!("{name}-{copy}"),
        None => name,
    }
}

/// KAI identifies a PodGroup by its name alone, so the name is unique in the cluster.
fn unique(name: &str, namespace: &str) -> String {
    // A namespace ends with the run's id and a number.
    let mut parts = namespace.rsplitn(3, '-');
    let (number, run) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    format!("{name}-{run}-{number}")
}

fn part(
    test: &TestContext,
    gang: &PlainGang,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<(&'static str, Value), Stop> {
    let parts = schedulers::of(test.target).plain_gang(&own_name(test, gang), gang.minimum);
    parts.into_iter().find(|(kind, _)| is_wanted(kind)).ok_or_else(|| Stop::Refused {
        action: format!("create gang {}", gang.name),
        reason: "only an operator can create a gang of this scheduler".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gangs_of_two_rounds_have_different_names() {
        assert_eq!(unique("raised", "bound-minimum-raised-1f2e3d-4"), "raised-1f2e3d-4");
        assert_eq!(unique("raised", "bound-minimum-raised-1f2e3d-51"), "raised-1f2e3d-51");
    }

    #[test]
    fn a_field_that_the_api_server_drops_is_found() {
        assert_eq!(lacks(&json!({"spec": {"queue": "a"}}), "queue"), None);
        let reason = lacks(&json!({"spec": {"minMember": 2}}), "queue").unwrap();
        assert!(reason.contains("no field queue"), "{reason}");
    }
}
