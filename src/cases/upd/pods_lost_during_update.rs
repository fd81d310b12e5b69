//! 1 node x 8 GPUs; 2 replicas of a clique of 2 pods x 1 GPU (minimum 1), and of a scaling group of 2
//! replicas of one pod without GPUs (minimum 1). Templates change. Once a pod of the first replica has been
//! replaced, a pod of the second's clique and one of its group are lost. Then they change, and again once a
//! pod has been replaced. Finally they change twice at once, and again once one replica is updated. Pods
//! created later than 5 s after a change must be new.

use conformance_facts::health::is_ready;
use conformance_facts::updates::is_of_revision;

use crate::prelude::*;

marks! {
    REPLACED = "the update with lost pods has ended";
    UPDATED = "every pod is of the last template";
}

const SET: &str = "pods-lost";
const CLIQUES: [&str; 2] = ["pods-lost-0-worker", "pods-lost-1-worker"];
const LOSERS: [&str; 2] = ["pods-lost-1-worker", "pods-lost-1-pool-1-member"];

pub(crate) const CASE: Case =
    case!("Pods lost during an update are replaced once; a second change takes effect")
        .clauses(&[UPD_03, UPD_04, UPD_10, UPD_15, UPD_18, UPD_29, UPD_30])
        .nodes(&[nodes(1).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_converged(SET).await?;
    if !test.revise(SET, "2").await? {
        return Ok(());
    }
    until_begun(test, "2").await?;
    for clique in LOSERS {
        if let Some(lost) = test.pods_of(clique).first() {
            test.lose_pod(lost).await?;
        }
    }
    test.until_updated(SET, UPD_15).await?;
    test.mark(REPLACED, Value::Null);
    test.revise(SET, "3").await?;
    until_begun(test, "3").await?;
    test.revise(SET, "4").await?;
    test.until_updated(SET, UPD_10).await?;
    test.revise(SET, "5").await?;
    test.revise(SET, "6").await?;
    until_through(test, "6").await?;
    test.revise(SET, "7").await?;
    test.until_updated(SET, UPD_10).await?;
    test.mark(UPDATED, Value::Null);
    Ok(())
}

async fn until_begun(test: &TestContext, revision: &str) -> Result<(), Stop> {
    let begun = Awaited::demanded_by(UPD_02, format!("a pod of revision {revision}"));
    test.until(begun, limits::SCHEDULING, |live| {
        live.pods().any(|pod| pod.pod_clique() == Some(CLIQUES[0]) && is_of_revision(pod, revision))
    })
    .await
}

async fn until_through(test: &TestContext, revision: &str) -> Result<(), Stop> {
    let through = Awaited::demanded_by(UPD_02, format!("a replica of revision {revision}"));
    test.until(through, limits::SCHEDULING, |live| {
        let is_new = |pod: &Pod<'_>| is_of_revision(*pod, revision) && is_ready(*pod);
        let new =
            |clique: &str| live.pods().filter(|pod| pod.pod_clique() == Some(clique)).filter(is_new).count();
        CLIQUES.iter().any(|clique| new(clique) == 2)
    })
    .await
}

/// A rule that applies at any time, regardless of how far the updates came.
fn at_any_time(history: &History, ruling: impl FnOnce() -> Ruling) -> Ruling {
    updates::are_admitted(history)?;
    all([ruling(), history.reached(UPDATED).map(drop)])
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding(UPD_03, || at_any_time(history, || updates::one_replica_at_a_time(history, SET))),
        finding(UPD_04, || at_any_time(history, || updates::steps_do_not_overlap(history, SET))),
        finding(UPD_10, || {
            updates::are_admitted(history)?;
            history.reached(REPLACED)?;
            updates::made_later_is_new_or_restored(history, SET)?;
            history.at(UPDATED, |updated| updates::through(&history.before(updated), SET))
        }),
        finding(UPD_15, || {
            updates::are_admitted(history)?;
            all([updates::only_old_is_taken(history, SET), updates::nothing_is_made_twice(history, SET)])?;
            history.reached(SharedMark::PodLost)?;
            history.at(REPLACED, |replaced| updates::through(&history.before(replaced), SET))?;
            match history.marks(SharedMark::PodLost).count() {
                lost if lost == LOSERS.len() => Ok(()),
                lost => Err(Broken::NotReached(format!("{lost} of {} pods were lost", LOSERS.len()))),
            }
        }),
        finding(UPD_18, || at_any_time(history, || updates::progress_is_true(history, SET))),
        finding(UPD_29, || at_any_time(history, || updates::status_names_the_replica(history, SET))),
        finding(UPD_30, || at_any_time(history, || updates::minimum_stays(history, SET))),
    ]
}
