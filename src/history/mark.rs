//! The names of marks. Driver and check use the same value, so a check cannot look for one that is never
//! written.

use std::fmt;

/// The name of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MarkName(&'static str);

impl MarkName {
    /// A mark that only one case writes and reads, as a constant in its file.
    pub const fn of_case(name: &'static str) -> Self {
        Self(name)
    }

    /// The text in the file.
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

/// The marks of a case: a constant, and its name in the history.
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

            /// The text in the file.
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
    /// All expected objects of a PodCliqueSet exist, and its statuses report that: `{"name"}`.
    Converged = "converged",
    /// The operator has sent nothing for a while, or the limit for that has passed.
    OperatorIdle = "at rest",
    /// The scheduler has made a full pass. Up to here a check may conclude that something never happened.
    SchedulerPassed = "scheduler passed",
    /// From here on there may be capacity for a gang that did not fit before.
    RoomAvailable = "room comes",
    /// The scheduler has retried a pending gang and made a full pass: `{"after"}`.
    Retried = "tried again",
    /// The driver changes the replicas of an object: `{"kind", "name", "replicas"}`.
    Scaled = "scaled",
    /// Admission may add fields to pods: it is not the harness's, or the user's manifest changes it.
    ForeignAdmission = "admission of others",
    /// The driver deletes an object: `{"kind", "name"}`. The mark precedes the request.
    Deleted = "deleted",
    /// The API server refused a change of pod templates: `{"name", "message"}`.
    UpdateRefused = "update refused",
    /// The driver deletes a pod or makes it fail: `{"name", "by"}`. The mark precedes the request.
    PodLost = "pod lost",
    /// The harness has set a bound pod's status in place of a kubelet: `{"name", "uid", "ready",
    /// "revision"}`, with the resourceVersion after the write.
    PodStatusSet = "said of a pod",
    /// The next write is by another client: `{"kind", "name", "patch"}`, a JSON merge patch.
    WrittenByOthers = "written by others",
    /// The objects in the namespace before the first submit: a list with kind and metadata.
    Baseline = "baseline",
    /// The objects in the namespace after the wait for a workload's deletion: a list with kind and metadata.
    LeftOver = "left over",
    /// The wait for a deleted namespace has ended, regardless of the outcome.
    WaitedForNamespace = "waited for the namespace to go",
    /// The operator's write requests since `since`, from the audit log, also refused ones: `{"since",
    /// "writes": [{"verb", "group", "resource", "name", "code"}]}`.
    OperatorWrites = "operator writes",
    /// The operator's metrics when it was idle: `{"place", "numbers"}`, where `place` is the length of the
    /// history; `{"place", "failed"}` without a response, and `{"unasked"}` if metrics cannot be requested.
    MetricsRead = "metrics read",
    /// The end of a period in which nothing should change: `{"seconds"}`.
    IdlePeriodEnded = "watched for rest",
    /// Measured figures by name. No check uses them.
    Measured = "measured",
    /// A wait timed out: `{"condition"}`.
    WaitTimedOut = "wait ran out",
    /// The driver continued after a timeout, because its checks do not depend on that wait.
    ContinuedAfterTimeout = "went on",
    /// The driver stopped early: `{"cluster", "reason"}`. A replay decides by this mark as the run did.
    Stopped = "stopped",
    /// The run was interrupted, so the case shows nothing.
    Interrupted = "interrupted",
    /// An attempted request to the API server: `{"title", "reply"}`.
    Attempt = "attempt",
    /// A backend other than the target's: `{"scheduler", "foreign"}`, or `{"asked": [{"scheduler", "reply"}],
    /// "foreign"}`. `foreign`: the harness did not write the operator's configuration.
    AnotherBackend = "another backend",
    /// The operator's process and its log: `{"pid", "readiness", "said"}`. If the operator exited before
    /// it was ready, it is `{"exited", "said"}`, with how it ended.
    Controller = "controller",
    /// The start with a flawed configuration: `{"title", "code", "said"}`; `code` is null while it runs.
    StartedWithFlaw = "started with a flawed configuration",
    /// A component of the control plane was stopped: `{"part"}`.
    ComponentStopped = "part taken away",
    /// The harness restores everything after this mark. The checks of the case use the history up to here.
    Restored = "put back",
    /// The case itself restarted the API server, so every watch had to list again and left a gap. Checks of
    /// such a case use only what a list also shows.
    ApiServerRestarted = "API server restarted",
    /// The driver deletes a CRD: `{"name"}`. The mark precedes the request.
    CrdDeleted = "CRD taken away",
    /// The deleted CRD is served again: `{"name"}`.
    CrdRestored = "CRD put back",
    /// The driver closes a Volcano queue: `{"name"}`. The mark precedes the request.
    QueueClosed = "queue closed",
    /// The API server's record of bindings: `{"bindings": [{"pod", "user"}], "users": {scheduler: user},
    /// "stoodInFor": [scheduler]}`. The schedulers in `stoodInFor` do not run; another one binds their pods.
    BoundBy = "bound by",
    /// The running containers of the case: a list of `{"node", "pod", "container", "devices"}`.
    Allocated = "allocated",
    /// A version of the operator's lease: `{"resourceVersion", "spec"}`, without spec after its deletion.
    Lease = "lease",
    /// The old operator has been stopped, and the upgrade starts: `{"of", "from", "to"}`.
    UpgradeStarted = "upgrade began",
    /// The new operator was stopped before it was idle: `{"writes"}`, the number of writes delivered.
    UpgradeStopped = "upgrade stopped",
    /// The new operator has been ready, and is idle or has reached the limit for that.
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
