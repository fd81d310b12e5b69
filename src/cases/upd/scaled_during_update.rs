//! 1 node without GPUs; a clique of 2 pods (minimum 1) and a scaling group of 2 replicas of a pod (minimum
//! 1). Clique, group and PodCliqueSet are scaled out right before and during an update, and scaled in during
//! the next update. The clique is then scaled to fewer pods than are already updated. The PodCliqueSet is
//! scaled in while the replica that it loses is being updated.

use conformance_history::counted_pods;

use crate::prelude::*;

marks! {
    STARTED = "an update has started";
    GROWN = "all is scaled out and new";
    SHRUNK = "all is scaled in and new";
}

const SET: (&str, &str) = ("PodCliqueSet", "scaled-update");
const GROUP: (&str, &str) = ("PodCliqueScalingGroup", "scaled-update-0-pool");
const CLIQUE: (&str, &str) = ("PodClique", "scaled-update-0-worker");

pub(crate) const CASE: Case =
    case!("Scaling before and during an update ends with exactly the requested pods")
        .clauses(&[UPD_13, UPD_33])
        .nodes(&[nodes(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET.1).await?;
    test.until_converged(SET.1).await?;

    scale(test, [(SET, 2), (GROUP, 3), (CLIQUE, 3)]).await?;
    if !test.revise(SET.1, "2").await? {
        return Ok(());
    }
    until_new(test, "scaled-update-0-worker", "2", 1).await?;
    test.mark(STARTED, Value::Null);
    scale(test, [(SET, 3), (GROUP, 4), (CLIQUE, 4)]).await?;
    until_exact(test, GROWN).await?;

    scale(test, [(SET, 2), (GROUP, 3), (CLIQUE, 3)]).await?;
    test.revise(SET.1, "3").await?;
    // The clique is scaled to 1 pod next, so 2 updated pods are more than remain.
    until_new(test, "scaled-update-0-worker", "3", 2).await?;
    test.mark(STARTED, Value::Null);
    scale(test, [(GROUP, 1), (CLIQUE, 1)]).await?;
    until_new(test, "scaled-update-1-worker", "3", 1).await?;
    scale(test, [(SET, 1)]).await?;
    until_exact(test, SHRUNK).await
}

async fn scale<const N: usize>(test: &TestContext, sizes: [((&str, &str), u32); N]) -> Result<(), Stop> {
    for ((kind, name), replicas) in sizes {
        test.scale_as_an_autoscaler(kind, name, replicas).await?;
    }
    Ok(())
}

async fn until_new(test: &TestContext, clique: &str, revision: &str, count: usize) -> Result<(), Stop> {
    let pods = counted_pods(count);
    let awaited =
        Awaited::demanded_by(UPD_13, format!("{pods} of PodClique {clique} of revision {revision}"));
    test.until(awaited, limits::SCHEDULING, |live| {
        let pods = live.pods().filter(|pod| pod.pod_clique() == Some(clique));
        pods.filter(|pod| is_of_revision(*pod, revision)).count() >= count
    })
    .await
}

async fn until_exact(test: &TestContext, mark: MarkName) -> Result<(), Stop> {
    test.until_updated(SET.1, UPD_13).await?;
    let exact = Awaited::demanded_by(UPD_13, "exactly the requested pods, and statuses that count them");
    test.until(exact, limits::SCHEDULING, |live| {
        updates::none_beyond(live, SET.1).is_ok() && updates::counted(live, SET.1).is_ok()
    })
    .await?;
    test.until_converged(SET.1).await?;
    test.mark(mark, json!({"name": SET.1}));
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        update_finding(history, UPD_13, || {
            for mark in [GROWN, SHRUNK] {
                history.at(mark, |over| matches_last_scaling(&history.upto(over)))?;
            }
            Ok(())
        }),
        update_finding(history, UPD_33, || {
            let started = history.marks(STARTED).map(|(place, _)| place);
            all(started.map(|place| updates::pods_created_since_are_new(history, SET.1, place, must_be_new)))?;
            history.reached(GROWN)?;
            history.reached(SHRUNK).map(drop)
        }),
    ]
}

/// Pods of the clique and of added replicas must be new. For other pods, the operator may still finish
/// earlier work with the old template.
fn must_be_new(pod: Pod<'_>) -> bool {
    let is_added = [(names::REPLICA_INDEX, "2"), (names::SCALING_GROUP_REPLICA_INDEX, "3")];
    pod.pod_clique() == Some(CLIQUE.1)
        || is_added.iter().any(|(label, index)| pod.label(label) == Some(index))
}

fn matches_last_scaling(history: &History) -> Ruling {
    let live = history.end();
    updates::is_complete(history, history.entries.len(), SET.1)?;
    updates::none_beyond(&live, SET.1)?;
    updates::counted(&live, SET.1)
}
