//! 3 nodes x 8 GPUs and one node without GPUs; a gang of 3 pods x 8 GPUs, all required. Its nodes are closed
//! to all other gangs except two: one of a single pod and one of 2 pods, each x 8 GPUs. The single pod takes
//! the node that the first update step frees. The gang of 2 pods is submitted only then, because on
//! Koordinator its retries might block the free node (AON-10). With 3 more nodes x 8 GPUs, all fit.

use crate::prelude::*;

marks! {
    TAKEN = "the freed place is taken";
    OUTLASTED = "a later update has finished";
    UPDATED = "every pod is new";
}

const SET: &str = "updated";
const CLIQUE: &str = "updated-0-worker";
const SINGLE: &str = "one-pod";
const PAIR: &str = "two-pods";
const CONTROL: &str = "control-updated";

pub(crate) const CASE: Case =
    case!("A waiting gang may take an update's freed capacity; the update then waits")
        .clauses(&[UPD_06])
        .nodes(&[nodes(3).gpus(8), nodes(1), nodes(3).gpus(8).joining(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    let mut closed = Vec::new();
    let old = test.pods_of(CLIQUE);
    for pod in &old {
        let node = test.node_of(pod)?;
        test.close(&node, true).await?;
        closed.push(node);
    }
    test.submit_and_converge(CONTROL).await?;
    submit_released(test, SINGLE).await?;
    if !test.revise(SET, "2").await? {
        return Ok(());
    }
    let started = Awaited::demanded_by(UPD_01, "the first update step started");
    test.until(started, limits::SCHEDULING, |live| old.iter().any(|pod| live.get("Pod", pod).is_none()))
        .await?;
    let taken =
        Awaited::demanded_by(AON_03, format!("{SINGLE} bound in the place that the first update step freed"));
    test.until(taken, limits::SCHEDULING, |live| live.bound_pods_of_set(SINGLE) == 1).await?;
    test.mark(TAKEN, Value::Null);
    submit_released(test, PAIR).await?;
    test.revise(CONTROL, "2").await?;
    test.until_updated(CONTROL, UPD_02).await?;
    test.mark(OUTLASTED, Value::Null);
    test.add_nodes(1).await?;
    for node in &closed {
        test.close(node, false).await?;
    }
    test.until_updated(SET, UPD_06).await?;
    test.mark(UPDATED, Value::Null);
    Ok(())
}

async fn submit_released(test: &mut TestContext, set: &str) -> Result<(), Stop> {
    for gang in test.submit(set).await? {
        test.until_released(&gang).await?;
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![update_finding(history, UPD_06, || {
        history.at(OUTLASTED, |outlasted| {
            updates::stopped_after_first_step(history, SET, outlasted)?;
            updates::updater_deletes_only_old(&history.upto(outlasted), SET)?;
            history.reached(TAKEN).map(drop)
        })?;
        history.at(UPDATED, |updated| updates::is_complete(history, updated, SET))
    })]
}
