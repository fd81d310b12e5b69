//! Gang termination.

pub(crate) mod claim_unbound;
pub(crate) mod clock_changed;
pub(crate) mod fought_for;
pub(crate) mod group_replica;
pub(crate) mod group_scaled_in;
pub(crate) mod half_gangs;
pub(crate) mod hanging;
pub(crate) mod healed;
pub(crate) mod killed;
pub(crate) mod lost_early;
pub(crate) mod never_again;
pub(crate) mod never_bound_beside;
pub(crate) mod never_whole;
pub(crate) mod no_shelter;
pub(crate) mod other_block;
pub(crate) mod other_rack;
pub(crate) mod readiness;
pub(crate) mod recycled;
pub(crate) mod recycled_and_scaled_in;
pub(crate) mod replica_in_base;
pub(crate) mod shared_device;

use std::time::Duration;

use conformance_contract::ruling::Broken;
use conformance_expect::scopes::{SetReplica, replicas};
use conformance_history::History;

/// The termination delay of the manifests: long enough that a deletion at once is too early, and no longer.
const DELAY: Duration = Duration::from_secs(2);

/// A replica of a PodCliqueSet as it was sent.
pub(crate) fn replica(history: &History, set: &str, index: usize) -> Result<SetReplica, Broken> {
    let all = replicas(history.submitted(set)?).into_iter();
    let mut its = all.filter(|replica| replica.index == index);
    its.next().ok_or_else(|| Broken::NotReached(format!("{set} was sent without a replica {index}")))
}
