//! 1 node; three gangs of 2 pods. In the first, a pod has started and crashes. In the second, a pod has
//! started and is not Ready. In the third, one pod is still being created and one initialized, for two
//! termination delays.

use super::{DELAY, replica, requires_recreation};
use crate::prelude::*;

marks! { WAITED = "two delays of unreadiness"; }

const FAILING: [(&str, Containers); 2] =
    [("crashes", Containers::Crashing), ("not-ready", Containers::Unready)];
const STARTS: &str = "starts-0-worker";

pub(crate) const CASE: Case =
    case!("Gangs with crashed or unready pods are terminated, gangs still starting are not")
        .clauses(&[TERM_11, TERM_26])
        .nodes(&[nodes(1)])
        .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for (set, _) in FAILING {
        test.submit(set).await?;
    }
    test.submit("starts").await?;
    for (set, _) in FAILING {
        test.until_converged(set).await?;
    }
    test.until_started("starts").await?;
    let clock = test.start_clock("2s").await?;
    for (pod, state) in test.pods_of(STARTS).iter().zip([Containers::Creating, Containers::Waiting]) {
        test.set_pod_status(pod, state).await?;
    }
    let old = FAILING.map(|(set, _)| test.pods_of(&worker(set)));
    for (set, containers) in FAILING {
        test.set_first_pod_status(&worker(set), containers).await?;
    }
    test.run_clock(&clock, 2, WAITED).await?;
    for ((set, _), old) in FAILING.iter().zip(&old) {
        test.until_recreated(set, TERM_11, &[&worker(set)], old, true).await?;
    }
    Ok(())
}

fn worker(set: &str) -> String {
    format!("{set}-0-worker")
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(TERM_11, || {
            history.reached(WAITED)?;
            all(FAILING.iter().map(|(set, _)| {
                let failing = replica(history, set, 0)?;
                requires_recreation(history, &failing)?;
                termination::after_the_delay(history, &failing, &failing.scope(), DELAY)?;
                termination::times(history, &failing, &failing.scope(), 1)
            }))
        }),
        finding(TERM_26, || {
            let starts = replica(history, "starts", 0)?;
            history.at(WAITED, |_| termination::times(history, &starts, &starts.scope(), 0))
        }),
    ]
}
