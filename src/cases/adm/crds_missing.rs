//! PodCliqueSet `existing`, 2 + 2 pods, runs. Then the case deletes the CRD of its PodGroup and restarts the
//! operator. `late`, 2 pods, needs the CRD. `other`, 2 pods of the default scheduler, does not. A
//! PodCliqueSet is served once its pods are released. The case first restores Volcano's CRD in the version of
//! an older release. If the operator exits without the CRD, the harness restarts it later.

use conformance_check::admission;
use conformance_check::backends::serves;
use conformance_expect as expect;
use conformance_facts::attempts::unanswered;

use super::api_missing::{logged_at_start, named_by_readiness};
use crate::backends::{self, Crd};
use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Gangs are refused without the scheduler's CRD and admitted once it exists")
        .clauses(&[ADM_10, ADM_18, ADM_19, ADM_20, ADM_21])
        .nodes(&[nodes(1)])
        .isolation(Isolation::Dedicated)
        .with(&[Property::CustomResources]);

const EXITED: Code = Code::new("operator-exited-at-start");

const OTHER: &str = "other";

fn needed(target: Target) -> Result<&'static Crd, Broken> {
    let crd = backends::own(target)?.crd.as_ref();
    crd.ok_or_else(|| Broken::NotReached(format!("{target} needs no CRD")))
}

const OTHER_BACKEND: &[Attempt] = &[admitted("a PodCliqueSet of another backend without the CRD", |pcs| {
    pcs["metadata"]["name"] = OTHER.into()
})];
const WHILE_DOWN: &[Attempt] = &[unanswered("a gang while the operator does not run", &[], |_| {})];
const SERVED_AGAIN: &[Attempt] = &[admitted("a gang once the CRD exists again", |_| {})];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("existing").await?;
    test.until_bound(4).await?;
    restored(test, |test| Box::pin(without_the_crd(test))).await?;
    let gangs = test.submit("late").await?;
    test.until_released(&gangs[0]).await.map_err(|stop| stop.owed_by(ADM_21))
}

async fn without_the_crd(test: &mut TestContext) -> Result<(), Stop> {
    // The scheduler and the controller manager hang or miss events when a CRD is deleted. The case stops
    // both, so that only the operator has to find the CRD again.
    test.kill_scheduler().await?;
    test.kill_part(Part::ControllerManager).await?;
    let Ok(needed) = needed(test.target) else { return Ok(()) };
    let crd = test.delete_crd(needed.name).await?;
    let outcome = while_crd_is_missing(test, needed, &crd).await;
    let back = test.apply_crd(&crd).await;
    let is_running = outcome?;
    back?;
    if !is_running {
        return Ok(());
    }
    test.retry_creates_until(&test.manifest("late")?, SERVED_AGAIN, limits::RECOVERY).await?;
    test.record_controller_state().await
}

async fn while_crd_is_missing(test: &mut TestContext, needed: &Crd, crd: &Value) -> Result<bool, Stop> {
    let spec = test.local()?.spec().controller;
    let late = test.manifest("late")?;
    if !test.restart_controller_or_exit(spec).await? {
        test.attempt_creates(&late, WHILE_DOWN).await?;
        return Ok(false);
    }
    test.attempt_creates(&late, &[needed.missing]).await?;
    let other = test.manifest(OTHER)?;
    test.attempt_creates(&other, OTHER_BACKEND).await?;
    test.until_released(&expect::gangs(&other)[0]).await.map_err(|stop| stop.owed_by(ADM_20))?;
    if let Some((field, attempt)) = needed.too_old {
        test.apply_crd(&without_field(crd, field)).await?;
        test.retry_creates_until(&late, &[attempt], limits::RECOVERY).await?;
    }
    Ok(true)
}

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

fn exit(history: &History) -> Option<&str> {
    let (_, controller) = history.reached(SharedMark::Controller).ok()?;
    let exited = &controller.detail["exited"];
    (!exited.is_null()).then(|| text(exited))
}

fn keeps_running(history: &History) -> Ruling {
    exit(history).map_or(Ok(()), |how| {
        let message = format!("the operator {how} when it was started without the CRD, want it to run");
        Err(violation(EXITED, message).into())
    })
}

fn check(history: &History) -> Vec<Finding> {
    let needed = || needed(history.header.target);
    vec![
        finding(ADM_10, || logged_at_start(history, needed()?.name)),
        finding(ADM_18, || {
            let needed = needed()?;
            if exit(history).is_some() {
                return answers(history, WHILE_DOWN);
            }
            let too_old = needed.too_old.map(|(_, attempt)| attempt);
            let refused = [Some(needed.missing), too_old].into_iter().flatten();
            answers(history, &refused.map(Attempt::answer_only).collect::<Vec<_>>())
        }),
        finding(ADM_19, || {
            precondition(ADM_20, keeps_running(history))?;
            named_by_readiness(history, needed()?.name)
        }),
        finding(ADM_20, || {
            keeps_running(history)?;
            answers(history, OTHER_BACKEND)?;
            serves(history, OTHER, "default-scheduler")
        }),
        finding(ADM_21, || {
            precondition(ADM_20, keeps_running(history))?;
            answers(history, SERVED_AGAIN)?;
            admission::one_process(history)?;
            serves(history, "late", history.header.target.backend())
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `logged` is the last log line of an exited operator. `code` answers an attempt to create a gang.
    fn rulings(logged: &str, code: u16) -> Vec<(&'static str, &'static str)> {
        let controller = json!({"exited": "ended with exit status: 5", "said": ["starting", logged]});
        let message = if code == 201 { "" } else { "failed calling webhook: connection refused" };
        let reply =
            json!({"name": "late-x0", "verb": "create", "code": code, "message": message, "warnings": []});
        let history = Story::on(Target::VOLCANO)
            .mark(SharedMark::Controller, controller)
            .mark(SharedMark::Attempt, json!({"title": WHILE_DOWN[0].title, "reply": reply}))
            .end();
        let named = |ruling: &Ruling| match ruling {
            Ok(()) => "satisfied",
            Err(Broken::Violated(_)) => "violated",
            Err(_) => "undecided",
        };
        check(&history).iter().map(|finding| (finding.clause, named(&finding.ruling))).collect()
    }

    #[rstest]
    #[case::as_upstream(
        "failed to get CRD \"podgroups.scheduling.volcano.sh\"",
        500,
        "satisfied",
        "satisfied"
    )]
    #[case::in_silence("exit", 500, "violated", "satisfied")]
    #[case::admitted_meanwhile("no podgroups.scheduling.volcano.sh", 201, "satisfied", "violated")]
    fn an_operator_that_exits_is_judged_by_its_log_and_what_is_admitted(
        #[case] logged: &str,
        #[case] code: u16,
        #[case] log: &str,
        #[case] admission: &str,
    ) {
        let wanted = [
            (ADM_10, log),
            (ADM_18, admission),
            (ADM_19, "undecided"),
            (ADM_20, "violated"),
            (ADM_21, "undecided"),
        ];
        assert_eq!(rulings(logged, code), wanted);
    }

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
