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

use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_expect::scopes::{SetReplica, replicas};
use conformance_history::{History, Live};
use conformance_judge::life::generations::Recycle;
use conformance_judge::{Shown, ensure, violation};
use jiff::SignedDuration;

/// The termination delay of the manifests: just long enough to detect a deletion that happens at once.
const DELAY: Duration = Duration::from_secs(2);

pub(crate) fn replica(history: &History, set: &str, index: usize) -> Result<SetReplica, Broken> {
    let all = replicas(history.submitted(set)?).into_iter();
    let mut its = all.filter(|replica| replica.index == index);
    its.next().ok_or_else(|| {
        Broken::NotReached(format!("PodCliqueSet {set} was submitted without replica {index}"))
    })
}

const RECYCLED_EARLY: Code = Code::new("part-recycled-early");

fn is_bound(live: &Live, clique: &str) -> bool {
    live.pods().any(|pod| pod.pod_clique() == Some(clique) && !pod.is_terminating() && pod.node().is_some())
}

/// A partially bound gang was terminated no earlier than a termination delay after its first pod was bound.
/// The check allows one second less, because API times have whole seconds.
fn not_recycled_early(history: &History, recycle: &Recycle<'_>, delay: u32) -> Ruling {
    let mut pods = history.pods().filter(|version| recycle.old.contains(version.uid()));
    let Some(bound) = pods.find(|version| version.pod().node().is_some()) else { return Ok(()) };
    let lasted = recycle.begun.at.duration_since(bound.happened());
    ensure(lasted >= SignedDuration::from_secs(i64::from(delay) - 1), || {
        let seconds = lasted.as_secs_f64();
        let message = format!(
            "the gang was terminated {seconds:.1} s after its first pod was bound, want at least {delay} s"
        );
        violation(RECYCLED_EARLY, message).shown_by("bound", bound).shown_by("first deletion", recycle.begun)
    })
}
