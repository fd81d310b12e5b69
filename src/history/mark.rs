//! The names of marks. Driver and check use one constant, so no check looks for a mark that no driver writes.

use std::fmt;

/// The name of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MarkName(&'static str);

impl MarkName {
    /// Creates the name of a mark that only one case writes and reads. The case's file has it as a constant.
    pub const fn of_case(name: &'static str) -> Self {
        Self(name)
    }

    /// The name in the history file.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for MarkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl From<SharedMark> for MarkName {
    fn from(mark: SharedMark) -> Self {
        Self(mark.as_str())
    }
}

/// Defines the marks of a case, each as a constant with its name in the history.
#[macro_export]
macro_rules! marks {
    ($($(#[$doc:meta])* $visibility:vis $mark:ident = $name:literal;)+) => {
        $($(#[$doc])* $visibility const $mark: $crate::MarkName = $crate::MarkName::of_case($name);)+
    };
}

macro_rules! shared_marks {
    ($($(#[$doc:meta])+ $variant:ident = $name:literal,)+) => {
        /// The marks that several cases write, or that shared checks read.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum SharedMark {
            $($(#[$doc])+ $variant,)+
        }

        impl SharedMark {
            /// All marks.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The name in the history file.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

shared_marks! {
    /// The driver submits a PodCliqueSet: `{"name"}`.
    Submitted = "submitted",
    /// All expected objects of a PodCliqueSet exist, with complete or settled statuses: `{"name"}`.
    Converged = "converged",
    /// The operator has sent no writes for a while, or the limit for this wait has passed.
    OperatorIdle = "at rest",
    /// The scheduler made a full pass. A check may conclude that something never happened before this mark.
    SchedulerPassed = "scheduler passed",
    /// After this mark, there may be capacity for a gang that did not fit before.
    RoomAvailable = "room comes",
    /// The scheduler has retried a pending gang and made a full pass: `{"after"}`.
    Retried = "tried again",
    /// The driver changes the replicas of an object: `{"kind", "name", "replicas"}`.
    Scaled = "scaled",
    /// Others may add fields to pods: webhooks of an existing cluster, or objects in the user's manifest.
    ForeignAdmission = "admission of others",
    /// The driver deletes an object: `{"kind", "name"}`. The mark precedes the request.
    Deleted = "deleted",
    /// The API server refused a change of pod templates: `{"name", "message"}`.
    UpdateRefused = "update refused",
    /// The driver deletes a pod or makes it fail: `{"name", "by"}`. The mark precedes the request.
    PodLost = "pod lost",
    /// The harness set the status of a pod or a simulated node instead of a kubelet: `{"kind", "name", "uid",
    /// "revision", "status"}`, with the resourceVersion after the write and the fields that must last.
    StatusSet = "status set",
    /// A client other than the operator writes next: `{"kind", "name", "patch"}`, a JSON merge patch.
    WrittenByOthers = "written by others",
    /// The objects in the namespace before the first submit: a list with kind and metadata.
    Baseline = "baseline",
    /// The objects in the namespace after the wait for a workload's deletion: a list with kind and metadata.
    LeftOver = "left over",
    /// The wait for the deletion of a namespace has ended, regardless of the outcome.
    WaitedForNamespace = "waited for the namespace to go",
    /// The operator's write requests since `since` from the audit log, including rejected ones: `{"since",
    /// "writes": [{"verb", "group", "resource", "name", "code"}]}`.
    OperatorWrites = "operator writes",
    /// The operator's metrics when it was idle: `{"place", "numbers"}`, where `place` is the length of the
    /// history. Without a response, `{"place", "failed"}`; if metrics cannot be requested, `{"unasked"}`.
    MetricsRead = "metrics read",
    /// A period in which nothing should change has ended: `{"seconds"}`.
    IdlePeriodEnded = "watched for rest",
    /// Measurements by name. No check uses them.
    Measured = "measured",
    /// A wait timed out: `{"condition"}`.
    WaitTimedOut = "wait ran out",
    /// The driver continued after a timeout, because its checks do not depend on the awaited state.
    ContinuedAfterTimeout = "went on",
    /// The driver stopped early: `{"cluster", "reason"}`. With this mark, a replay decides as the run did.
    Stopped = "stopped",
    /// The run was interrupted, so the history proves nothing.
    Interrupted = "interrupted",
    /// An attempted request to the API server: `{"title", "reply"}`.
    Attempt = "attempt",
    /// A backend other than the target's: `{"scheduler", "foreign"}`, or `{"asked": [{"scheduler", "reply"}],
    /// "foreign"}` without one. `foreign`: the harness did not write the operator's configuration.
    AnotherBackend = "another backend",
    /// The operator's process and log: `{"pid", "readiness", "said"}`, or `{"exited", "said"}` if it exited
    /// before it was ready.
    Controller = "controller",
    /// The operator was started with a flaw: `{"title", "code", "said"}`. `code` is null if it kept running.
    StartedWithFlaw = "started with a flawed configuration",
    /// A component of the control plane was stopped: `{"part"}`.
    ComponentStopped = "part taken away",
    /// The harness restores everything after this mark. The checks of the case use the history before.
    Restored = "put back",
    /// The case itself restarted the API server, so every watch listed again and recorded a gap. Checks of
    /// such a case use only what a list also shows.
    ApiServerRestarted = "API server restarted",
    /// The driver deletes a CRD: `{"name"}`. The mark precedes the request.
    CrdDeleted = "CRD taken away",
    /// The deleted CRD is served again: `{"name"}`.
    CrdRestored = "CRD put back",
    /// The driver closes a Volcano queue: `{"name"}`. The mark precedes the request.
    QueueClosed = "queue closed",
    /// The bindings in the audit log: `{"bindings": [{"pod", "user"}], "users": {scheduler: user},
    /// "stoodInFor": [scheduler]}`. A scheduler in `stoodInFor` does not run; another one binds its pods.
    BoundBy = "bound by",
    /// The running containers of the case: a list of `{"node", "pod", "container", "devices"}`.
    Allocated = "allocated",
    /// A version of the operator's lease: `{"resourceVersion", "spec"}`. Without `spec` after a deletion.
    Lease = "lease",
    /// The old operator is stopped, and the upgrade starts: `{"of", "from", "to"}`.
    UpgradeStarted = "upgrade began",
    /// The new operator was killed before it was idle: `{"writes"}`, the number of its writes so far.
    UpgradeStopped = "upgrade stopped",
    /// The new operator has become ready, and is idle or has reached the limit for that.
    UpgradeEnded = "upgrade ended",
    /// The watch of the lease failed, so versions of the lease may be missing.
    LeaseWatchLost = "lease lost from sight",
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<_> = SharedMark::ALL.iter().map(|mark| mark.as_str()).collect();
        assert_eq!(names.len(), SharedMark::ALL.len());
    }
}
