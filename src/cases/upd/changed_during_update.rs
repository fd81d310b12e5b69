//! 1 node x 8 GPUs; 2 replicas of a clique of 2 pods x 1 GPU (minimum 1) and a scaling group of 2 replicas of
//! 1 pod without GPUs (minimum 1). Pods created later than 5 s after a change must have the new template.

use conformance_facts::health::is_ready;

use super::{rolling_rules, until_first_new_pod};
use crate::prelude::*;

marks! {
    CHANGED_AGAIN = "the templates changed during an update";
    UPDATED = "every pod is of the last template";
}

const SET: &str = "changed-again";
const CLIQUES: [&str; 2] = ["changed-again-0-worker", "changed-again-1-worker"];

pub(crate) const CASE: Case = case!("Of several template changes during an update, the last takes effect")
    .clauses(&[UPD_03, UPD_04, UPD_10, UPD_18, UPD_29, UPD_30])
    .nodes(&[nodes(1).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    if !test.revise(SET, "2").await? {
        return Ok(());
    }
    until_first_new_pod(test, UPD_02, CLIQUES[0], "2").await?;
    test.revise(SET, "3").await?;
    test.mark(CHANGED_AGAIN, Value::Null);
    test.until_updated(SET, UPD_10).await?;
    test.revise(SET, "4").await?;
    test.revise(SET, "5").await?;
    until_replica_updated(test, "5").await?;
    test.revise(SET, "6").await?;
    test.until_updated(SET, UPD_10).await?;
    test.mark(UPDATED, Value::Null);
    Ok(())
}

async fn until_replica_updated(test: &TestContext, revision: &str) -> Result<(), Stop> {
    let updated = Awaited::demanded_by(UPD_02, format!("a replica of revision {revision}"));
    test.until(updated, limits::SCHEDULING, |live| {
        let is_new = |pod: &Pod<'_>| is_of_revision(*pod, revision) && is_ready(*pod);
        let new =
            |clique: &str| live.pods().filter(|pod| pod.pod_clique() == Some(clique)).filter(is_new).count();
        CLIQUES.iter().any(|clique| new(clique) == 2)
    })
    .await
}

fn check(history: &History) -> Vec<Finding> {
    let last = update_finding(history, UPD_10, || {
        updates::created_pods_are_new_or_restored(history, SET)?;
        history.reached(CHANGED_AGAIN)?;
        history.at(UPDATED, |updated| updates::is_complete(history, updated, SET))
    });
    rolling_rules(history, SET, UPDATED).into_iter().chain([last]).collect()
}
