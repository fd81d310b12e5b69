//! Deviations of Koordinator that several cases show.

use conformance_contract::target::Target;
use conformance_contract::violation::Code;

use super::{Deviation, NOT_WHOLE, Occurs, RACE};

/// Koordinator retries a gang through one representative pod in its queue. That pod can be bound or dropped
/// while other pods of the gang still wait. The flush of its queue, that of kube-scheduler 1.35, skips pods
/// that PreEnqueue rejected.
pub(super) const fn loses_retried_gang(
    clause: &'static str,
    case: &'static str,
    shows: &'static [Code],
) -> Deviation {
    Deviation {
        target: Target::KOORDINATOR,
        clause,
        case,
        shows,
        version: "v1.8.0",
        occurs: RACE,
        reason: "koord-scheduler 1.8 sometimes loses a gang that it retries, or one pod of it (its log: \
                 \"already present in unschedulable queue\", \"representative pod ... already exists\"): new \
                 capacity does not trigger a retry; the flush of unschedulable pods retries pods that were \
                 tried, but not those that PreEnqueue rejected",
    }
}

/// Applies to cases that check only whether the second, smaller gang is bound whole.
pub(super) const fn remembers_name(case: &'static str) -> Deviation {
    Deviation {
        target: Target::KOORDINATOR,
        clause: "DEL-08",
        case,
        shows: NOT_WHOLE,
        version: "v1.8.0",
        occurs: RACE,
        reason: "koord-scheduler 1.8 remembers satisfied gangs by name: a gang of the same name that is created right \
                 after the deletion may be treated as satisfied, so its pods are bound one by one, and a pod that was \
                 rejected before is not retried",
    }
}

/// See `onPodDelete` and `onPodGroupDelete` of koord-scheduler 1.8.0.
pub(super) const fn drops_tombstones(clause: &'static str, shows: &'static [Code]) -> Deviation {
    Deviation {
        target: Target::KOORDINATOR,
        clause,
        case: "del/same-name-watches-broken",
        shows,
        version: "v1.8.0",
        occurs: Occurs::ByPace,
        reason: "koord-scheduler 1.8 ignores deletions that it learns from a list after a broken watch \
                 (koordinator-sh/koordinator#2911): its gang cache keeps pods and gangs that no longer exist, so \
                 a gang of the same name counts as satisfied",
    }
}

pub(super) const fn starves_small_gang(clause: &'static str, case: &'static str) -> Deviation {
    Deviation {
        target: Target::KOORDINATOR,
        clause,
        case,
        shows: NOT_WHOLE,
        version: "v1.8.0",
        occurs: Occurs::ByPace,
        reason: "koord-scheduler 1.8 repeatedly tries a gang that does not fit, and each time reserves the \
                 free capacity for the pods that would fit; a smaller gang that is created later does not \
                 get that capacity, possibly indefinitely",
    }
}
