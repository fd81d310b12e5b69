//! `existing`, 2 + 2 pods, runs when the CRD of its PodGroup is deleted and the controller restarted. `late`,
//! 2 pods, is refused until the CRD exists again, without another restart. Volcano's CRD first returns in the
//! version of an older release. `other`, 2 pods of the default scheduler, needs no CRD and is bound
//! meanwhile.

use conformance_check::admission;
use conformance_install::part::Part;

use super::api_missing::{logged_at_start, named_by_readiness};
use crate::backends::{self, Crd};
use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Gangs are refused without the scheduler's CRD and admitted once it exists")
        .clauses(&[ADM_10, ADM_18, ADM_19, ADM_20, ADM_21])
        .nodes(&[nodes(1)])
        .isolation(Isolation::Dedicated)
        .with(&[Property::CustomResources]);

const OTHER: &str = "other";

fn needed(target: Target) -> Result<&'static Crd, Broken> {
    let crd = backends::own(target)?.crd.as_ref();
    crd.ok_or_else(|| Broken::NotReached(format!("{target} needs no CRD")))
}

const OTHER_BACKEND: &[Attempt] = &[admitted("a PodCliqueSet of another backend without the CRD", |pcs| {
    pcs["metadata"]["name"] = OTHER.into()
})];
const SERVED_AGAIN: &[Attempt] = &[admitted("a gang once the CRD exists again", |_| {})];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("existing").await?;
    test.until_bound(4).await?;
    restored(test, |test| Box::pin(without_the_crd(test))).await?;
    test.submit("late").await?;
    until_bound(test, "late").await.map_err(|stop| stop.owed_by(ADM_21))
}

async fn without_the_crd(test: &mut TestContext) -> Result<(), Stop> {
    // The scheduler and the controller manager hang or miss events when a CRD is deleted. The case stops
    // both, so that only the controller has to find the CRD again.
    test.kill_scheduler().await?;
    test.kill_part(Part::ControllerManager).await?;
    let Ok(needed) = needed(test.target) else { return Ok(()) };
    let crd = test.delete_crd(needed.name).await?;
    let outcome = while_crd_is_missing(test, needed, &crd).await;
    let back = test.apply_crd(&crd).await;
    outcome.and(back)?;
    test.retry_creates_until(&test.manifest("late")?, SERVED_AGAIN, limits::RECOVERY).await?;
    test.record_controller_state().await
}

async fn while_crd_is_missing(test: &mut TestContext, needed: &Crd, crd: &Value) -> Result<(), Stop> {
    let spec = test.local()?.spec().controller;
    test.restart_controller(spec).await?;
    let late = test.manifest("late")?;
    test.attempt_creates(&late, &[needed.missing]).await?;
    let other = test.manifest(OTHER)?;
    test.attempt_creates(&other, OTHER_BACKEND).await?;
    until_bound(test, OTHER).await.map_err(|stop| stop.owed_by(ADM_20))?;
    if let Some((field, attempt)) = needed.too_old {
        test.apply_crd(&without_field(crd, field)).await?;
        test.retry_creates_until(&late, &[attempt], limits::RECOVERY).await?;
    }
    Ok(())
}

/// The CRD without this field of `spec`, in all versions.
fn without_field(crd: &Value, field: &str) -> Value {
    let mut crd = crd.clone();
    for version in crd["spec"]["versions"].as_array_mut().into_iter().flatten() {
        let spec = &mut version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
        if let Some(properties) = spec.as_object_mut() {
            properties.remove(field);
        }
    }
    crd
}

async fn until_bound(test: &TestContext, set: &str) -> Result<(), Stop> {
    let of_set = |pod: &Pod<'_>| pod.label(names::PART_OF) == Some(set) && pod.node().is_some();
    let condition = format!("2 pods of PodCliqueSet {set} bound");
    test.until(&condition, limits::SCHEDULING, |live| live.pods().filter(of_set).count() == 2).await
}

fn check(history: &History) -> Vec<Finding> {
    let needed = || needed(history.header.target);
    vec![
        finding(ADM_10, || logged_at_start(history, needed()?.name)),
        finding(ADM_18, || {
            let needed = needed()?;
            let too_old = needed.too_old.map(|(_, attempt)| attempt);
            let refused = [Some(needed.missing), too_old].into_iter().flatten();
            answers(history, &refused.map(Attempt::answer_only).collect::<Vec<_>>())
        }),
        finding(ADM_19, || named_by_readiness(history, needed()?.name)),
        finding(ADM_20, || {
            answers(history, OTHER_BACKEND)?;
            conformance_check::backends::serves(history, OTHER, "default-scheduler")
        }),
        finding(ADM_21, || {
            answers(history, SERVED_AGAIN)?;
            admission::one_process(history)?;
            bound(history, "late")
        }),
    ]
}

fn bound(history: &History, set: &str) -> Ruling {
    binding::whole(&history.end(), &history.units(set)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_older_crd_lacks_one_field() {
        let crd_with = |fields: Value| {
            json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": {"properties": {
            "spec": {"properties": fields}}}}}]}})
        };
        let now = crd_with(json!({"minMember": {}, "subGroupPolicy": {}}));
        assert_eq!(without_field(&now, "subGroupPolicy"), crd_with(json!({"minMember": {}})));
    }
}
