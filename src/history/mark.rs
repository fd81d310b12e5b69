//! The names of marks: what a driver writes into a history, and a judge finds there again.
//!
//! Both sides name a mark by the same value, so that a judge cannot look for one that nobody writes. A mark that
//! drivers and judges share is a [`SharedMark`]; one that a single case writes and judges is a constant of that case.
//! The file format knows the texts alone: a history that was saved is judged again by the same names.

use std::fmt;

/// The name of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MarkName(&'static str);

impl MarkName {
    /// A mark that only one case writes and judges: a constant of its file.
    pub const fn of_case(name: &'static str) -> Self {
        Self(name)
    }

    /// As it is written into the file.
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

/// The list is written once: variants, names in the file and [`SharedMark::ALL`] cannot differ.
macro_rules! shared_marks {
    ($($(#[$doc:meta])+ $variant:ident = $name:literal,)+) => {
        /// The marks that more than one case's driver writes, or a judge that is not a case's own reads.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum SharedMark {
            $($(#[$doc])+ $variant,)+
        }

        impl SharedMark {
            /// Every one of them.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// As it is written into the file.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

shared_marks! {
    /// A PodCliqueSet was sent: `{"name"}`.
    Submitted = "submitted",
    /// All that a PodCliqueSet is to become is there, and its statuses say so: `{"name"}`.
    Converged = "converged",
    /// The operator has sent nothing for a while since, or was given its time for that.
    AtRest = "at rest",
    /// The barrier is behind the scheduler: until here a judge may say "never".
    SchedulerPassed = "scheduler passed",
    /// From here on there may be room for a gang that was short of it.
    RoomComes = "room comes",
    /// A pending gang has been tried again: `{"after"}`, and the scheduler has had its pass since.
    TriedAgain = "tried again",
    /// An object's replicas were changed: `{"kind", "name", "replicas"}`.
    Scaled = "scaled",
    /// An object was deleted, and the API server has confirmed it: `{"kind", "name"}`.
    Deleted = "deleted",
    /// The operator refuses a change of pod templates: `{"name", "message"}`.
    UpdateRefused = "update refused",
    /// A pod was taken away: `{"name", "by"}`.
    PodLost = "pod lost",
    /// The harness said in a kubelet's place what became of a bound pod: `{"name", "uid", "ready", "revision"}`, the last of the
    /// pod as it was then.
    PodSaid = "said of a pod",
    /// The next write is another client's, not the controller's: `{"kind", "name", "patch"}`, a JSON merge patch.
    WrittenByOthers = "written by others",
    /// What was in the namespace before the first submit: a list of objects with kind and metadata.
    Baseline = "baseline",
    /// All that was in the namespace when a deleted workload was gone or the wait for that ended: a list of objects with
    /// kind and metadata.
    LeftOver = "left over",
    /// The wait for a deleted namespace ended, whatever came of it.
    WaitedForNamespace = "waited for the namespace to go",
    /// What the operator requested to be written in the namespace from `since` until now, by the API server's audit log, no-ops
    /// and refused requests included: `{"since", "writes": [{"verb", "group", "resource", "name", "code"}]}`.
    OperatorWrites = "operator writes",
    /// The operator's metrics of the case's namespace, read when it had nothing left to do: `{"place", "numbers"}`, `place` being
    /// how long the history was; `{"place", "failed"}` if there was no answer, `{"unasked"}` with why nobody could ask.
    MetricsRead = "metrics read",
    /// The end of a watch over what should not change: `{"seconds"}`.
    WatchedForRest = "watched for rest",
    /// What was measured beside what is judged, by name.
    Measured = "measured",
    /// A wait ran out: `{"condition"}`.
    WaitRanOut = "wait ran out",
    /// The driver went on after a wait that had run out: what it judges does not depend on that.
    WentOn = "went on",
    /// How a driver stopped before its end, so that a replay judges as the run did: `{"cluster", "reason"}`.
    Stopped = "stopped",
    /// The run was interrupted: nothing that the case was to show is known.
    Interrupted = "interrupted",
    /// An attempt at the API server: `{"title", "reply"}`.
    Attempt = "attempt",
    /// Another backend than the target's: `{"scheduler", "foreign"}`, or `{"asked": [{"scheduler", "reply"}], "foreign"}`
    /// where there is none.
    AnotherBackend = "another backend",
    /// Which controller process runs, and what it says of itself: `{"pid", "readiness", "said"}`.
    Controller = "controller",
    /// How the controller started with a flawed configuration: `{"title", "code", "said"}`, the exit code null while it
    /// ran on.
    StartedWithFlaw = "started with a flawed configuration",
    /// A part of the control plane was stopped: `{"part"}`.
    PartTakenAway = "part taken away",
    /// Behind it everything is put back. What that does to a workload is not the case's: its judge speaks about the
    /// history up to here.
    PutBack = "put back",
    /// Explains gaps: the case itself has taken the API server away, and every watch had to list again. A judge of such
    /// a case speaks only about what a list shows as well.
    ApiServerRestarted = "API server restarted",
    /// A CRD was deleted: `{"name"}`.
    CrdTakenAway = "CRD taken away",
    /// It is served again: `{"name"}`.
    CrdPutBack = "CRD put back",
    /// A queue of Volcano's was closed: `{"name"}`.
    QueueClosed = "queue closed",
    /// The API server's record of bindings: `{"bindings": [{"pod", "user"}], "users": {scheduler: user}, "stoodInFor":
    /// [scheduler]}`. `users` is whom each scheduler binds as; the pods of those stood in for another one binds, because
    /// they do not run.
    BoundBy = "bound by",
    /// All containers of the case that ran then: a list of `{"node", "pod", "container", "devices"}`, devices by their
    /// ids.
    Allocated = "allocated",
    /// A version of the controller's lease: `{"resourceVersion", "spec"}`; no spec when it was deleted.
    Lease = "lease",
    /// The operator that is replaced has been stopped; what follows is the upgrade's: `{"from", "to"}`.
    UpgradeBegan = "upgrade began",
    /// The new operator was stopped before it had come to rest: `{"writes"}`, how many the watches had shown.
    UpgradeStopped = "upgrade stopped",
    /// The new operator has been ready, and has come to rest or has had its time for that.
    UpgradeEnded = "upgrade ended",
    /// Versions of the lease may be missing.
    LeaseLost = "lease lost from sight",
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
