//! Gang termination.

pub(crate) mod clock_changed;
pub(crate) mod group_replica;
pub(crate) mod healed;
pub(crate) mod lost_early;
pub(crate) mod never_again;
pub(crate) mod readiness;
pub(crate) mod recycled;

use std::time::Duration;

use conformance_contract::ruling::Broken;
use conformance_driver::context::{Stop, TestContext};
use conformance_expect::scopes::{SetReplica, replicas};
use conformance_history::History;

/// The termination delay of the manifests: long enough that a deletion at once is too early, and no longer.
const DELAY: Duration = Duration::from_secs(2);

/// A replica of a PodCliqueSet as it was sent.
fn replica(history: &History, set: &str, index: usize) -> Result<SetReplica, Broken> {
    let all = replicas(history.submitted(set)?).into_iter();
    let mut its = all.filter(|replica| replica.index == index);
    its.next().ok_or_else(|| Broken::NotReached(format!("{set} was sent without a replica {index}")))
}

/// How long after it was made an operator may take what happens to a PodCliqueSet for its start. That it may not is what
/// [`lost_early`] is about, so that the other cases show what the operator does otherwise.
const START: Duration = Duration::from_secs(6);

/// Waits until a PodCliqueSet runs and its start is over.
async fn until_started(test: &TestContext, set: &str) -> Result<(), Stop> {
    test.until_converged(set).await?;
    tokio::time::sleep(START).await;
    Ok(())
}
