//! How long the harness waits for what, in one place. Every [`Limit`] is multiplied by the run's scale (`--timeout-scale`)
//! and by the [speed](crate::speed) of the machine, and starts over after a moment when that was too slow to tell.

use std::time::Duration;

/// A named limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Its name, as wait errors show it.
    pub name: &'static str,
    /// Its length at scale 1.
    pub length: Duration,
}

const fn seconds(name: &'static str, seconds: u64) -> Limit {
    Limit { name, length: Duration::from_secs(seconds) }
}

/// A controller reacts: objects created, changed, removed.
pub const REACTION: Limit = seconds("reaction", 20);
/// A scheduler decides about a gang.
pub const SCHEDULING: Limit = seconds("scheduling", 30);
/// A scheduler that has had its pass tries a gang once more, for which there is room. kube-scheduler's longest pause between two
/// tries is 10 s.
pub const ANOTHER_TRY: Limit = seconds("another try", 15);
/// The same of a scheduler that works in sessions, when a canary has shown that there was a later one.
pub const LATER_SESSION: Limit = seconds("later session", 3);
/// A scheduler that chooses between equal domains by chance, and tries again after a growing pause, has tried often.
pub const RETRIES: Limit = seconds("retries", 90);
/// Garbage collection ends.
pub const CLEANUP: Limit = seconds("cleanup", 30);
/// A namespace that is being deleted shows no progress. Its controller looks again only after a pause that grows to a
/// minute while pods and finalizers are left: twice that, so that one try in vain is none too many.
pub const NAMESPACE_QUIET: Limit = seconds("namespace quiet", 120);
/// A namespace ends, whatever progress it shows: many times its controller's longest pause.
pub const NAMESPACE_END: Limit = seconds("namespace end", 480);
/// A restarted part is back and has caught up.
pub const RECOVERY: Limit = seconds("recovery", 60);
/// A scheduler, or the backend for it, takes in what domains new nodes are in; Koordinator looks every 10 s.
pub const TOPOLOGY_TREE: Limit = seconds("topology tree", 30);
/// Containers of images that are on their node start, and statuses follow.
pub const CONTAINERS: Limit = seconds("containers", 60);
/// A kubelet, which may have to start first, tells the API server of devices that came, went or broke.
pub const DEVICES: Limit = seconds("devices", 60);
/// A kubelet fails for the first time to pull an image that nobody has.
pub const IMAGE_PULL: Limit = seconds("image pull", 60);
/// A node that stops talking is given up, its pods are deleted, and what replaces them runs. Nodes are given up one in
/// ten seconds.
pub const NODE_LOSS: Limit = seconds("node loss", 120);
/// A new release of the operator has moved what the old one made. Upstream's looks again every 5 s.
pub const MIGRATION: Limit = seconds("migration", 60);
/// An operator that was started has come to its first writes.
pub const FIRST_WRITES: Limit = seconds("first writes", 5);
/// The controller's replicas are replaced, and another one leads.
pub const ROLLOUT: Limit = seconds("rollout", 90);
/// Nothing is written in a namespace for so long: whoever had work left there has done it.
pub const SILENCE: Limit = seconds("silence", 2);
/// An operator has seen all that it wrote on the way to convergence, and sends nothing more.
pub const LAST_WRITES: Limit = seconds("last writes", 6);
/// The recorder catches up with the API server.
pub const SETTLE: Limit = seconds("settle", 10);
/// Between two questions about what nobody watches: no load for an API server, and short beside what is waited for. Not scaled.
pub const PACE: Duration = Duration::from_millis(50);
/// Nothing may change for so long (GANG-11). Not scaled: it is part of the contract.
pub const QUIET: Duration = Duration::from_secs(10);
/// How long after a PodClique was made an operator may take what happens to it for its start: upstream does for 5 s, and
/// creation times are cut to whole seconds. Not scaled: it runs by the operator's clock.
pub const START: Duration = Duration::from_secs(6);
