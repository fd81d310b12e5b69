//! 2 nodes x 8 GPUs; a scaling group of 3 replicas of one pod x 8 GPUs (minimum 2): the third replica does
//! not fit until a node joins. On targets where gangs may stay partially bound, the case waits while the
//! termination delay expires three times.

use conformance_expect::scopes::Scope;

use super::{DELAY, replica};
use crate::prelude::*;

marks! {
    WAITED = "the delay has expired several times";
    ALL_BOUND = "all bound at last";
}

const SET: &str = "one-unbound";
const GROUP: &str = "one-unbound-0-pool";
const WORKERS: [&str; 3] =
    ["one-unbound-0-pool-0-worker", "one-unbound-0-pool-1-worker", "one-unbound-0-pool-2-worker"];

pub(crate) const CASE: Case =
    case!("A breached replica is terminated alone, although another replica was never bound")
        .clauses(&[TERM_23])
        .nodes(&[nodes(2).gpus(8), nodes(1).gpus(8).joining(1)])
        .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gangs = test.submit(SET).await?;
    test.until_bound(2).await?;
    for gang in &gangs {
        test.until_released(gang).await?;
    }
    let clock = test.start_clock("2s").await?;
    let old = test.pods_of(WORKERS[1]);
    test.set_first_pod_status(WORKERS[1], Containers::Crashing).await?;
    test.until_recreated("the second replica of the scaling group", TERM_23, &WORKERS[1..2], &old, false)
        .await?;
    // On targets with HalfGangRelease, a partially bound gang must release its nodes (TERM-17).
    let times = if test.target.declares(Feature::HalfGangRelease) { 0 } else { 3 };
    test.run_clock(&clock, times, WAITED).await?;
    test.add_nodes(1).await?;
    test.until_bound(3).await?;
    test.mark(ALL_BOUND, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TERM_23, || {
        let set_replica = replica(history, SET, 0)?;
        let pool = |index| Scope::GroupReplica { group: GROUP.into(), index };
        history.waited_for(WAITED)?;
        termination::nothing_else_deleted(history, &set_replica)?;
        termination::after_the_delay(history, &set_replica, &pool(1), DELAY)?;
        all([(0, 0), (1, 1), (2, 0)]
            .map(|(index, times)| termination::times(history, &set_replica, &pool(index), times)))?;
        history.reached(ALL_BOUND)?;
        all(WORKERS.map(|worker| binding::exactly(&history.end(), worker, 1)))
    })]
}
