//! A PodCliqueSet of 2 + 2 pods selects a scheduler. Then the case removes the operator's profile of this
//! scheduler. The default scheduler cannot be disabled. On its targets, the PodCliqueSet selects a scheduler
//! that the harness enables but does not run. At the end, 2 pods of the default scheduler must be bound.

use conformance_check::gang_resources::warning_reported;
use conformance_contract::scheduler::EXTERNAL_SCHEDULER;
use conformance_driver::admission_attempts::on;
use conformance_facts::warnings::is_warning;

use crate::backends;
use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Disabling a backend deletes nothing of its PodCliqueSets and is reported")
        .clauses(&[ADM_11, ADM_22, ADM_23])
        .nodes(&[nodes(1)])
        .needs(&[Need::DisableableBackend])
        .isolation(Isolation::Dedicated);

const SET: &str = "disabled";
const ENABLED: &str = "enabled";

marks! {
    DISABLED = "backend disabled";
    /// Before this mark, the case sends no request that changes existing objects.
    STILL_LIVE = "still live";
}

fn disabled(target: Target) -> (&'static str, [Attempt; 1]) {
    match backends::own(target).ok().and_then(|own| own.disabled) {
        Some(attempt) => (target.backend(), [attempt]),
        None => (EXTERNAL_SCHEDULER, [backends::not_enabled(&[EXTERNAL_SCHEDULER, "not enabled"])]),
    }
}

fn set(test: &TestContext) -> Result<Value, Stop> {
    let mut set = test.manifest(SET)?;
    on(&mut set, disabled(test.target).0);
    Ok(set)
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.take_baseline().await?;
    let gangs = test.submit_value(set(test)?).await?;
    match disabled(test.target).0 {
        EXTERNAL_SCHEDULER => test.until_released(&gangs[0]).await?,
        _ => test.until_bound(4).await?,
    }
    test.wait_until_idle().await?;
    restored(test, |test| Box::pin(without_the_profile(test))).await
}

async fn without_the_profile(test: &mut TestContext) -> Result<(), Stop> {
    let (scheduler, attempts) = disabled(test.target);
    let gang = test.base_gang(SET)?;
    let without = test.local()?.spec().controller.without_profile(scheduler);
    test.mark(DISABLED, json!({"profile": scheduler}));
    test.restart_controller(without).await?;
    let is_reported =
        |live: &Live| live.of("Event").any(|event| is_warning(event, &gang.name, SET, scheduler));
    match test.until("an event that reports the disabled backend", REACTION, is_reported).await {
        // After a timeout, the case continues, because the other clauses do not depend on the event.
        Err(Stop::Timeout(_)) => test.mark(SharedMark::ContinuedAfterTimeout, Value::Null),
        reported => reported?,
    }
    test.attempt_dry_creates(&set(test)?, &attempts).await?;
    test.submit(ENABLED).await?;
    let bound = Awaited::demanded_by(AON_01, "the PodCliqueSet of another backend bound");
    test.until(bound, SCHEDULING, |live| {
        let of_enabled = |pod: &Pod<'_>| pod.label(names::PART_OF) == Some(ENABLED) && pod.node().is_some();
        live.pods().filter(of_enabled).count() == 2
    })
    .await?;
    test.mark(STILL_LIVE, Value::Null);
    // ADM-11 is about SET alone. DEL-01 covers the deletion of the other PodCliqueSet.
    test.remove_set(ENABLED).await?;
    test.delete("PodCliqueSet", SET).await?;
    test.until_nothing_left().await
}

fn check(history: &History) -> Vec<Finding> {
    let (scheduler, attempts) = disabled(history.header.target);
    vec![
        finding(ADM_11, || {
            let (disabled, _) = history.reached(DISABLED)?;
            let (end, _) = history.reached(STILL_LIVE)?;
            conformance_check::backends::left_alone(history, SET, disabled..end)?;
            cleanup::nothing_left(history)
        }),
        finding(ADM_22, || {
            let (disabled, _) = history.reached(DISABLED)?;
            warning_reported(history, disabled, &history.base(SET)?.name, SET, scheduler)
        }),
        finding(ADM_23, || {
            history.reached(DISABLED)?;
            answers(history, &attempts.map(|attempt| attempt.answer_only()))
        }),
    ]
}
