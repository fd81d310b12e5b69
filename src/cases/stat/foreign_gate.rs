//! A gang of 1 + 2 pods. The first clique's pod and its replacement have a third party's scheduling gate.

use conformance_check::lifecycle::reasons::{self, Why};
use conformance_contract::names::FOREIGN_GATE;

use crate::prelude::*;

marks! {
    /// The third party's gate is removed from this pod: `{"pod"}`.
    OPENED = "the foreign gate removed";
    BOUND = "all bound again";
}

const SET: &str = "quota";
const HELD: &str = "quota-0-held";

pub(crate) const CASE: Case = case!("A gang waiting for a foreign scheduling gate reports the pod and gate")
    .clauses(&[STAT_09, STAT_15])
    .nodes(&[nodes(1)])
    .isolation(Isolation::Dedicated);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.add_foreign_gate(Some(HELD)).await?;
    test.submit(SET).await?;
    remove_gate_once_reported(test, None).await?;
    test.until_converged(SET).await?;
    let former = test.pods_of(HELD).pop().unwrap_or_default();
    test.force_delete_pod(&former).await?;
    remove_gate_once_reported(test, Some(&former)).await?;
    test.until_converged(SET).await?;
    test.mark(BOUND, Value::Null);
    Ok(())
}

async fn remove_gate_once_reported(test: &TestContext, former: Option<&str>) -> Result<(), Stop> {
    let waiting = |live: &Live| gated_pod(live).filter(|pod| Some(pod.as_str()) != former);
    let alone = Awaited::demanded_by(GANG_07, "a pod with only the foreign scheduling gate");
    test.until(alone, REACTION, |live| waiting(live).is_some()).await?;
    let Some(pod) = test.look(waiting) else { return Ok(()) };
    let history = test.history();
    let gangs = history.gangs(SET).unwrap_or_default();
    let why = Why::Gate { pod: pod.clone(), gate: FOREIGN_GATE };
    let reported = Awaited::demanded_by(STAT_09, "the foreign gate reported");
    test.until(reported, REACTION, |live| {
        gangs.iter().all(|gang| reasons::is_reported(live, &history, gang, &why))
    })
    .await?;
    test.mark(OPENED, json!({"pod": pod}));
    test.patch("Pod", &pod, json!({"spec": {"schedulingGates": null}})).await.map(drop)
}

fn gated_pod(live: &Live) -> Option<String> {
    pods_of(live, HELD).find(|pod| pod.gates() == [FOREIGN_GATE]).map(|pod| pod.name().to_owned())
}

fn at_each_opening(history: &History, rule: impl Fn(&History, &Gang, &Why, usize) -> Ruling) -> Ruling {
    let gangs = history.gangs(SET)?;
    let gang = gangs.first().ok_or_else(|| Broken::NotReached("the PodCliqueSet has no gang".into()))?;
    all(history.marks(OPENED).map(|(opened, mark)| {
        let pod = mark.detail["pod"].as_str().unwrap_or_default().to_owned();
        rule(history, gang, &Why::Gate { pod, gate: FOREIGN_GATE }, opened)
    }))?;
    history.reached(BOUND).map(drop)
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(STAT_09, || {
            at_each_opening(history, |history, gang, why, opened| {
                reasons::reason_reported(&history.upto(opened), gang, why)
            })
        }),
        finding(STAT_15, || at_each_opening(history, reasons::reason_no_longer_reported)),
    ]
}
