//! 1 node x 8 GPUs; a clique of 3 pods (minimum 2) with OnDelete; a control of 2 pods with rolling update.

use conformance_driver::context::Disruption;
use conformance_facts::health::is_ready;
use conformance_history::counted_pods;

use crate::prelude::*;

marks! {
    OUTLASTED = "a later update has finished";
    BACK = "the deleted pod is back";
    GROWN = "one pod more";
    SHRUNK = "one pod less";
}

const SET: &str = "on-delete";
const CLIQUE: &str = "on-delete-0-worker";
const CONTROL: &str = "control-rolling";

pub(crate) const CASE: Case =
    case!("With OnDelete nothing is deleted, and only new pods use the new template")
        .clauses(&[UPD_21, UPD_22, UPD_23, UPD_34, UPD_35, UPD_37])
        .nodes(&[nodes(1).gpus(8)])
        .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for set in [SET, CONTROL] {
        test.submit_and_converge(set).await?;
    }
    if !test.revise(SET, "2").await? {
        return Ok(());
    }
    until_ended(test, SET, UPD_35).await?;
    test.revise(CONTROL, "2").await?;
    test.until_updated(CONTROL, UPD_02).await?;
    test.mark(OUTLASTED, Value::Null);

    let pods = test.pods_of(CLIQUE);
    let mut pods = pods.iter();
    let deleted = pods.next().map_or("", String::as_str);
    lose_until_replaced(test, Disruption::WithGrace, deleted, UPD_22).await?;
    test.mark(BACK, json!({"name": deleted}));
    let evicted = pods.next().map_or("", String::as_str);
    lose_until_replaced(test, Disruption::Evicted, evicted, AON_11).await?;
    test.scale("PodClique", CLIQUE, 4).await?;
    until_ready(test, 4, AUTO_03).await?;
    test.until_ready_replicas(CLIQUE, 4).await?;
    test.mark(GROWN, Value::Null);

    test.scale("PodClique", CLIQUE, 3).await?;
    until_ready(test, 3, GANG_25).await?;
    let counted = Awaited::demanded_by(UPD_37, format!("the new pods of PodClique {CLIQUE} counted"));
    test.until(counted, limits::REACTION, |live| updates::counts_new_pods(live, CLIQUE).is_ok()).await?;
    test.mark(SHRUNK, Value::Null);
    Ok(())
}

async fn lose_until_replaced(
    test: &TestContext,
    by: Disruption,
    pod: &str,
    clause: &'static str,
) -> Result<(), Stop> {
    test.disrupt_pod(by, pod).await?;
    let back = Awaited::demanded_by(clause, format!("Pod {pod} replaced"));
    test.until(back, limits::SCHEDULING, |live| {
        // On some backends, a pod joins its gang resource when the operator releases it.
        let released = pods_of(live, CLIQUE).filter(|pod| pod.gates().is_empty());
        live.get("Pod", pod).is_none() && released.count() == 3
    })
    .await
}

async fn until_ready(test: &TestContext, count: usize, clause: &'static str) -> Result<(), Stop> {
    let pods = counted_pods(count);
    let awaited = Awaited::demanded_by(clause, format!("{pods} of PodClique {CLIQUE}, all of them Ready"));
    test.until(awaited, limits::SCHEDULING, |live| {
        let pods: Vec<_> = live.pods().filter(|pod| pod.pod_clique() == Some(CLIQUE)).collect();
        pods.len() == count && pods.iter().all(|pod| is_ready(*pod))
    })
    .await
}

pub(super) async fn until_ended(test: &TestContext, set: &str, clause: &'static str) -> Result<(), Stop> {
    let ended = Awaited::demanded_by(clause, format!("updateEndedAt of PodCliqueSet {set}"));
    test.until(ended, limits::REACTION, |live| {
        let pcs = live.get("PodCliqueSet", set);
        pcs.is_some_and(|pcs| !pcs["status"]["updateProgress"]["updateEndedAt"].is_null())
    })
    .await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        update_finding(history, UPD_21, || {
            history.at(GROWN, |grown| {
                updates::updater_deletes_none(&history.upto(grown), SET)?;
                history.reached(OUTLASTED).map(drop)
            })
        }),
        update_finding(history, UPD_22, || {
            let (lost, mark) = history.reached(SharedMark::PodLost)?;
            let name = mark.detail["name"].as_str().unwrap_or_default();
            history.at(BACK, |place| {
                let part = history.upto(place);
                binding::rejoined(&part, lost, name)?;
                binding::others_untouched(&part, lost, &[name])
            })
        }),
        update_finding(history, UPD_23, || {
            history.reached(GROWN)?;
            history.at(SHRUNK, |shrunk| scaled::old_deleted_before_new(&history.upto(shrunk), CLIQUE))
        }),
        update_finding(history, UPD_34, || {
            history.at(GROWN, |grown| updates::created_pods_are_new(&history.upto(grown), SET))
        }),
        update_finding(history, UPD_35, || {
            history.at(OUTLASTED, |outlasted| updates::ended_at_once(&history.upto(outlasted), SET))
        }),
        update_finding(history, UPD_37, || {
            history.reached(GROWN)?;
            history.at(SHRUNK, |shrunk| updates::counts_new_pods(&history.before(shrunk), CLIQUE))
        }),
    ]
}
