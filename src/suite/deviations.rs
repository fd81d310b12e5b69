//! Known deviations: clauses that a real scheduler breaks, each with its reason. They stay visible in every report; one
//! that passes unexpectedly turns the run red, because then this table no longer tells the truth.

use super::target::Target;

/// A clause that a target is known to break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deviation {
    /// Where.
    pub target: Target,
    /// What.
    pub clause: &'static str,
    /// The case that shows it.
    pub case: &'static str,
    /// The scheduler's version that it was seen on.
    pub version: &'static str,
    /// Why, and what it means for a user.
    pub reason: &'static str,
}

/// All of them.
pub const DEVIATIONS: &[Deviation] = &[
    Deviation {
        target: Target::KubePodGroup,
        clause: "AON-08",
        case: "aon/across-cliques",
        version: "v1.36.4",
        reason: "proposal 531 calls the flat mapping all-or-nothing across the PodGroups of one Workload; \
             kube-scheduler 1.36 schedules each PodGroup for itself, so one clique is bound while another cannot be",
    },
    Deviation {
        target: Target::Koordinator,
        clause: "GANG-12",
        case: "gang/restored-while-pending",
        version: "v1.8.0",
        reason: "a PodGroup that was deleted and is there again knows none of its pods until each of them changes: \
             koord-scheduler 1.8 leaves a pending gang pending, whatever room there is",
    },
];

/// The deviation that a case shows on a target, if it is known to.
pub fn of(case: &str, clause: &str, target: Target) -> Option<&'static Deviation> {
    DEVIATIONS.iter().find(|known| known.case == case && known.clause == clause && known.target == target)
}
