//! Known deviations: clauses that a real scheduler violates, each with its reason. They stay visible in every
//! report; one that passes unexpectedly fails the run, because its entry is then out of date.

use conformance_contract::target::Target;
use conformance_contract::violation::Violation;

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
    /// What every violation says where it is this: anything else is a failure like any other.
    pub shows: &'static str,
    /// Whether it shows every time. One that is a race passes now and then, which is no news.
    pub always: bool,
    /// Why, and what it means for a user.
    pub reason: &'static str,
}

/// All of them.
pub const DEVIATIONS: &[Deviation] = &[
    Deviation {
        target: Target::KubePodGroup,
        clause: "AON-08",
        case: "aon/across-cliques",
        shows: "were bound, though it could not be bound whole",
        version: "v1.36.4",
        always: true,
        reason: "proposal 531 calls the flat mapping all-or-nothing across the PodGroups of one Workload; \
                 kube-scheduler 1.36 schedules each PodGroup for itself, so one clique is bound while another cannot be",
    },
    Deviation {
        target: Target::Volcano,
        clause: "AON-02",
        case: "aon/nothing-requested",
        shows: "were bound, though it could not be bound whole",
        version: "v1.14.1",
        always: true,
        reason: "a pod that requests no resources is best effort to Volcano: backfill binds it by itself, whatever its \
                 gang (allocate skips it, and it counts as ready from the start)",
    },
    Deviation {
        target: Target::Koordinator,
        clause: "GANG-12",
        case: "gang/restored-while-pending",
        shows: "is not bound whole",
        version: "v1.8.0",
        always: false,
        reason: "a PodGroup that was deleted and is there again knows none of its pods until each of them changes, as \
                 one does that is being tried just then: else koord-scheduler 1.8 leaves a pending gang pending, \
                 whatever room there is",
    },
    Deviation {
        target: Target::Koordinator,
        clause: "DEL-08",
        case: "del/same-name-again",
        shows: "is not bound whole",
        version: "v1.8.0",
        always: false,
        reason: "koord-scheduler 1.8 keeps by name that a gang was satisfied once; one of the same name made right after \
                 can be taken for it, its pods go one by one, and one that was held back before is forgotten",
    },
    Deviation {
        target: Target::Koordinator,
        clause: "AON-07",
        case: "aon/scaled-is-whole-or-not",
        shows: "are bound",
        version: "v1.8.0",
        always: false,
        reason: "now and then koord-scheduler 1.8 loses a gang that it retries (its log: \"already present in unschedulable \
                 queue\"): new room does not wake it, only the flush of unschedulable pods does",
    },
    koordinator_starves("AON-04", "aon/room-for-one", "the unit of tiny-0"),
    koordinator_starves("AON-10", "aon/pending-blocks-nobody", "the unit of small-0"),
    kai_namesakes("AON-01", "of the gang that fits are bound", false),
    kai_namesakes("AON-02", "were bound, though it could not be bound whole", true),
];

const fn koordinator_starves(clause: &'static str, case: &'static str, shows: &'static str) -> Deviation {
    Deviation {
        target: Target::Koordinator,
        clause,
        case,
        shows,
        version: "v1.8.0",
        always: false,
        reason: "koord-scheduler 1.8 tries a gang that does not fit again and again, and each time holds what room there \
                 is for the pods that would fit; a smaller gang that comes later finds it taken, possibly indefinitely",
    }
}

/// KAI 0.17 and earlier; mended upstream by KAI-Scheduler #2095 (backport #2138).
const fn kai_namesakes(clause: &'static str, shows: &'static str, always: bool) -> Deviation {
    Deviation {
        target: Target::Kai,
        clause,
        case: "aon/namesakes",
        shows,
        version: "v0.17.0",
        always,
        reason: "KAI knows a PodGroup by its name alone: PodGroups of one name in two namespaces are one gang to it, \
                 which takes the pods of the one for the minimum of the other",
    }
}

/// The deviation that a case shows on a target, if it is known to.
pub fn of(case: &str, clause: &str, target: Target) -> Option<&'static Deviation> {
    DEVIATIONS.iter().find(|known| known.case == case && known.clause == clause && known.target == target)
}

impl Deviation {
    /// Whether violations are this deviation and nothing else.
    pub fn explains(&self, violations: &[Violation]) -> bool {
        violations.iter().all(|violation| violation.message.contains(self.shows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_fault_is_no_known_deviation() {
        let known = &DEVIATIONS[0];
        let said = |message: &str| Violation::new(message, []);
        let bound = "2 pods of the unit of g were bound, though it could not be bound whole";
        assert!(known.explains(&[said(bound)]));
        assert!(!known.explains(&[said(bound), said("a pod is on a node of another case")]));
    }
}
