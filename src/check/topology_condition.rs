use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_history::{Live, condition, text};

use super::{Shown, none, violation};

const WRONG_CONDITION: Code = Code::new("wrong-topology-condition");
const TYPE: &str = "TopologyLevelsUnavailable";

/// The state of the ClusterTopologyBinding that a PodCliqueSet names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topology {
    HasLevels,
    LacksLevel,
    Deleted,
}

impl Topology {
    /// The documented statuses and reason. The user guide and proposal 244 differ about a deleted binding.
    fn documented(self) -> (&'static [&'static str], &'static str) {
        match self {
            Self::HasLevels => (&["False"], "AllClusterTopologyLevelsAvailable"),
            Self::LacksLevel => (&["True"], "ClusterTopologyLevelsUnavailable"),
            Self::Deleted => (&["True", "Unknown"], "ClusterTopologyNotFound"),
        }
    }
}

/// Requires that the condition of a PodCliqueSet reports the state of its topology (TOPO-20).
pub fn reports(live: &Live, set: &str, topology: Topology) -> Ruling {
    let Some(pcs) = live.get("PodCliqueSet", set) else {
        return Err(Broken::NotReached(format!("PodCliqueSet {set} does not exist")));
    };
    let found = condition(pcs, TYPE);
    let (status, reason) =
        found.map_or(("absent", ""), |found| (text(&found["status"]), text(&found["reason"])));
    let (statuses, wanted) = topology.documented();
    none((!statuses.contains(&status) || reason != wanted).then(|| {
        let message = format!(
            "PodCliqueSet {set}: {TYPE} is {status}/{reason}, want {}/{wanted}",
            statuses.join(" or ")
        );
        violation(WRONG_CONDITION, message).shown_by_object("its status", pcs)
    }))
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, object};
    use serde_json::json;

    use super::*;
    use crate::message;

    fn ruling(status: &str, reason: &str, topology: Topology) -> Ruling {
        let mut pcs = object("PodCliqueSet", "w");
        pcs["status"]["conditions"] = json!([{"type": TYPE, "status": status, "reason": reason}]);
        reports(&Story::flat().added(pcs).end().end(), "w", topology)
    }

    #[rstest::rstest]
    #[case::complete("False", "AllClusterTopologyLevelsAvailable", Topology::HasLevels, true)]
    #[case::not_noticed("False", "AllClusterTopologyLevelsAvailable", Topology::LacksLevel, false)]
    #[case::lacking("True", "ClusterTopologyLevelsUnavailable", Topology::LacksLevel, true)]
    #[case::another_reason("True", "ClusterTopologyNotFound", Topology::LacksLevel, false)]
    #[case::stale("True", "ClusterTopologyLevelsUnavailable", Topology::Deleted, false)]
    #[case::as_in_the_guide("Unknown", "ClusterTopologyNotFound", Topology::Deleted, true)]
    #[case::as_in_the_proposal("True", "ClusterTopologyNotFound", Topology::Deleted, true)]
    fn a_condition_that_does_not_report_the_topology_is_a_violation(
        #[case] status: &str,
        #[case] reason: &str,
        #[case] topology: Topology,
        #[case] is_right: bool,
    ) {
        let ruling = ruling(status, reason, topology);
        assert_eq!(ruling.is_ok(), is_right, "{ruling:?}");
    }

    #[test]
    fn a_missing_condition_is_a_violation() {
        let live = Story::flat().added(object("PodCliqueSet", "w")).end().end();
        let missing = message(reports(&live, "w", Topology::HasLevels));
        assert!(missing.contains("TopologyLevelsUnavailable is absent"), "{missing}");
        let early = reports(&Live::default(), "w", Topology::HasLevels);
        assert!(matches!(early, Err(Broken::NotReached(_))), "{early:?}");
    }
}
