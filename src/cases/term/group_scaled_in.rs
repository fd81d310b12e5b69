//! 1 node; a scaling group of 2 replicas of one pod (minimum 1), with a termination delay of 6 s. The second
//! replica is breached. The case scales the group in before the delay expires, and out again after that.

use conformance_expect::scopes::Scope;
use jiff::{SignedDuration, Timestamp};

use super::replica;
use crate::prelude::*;

marks! {
    CRASHED = "the last replica crashes";
    OUTLASTED = "scaled in for longer than the delay";
    OUT_AGAIN = "scaled out again for longer than the delay";
}

const SET: &str = "scaled-in";
const GROUP: &str = "scaled-in-0-pool";
const WORKERS: [&str; 2] = ["scaled-in-0-pool-0-worker", "scaled-in-0-pool-1-worker"];

/// The termination delay: long enough to scale in before it expires.
const DELAY: &str = "6s";
const DELAY_LASTS: SignedDuration = SignedDuration::from_secs(6);

pub(crate) const CASE: Case = case!("Scaling in a breached scaling group replica ends its termination delay")
    .clauses(&[TERM_29])
    .nodes(&[nodes(1)])
    .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_start(SET).await?;
    let clock = test.start_clock(DELAY).await?;
    test.mark(CRASHED, Value::Null);
    test.set_first_pod_status(WORKERS[1], Containers::Crashing).await?;
    test.until_breach_is("True", WORKERS[1]).await?;
    test.scale_as_an_autoscaler("PodCliqueScalingGroup", GROUP, 1).await?;
    let removed = scaling::removed_gangs(&test.history(), SET);
    test.until_gangs_deleted(&removed).await.map_err(|stop| stop.owed_by(TERM_29))?;
    test.run_clock(&clock, 1, OUTLASTED).await?;
    test.scale_as_an_autoscaler("PodCliqueScalingGroup", GROUP, 2).await?;
    test.until_converged(SET).await.map_err(|stop| stop.owed_by(TERM_29))?;
    test.run_clock(&clock, 1, OUT_AGAIN).await?;
    test.stop_clock(clock).await
}

fn never_recycled(history: &History) -> Ruling {
    let replica = replica(history, SET, 0)?;
    let replicas = [0, 1].map(|index| Scope::GroupReplica { group: GROUP.into(), index });
    all(replicas
        .into_iter()
        .chain([replica.scope()])
        .map(|scope| termination::times(history, &replica, &scope, 0)))
}

fn scaled_in_time(history: &History) -> Ruling {
    let (crashed, _) = history.reached(CRASHED)?;
    let since = history.entries[crashed].at;
    let is_over = |at: Timestamp| at.duration_since(since) >= DELAY_LASTS;
    let over = history.entries.iter().position(|entry| is_over(entry.at)).unwrap_or(history.entries.len());
    never_recycled(&history.upto(over))?;
    let (scaled, _) = history.reached(SharedMark::Scaled)?;
    if scaled < over {
        Ok(())
    } else {
        Err(Broken::NotReached(
            "the terminationDelay had expired before the scaling group was scaled in".into(),
        ))
    }
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TERM_29, || {
        scaled_in_time(history)?;
        let outlasted = history.waited_for(OUTLASTED)?;
        let before = history.upto(outlasted);
        all([never_recycled(&before), cleanup::removed(&before, &scaling::removed_gangs(&before, SET))])?;
        history.reached(OUTLASTED)?;
        history.at(OUT_AGAIN, |again| {
            // Scaling in and out looks like a termination, so only pods that are created later count.
            let last = Scope::GroupReplica { group: GROUP.into(), index: 1 };
            never_recycled(&generations::created_since(history, &last, outlasted))?;
            all(WORKERS.map(|worker| binding::exactly(&history.before(again), worker, 1)))
        })
    })]
}
