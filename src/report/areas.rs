//! The areas of the published results: each clause belongs to one, by its group or by its id.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Area {
    Admission,
    GangCreation,
    AllOrNothing,
    Topology,
    Deletion,
    Lifecycle,
    Contention,
    Other,
}

/// Clauses about workloads that compete for the same nodes, although their group belongs to another area.
const CONTENTION: [&str; 6] = ["AON-04", "AON-10", "DEL-05", "TERM-09", "TERM-17", "UPD-06"];

impl Area {
    pub(super) const ALL: [Area; 8] = [
        Area::Admission,
        Area::GangCreation,
        Area::AllOrNothing,
        Area::Topology,
        Area::Deletion,
        Area::Lifecycle,
        Area::Contention,
        Area::Other,
    ];

    /// The areas of README.md's matrix.
    pub(super) const IN_README: [Area; 6] = [
        Area::GangCreation,
        Area::AllOrNothing,
        Area::Topology,
        Area::Deletion,
        Area::Lifecycle,
        Area::Contention,
    ];

    pub(super) fn title(self) -> &'static str {
        match self {
            Area::Admission => "admission",
            Area::GangCreation => "gang creation",
            Area::AllOrNothing => "all-or-nothing",
            Area::Topology => "topology",
            Area::Deletion => "deletion",
            Area::Lifecycle => "lifecycle",
            Area::Contention => "contention",
            Area::Other => "other",
        }
    }

    /// A clause of an unknown group belongs to [`Area::Other`].
    pub(super) fn of(clause: &str) -> Self {
        if CONTENTION.contains(&clause) {
            return Area::Contention;
        }
        match super::compact::group_of(clause) {
            "ADM" => Area::Admission,
            "GANG" | "KAI" | "KUBE" | "VOL" | "KOORD" | "EXT" => Area::GangCreation,
            "AON" => Area::AllOrNothing,
            "TOPO" => Area::Topology,
            "DEL" => Area::Deletion,
            "STAT" | "TERM" | "START" | "UPD" | "AUTO" | "MIG" => Area::Lifecycle,
            "PRE" | "WAKE" => Area::Contention,
            _ => Area::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use conformance_contract::clauses::{CLAUSES, GROUPS, is_known};

    use super::*;

    #[test]
    fn every_group_has_an_area() {
        assert!(CONTENTION.iter().all(|id| is_known(id)));
        let others: Vec<&str> = GROUPS
            .iter()
            .map(|group| group.id)
            .filter(|id| Area::of(&format!("{id}-00")) == Area::Other)
            .collect();
        assert_eq!(others, ["COEX", "KLT", "TRN", "AIC"], "put a new group into an area");
        for area in Area::ALL {
            assert!(CLAUSES.iter().any(|clause| Area::of(clause.id) == area), "{} is empty", area.title());
        }
    }
}
