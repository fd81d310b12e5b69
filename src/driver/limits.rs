//! All timeouts of the harness. Each is multiplied by `--timeout-scale` and by the [speed](crate::speed) of
//! the machine. The comment of each limit states what must happen within it.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    pub name: &'static str,
    /// Length at scale 1.
    pub length: Duration,
}

const fn seconds(name: &'static str, seconds: u64) -> Limit {
    Limit { name, length: Duration::from_secs(seconds) }
}

/// A controller creates, changes or deletes objects.
pub const REACTION: Limit = seconds("reaction", 20);
/// An operator notices new cluster-scoped companions. Not scaled, because this wait precedes the cases.
pub const COMPANIONS: Limit = seconds("companions", 5);
/// A scheduler decides on a gang.
pub const SCHEDULING: Limit = seconds("scheduling", 30);
/// A scheduler retries a gang that now fits. kube-scheduler's longest pause between two tries is 10 s.
pub const ANOTHER_TRY: Limit = seconds("another try", 15);
/// A scheduler that works in sessions retries a gang that now fits, after canaries proved a later session.
pub const LATER_SESSION: Limit = seconds("later session", 3);
/// A scheduler that picks among equal domains at random has retried many times, with growing backoff.
pub const RETRIES: Limit = seconds("retries", 90);
pub const CLEANUP: Limit = seconds("cleanup", 30);
/// A terminating namespace makes no progress: twice the longest backoff (1 min), because a try may fail.
pub const NAMESPACE_QUIET: Limit = seconds("namespace quiet", 120);
/// A namespace is deleted, even if it makes progress: many times the namespace controller's longest backoff.
pub const NAMESPACE_END: Limit = seconds("namespace end", 480);
/// A restarted component is ready and has caught up.
pub const RECOVERY: Limit = seconds("recovery", 60);
/// A scheduler or its backend learns the domains of new nodes. Koordinator polls every 10 s.
pub const TOPOLOGY_TREE: Limit = seconds("topology tree", 30);
/// Containers start from images that are already on their node, and statuses follow.
pub const CONTAINERS: Limit = seconds("containers", 60);
/// A kubelet, which may have to start first, reports that devices were added, removed or broken.
pub const DEVICES: Limit = seconds("devices", 60);
/// A kubelet fails for the first time to pull an image that does not exist.
pub const IMAGE_PULL: Limit = seconds("image pull", 60);
/// The pods of a lost node are replaced. Kubernetes evicts the pods of one such node per ten seconds.
pub const NODE_LOSS: Limit = seconds("node loss", 120);
/// A new release of the operator migrates the objects of the old release. Upstream polls every 5 s.
pub const MIGRATION: Limit = seconds("migration", 60);
/// A started operator makes its first writes.
pub const FIRST_WRITES: Limit = seconds("first writes", 5);
/// The operator's replicas are replaced, and another one becomes the leader.
pub const ROLLOUT: Limit = seconds("rollout", 90);
/// If a namespace has no writes for this long, no controller has work left there.
pub const SILENCE: Limit = seconds("silence", 2);
/// An operator observes all its own writes up to convergence, and sends no more writes.
pub const LAST_WRITES: Limit = seconds("last writes", 6);
/// The recorder receives everything that the API server has stored.
pub const SETTLE: Limit = seconds("settle", 10);
/// Interval between two polls, long enough not to load an API server, but short for a wait. Not scaled.
pub const PACE: Duration = Duration::from_millis(100);
/// Period in which nothing may change (GANG-11). Not scaled, because the contract states it.
pub const QUIET: Duration = Duration::from_secs(10);
/// Period in which an operator may treat changes of a new PodClique as part of its start. Upstream uses 5 s,
/// and creation times are truncated to whole seconds. Not scaled, because the operator's clock decides.
pub const START: Duration = Duration::from_secs(6);
