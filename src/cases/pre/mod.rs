pub(crate) mod class_replaced;
pub(crate) mod does_not_fit_anyway;
pub(crate) mod higher_priority_gang;
pub(crate) mod never;
pub(crate) mod no_rack_has_room;
pub(crate) mod reclaim;
pub(crate) mod room_kept;
pub(crate) mod surplus_evicts_nobody;

use conformance_check::preemption::Victim;
use conformance_facts::binding::not_fully_bound;

use crate::prelude::*;

struct Class {
    /// The name without the namespace of the case.
    name: &'static str,
    value: u32,
    policy: &'static str,
}

/// KAI evicts no gang with a value of 100 or more, and no canary, because gangs without a class get 50.
const LOW: Class = Class { name: "low", value: 20, policy: "PreemptLowerPriority" };
const HIGH: Class = Class { name: "high", value: 40, policy: "PreemptLowerPriority" };
const NEVER: Class = Class { name: "never", value: 40, policy: "Never" };

async fn begin(test: &TestContext) -> Result<(), Stop> {
    for class in [LOW, HIGH, NEVER] {
        let object = json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": class_name(test, &class)},
            "value": class.value, "preemptionPolicy": class.policy,
        });
        test.apply_companion(object).await?;
    }
    test.enable_preemption().await
}

/// PriorityClasses are cluster-scoped, so their names contain the namespace of the case.
fn class_name(test: &TestContext, class: &Class) -> String {
    format!("{}-{}", test.namespace, class.name)
}

async fn submit(test: &mut TestContext, set: &str, class: &Class) -> Result<Gang, Stop> {
    let mut pcs = test.manifest(set)?;
    pcs["spec"]["template"]["priorityClassName"] = class_name(test, class).into();
    submit_value(test, set, pcs).await
}

async fn submit_value(test: &mut TestContext, set: &str, pcs: Value) -> Result<Gang, Stop> {
    let mut gangs = test.submit_value(pcs).await?;
    gangs.pop().ok_or_else(|| Stop::Refused {
        action: format!("find the PodGang of PodCliqueSet {set}"),
        reason: "it has no PodGang".into(),
    })
}

async fn submit_and_wait(test: &mut TestContext, set: &str, class: &Class) -> Result<(), Stop> {
    let gang = submit(test, set, class).await?;
    test.scheduler_passes_over(&gang).await
}

async fn submit_and_bind(test: &mut TestContext, set: &str, class: &Class) -> Result<(), Stop> {
    let gang = submit(test, set, class).await?;
    let bound = Awaited::demanded_by(PRE_01, format!("the pods of PodCliqueSet {set} bound"));
    until_whole(test, bound, &gang).await
}

async fn until_whole(test: &TestContext, awaited: Awaited<'_>, gang: &Gang) -> Result<(), Stop> {
    let units = gang.units(test.target);
    test.until(awaited, SCHEDULING, |live| not_fully_bound(live, &units).next().is_none()).await
}

/// All pods of the victim were bound at mark `arrived`.
fn victim<'a>(history: &'a History, set: &str, arrived: MarkName) -> Result<Victim<'a>, Broken> {
    let (since, _) = history.reached(arrived)?;
    let units = history.units(set)?;
    precondition(AON_01, binding::whole(&history.before(since), &units))?;
    Ok(Victim::of(history, units, since))
}
