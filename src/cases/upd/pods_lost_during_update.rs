//! 1 node x 8 GPUs; 2 replicas of a clique of 2 pods x 1 GPU (minimum 1) and a scaling group of 2 replicas of
//! one pod without GPUs (minimum 1). While the first replica is updated, the second replica loses pods.

use super::{rolling_rules, until_first_new_pod};
use crate::prelude::*;

marks! { UPDATED = "the update with lost pods has ended"; }

const SET: &str = "pods-lost";
const FIRST: &str = "pods-lost-0-worker";
const LOSING: [&str; 2] = ["pods-lost-1-worker", "pods-lost-1-pool-1-member"];

pub(crate) const CASE: Case = case!("Pods lost in replicas that an update has not reached are replaced once")
    .clauses(&[UPD_03, UPD_04, UPD_15, UPD_18, UPD_29, UPD_30])
    .nodes(&[nodes(1).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    if !test.revise(SET, "2").await? {
        return Ok(());
    }
    until_first_new_pod(test, UPD_02, FIRST, "2").await?;
    let mut former = Vec::new();
    for clique in LOSING {
        let pods = test.pods_of(clique);
        if let Some(lost) = pods.first() {
            test.force_delete_pod(lost).await?;
        }
        former.push(pods);
    }
    let replaced = Awaited::demanded_by(UPD_15, "a replacement of each lost pod");
    test.until(replaced, limits::SCHEDULING, |live| {
        LOSING.iter().zip(&former).all(|(clique, former)| {
            let pods: Vec<_> = pods_of(live, clique).map(|pod| pod.name()).collect();
            pods.len() >= former.len() && pods.iter().any(|pod| former.iter().all(|old| old != pod))
        })
    })
    .await?;
    test.until_updated(SET, UPD_02).await?;
    test.mark(UPDATED, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    let lost = update_finding(history, UPD_15, || {
        all([
            updates::replacements_are_kept(history, SET),
            updates::no_excess_pods_created(history, SET, &LOSING),
            history.reached(UPDATED).map(drop),
        ])?;
        match history.marks(SharedMark::PodLost).count() {
            lost if lost == LOSING.len() => Ok(()),
            lost => Err(Broken::NotReached(format!("{lost} of {} pods were lost", LOSING.len()))),
        }
    });
    rolling_rules(history, SET, UPDATED).into_iter().chain([lost]).collect()
}
