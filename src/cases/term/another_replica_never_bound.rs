//! 2 nodes x 8 GPUs; a scaling group of 3 replicas of one pod x 8 GPUs (minimum 2): the third does not fit.
//! The pod of the second replica crashes. After its termination, one pod waits while the termination delay
//! expires three times, if gangs may stay partially bound. Then a node joins.

use conformance_contract::clauses::Feature;
use conformance_expect::scopes::Scope;

use super::{DELAY, replica};
use crate::prelude::*;

marks! {
    WAITED = "the delay has run out again and again";
    ALL_BOUND = "all bound at last";
}

const SET: &str = "trio";
const GROUP: &str = "trio-0-wing";
const UNITS: [&str; 3] = ["trio-0-wing-0-unit", "trio-0-wing-1-unit", "trio-0-wing-2-unit"];

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
    let clock = test.clock("2s").await?;
    let old = test.pods_of(UNITS[1]);
    test.first_pod_becomes(UNITS[1], Containers::Crashing).await?;
    test.until_recycled("the second replica of the scaling group", TERM_23, &UNITS[1..2], &old, false)
        .await?;
    // A partially bound gang may have to release its nodes (TERM-17).
    let times = if test.target.declares(Feature::HalfGangRelease) { 0 } else { 3 };
    test.clock_runs(&clock, times, WAITED).await?;
    test.nodes_join(1).await?;
    test.until_bound(3).await?;
    test.mark(ALL_BOUND, Value::Null);
    Ok(())
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding(TERM_23, || {
        let trio = replica(history, SET, 0)?;
        let wing = |index| Scope::GroupReplica { group: GROUP.into(), index };
        history.waited_for(WAITED)?;
        termination::nothing_else_deleted(history, &trio)?;
        termination::after_the_delay(history, &trio, &wing(1), DELAY)?;
        all([(0, 0), (1, 1), (2, 0)]
            .map(|(index, times)| termination::times(history, &trio, &wing(index), times)))?;
        history.reached(ALL_BOUND)?;
        all(UNITS.map(|unit| binding::exactly(&history.end(), unit, 1)))
    })]
}
