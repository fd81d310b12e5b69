//! All timeouts of the harness. Every [`Limit`] is multiplied by the run's scale (`--timeout-scale`) and by
//! the [speed](crate::speed) of the machine. It restarts after a moment when the machine was too slow to
//! decide.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Shown in the error of a timeout.
    pub name: &'static str,
    /// Length at scale 1.
    pub length: Duration,
}

const fn seconds(name: &'static str, seconds: u64) -> Limit {
    Limit { name, length: Duration::from_secs(seconds) }
}

/// A controller creates, changes or deletes objects.
pub const REACTION: Limit = seconds("reaction", 20);
/// A scheduler decides on a gang.
pub const SCHEDULING: Limit = seconds("scheduling", 30);
/// A scheduler retries a gang that now fits. kube-scheduler's longest pause between two tries is 10 s.
pub const ANOTHER_TRY: Limit = seconds("another try", 15);
/// The same for a scheduler that works in sessions, after a canary has proved a later session.
pub const LATER_SESSION: Limit = seconds("later session", 3);
/// A scheduler that picks among equal domains at random, with growing pauses between tries, has tried often.
pub const RETRIES: Limit = seconds("retries", 90);
/// Garbage collection finishes.
pub const CLEANUP: Limit = seconds("cleanup", 30);
/// A terminating namespace shows no progress. While pods and finalizers remain, the pause of its controller
/// grows to one minute. Twice that allows for one try without effect.
pub const NAMESPACE_QUIET: Limit = seconds("namespace quiet", 120);
/// A namespace is deleted, regardless of progress: many times the longest pause of its controller.
pub const NAMESPACE_END: Limit = seconds("namespace end", 480);
/// A restarted component is ready and has caught up.
pub const RECOVERY: Limit = seconds("recovery", 60);
/// A scheduler or its backend learns the domains of new nodes. Koordinator looks every 10 s.
pub const TOPOLOGY_TREE: Limit = seconds("topology tree", 30);
/// Containers start from images that are already on their node, and statuses follow.
pub const CONTAINERS: Limit = seconds("containers", 60);
/// A kubelet, which may have to start first, reports that devices were added, removed or broken.
pub const DEVICES: Limit = seconds("devices", 60);
/// A kubelet fails for the first time to pull an image that does not exist.
pub const IMAGE_PULL: Limit = seconds("image pull", 60);
/// A silent node is given up, its pods are deleted and replaced. One node is given up per ten seconds.
pub const NODE_LOSS: Limit = seconds("node loss", 120);
/// A new release of the operator has migrated the objects of the old one. Upstream's looks every 5 s.
pub const MIGRATION: Limit = seconds("migration", 60);
/// A started operator makes its first writes.
pub const FIRST_WRITES: Limit = seconds("first writes", 5);
/// The controller's replicas are replaced, and another one leads.
pub const ROLLOUT: Limit = seconds("rollout", 90);
/// A namespace without writes for this long: no controller has work left there.
pub const SILENCE: Limit = seconds("silence", 2);
/// An operator has seen all its own writes up to convergence, and sends nothing more.
pub const LAST_WRITES: Limit = seconds("last writes", 6);
/// The recorder catches up with the API server.
pub const SETTLE: Limit = seconds("settle", 10);
/// Pause between two polls: no load on an API server, and short relative to the wait. Not scaled.
pub const PACE: Duration = Duration::from_millis(50);
/// Nothing may change for this long (GANG-11). Not scaled: it is part of the contract.
pub const QUIET: Duration = Duration::from_secs(10);
/// How long after the creation of a PodClique an operator may treat changes as part of its start. Upstream
/// does so for 5 s, and creation times are truncated to whole seconds. Not scaled: the operator's clock
/// counts.
pub const START: Duration = Duration::from_secs(6);
