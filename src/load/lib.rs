//! Scale: a requested number of pods in gangs of mixed shapes, on a requested number of simulated nodes. They
//! are checked, updated if requested, deleted, and checked again. For comparison the scheduler alone gets the
//! same pods and gang resources, without an operator.
//!
//! - `size`: the numbers of nodes and pods, and whether they fit. `shapes`: the PodCliqueSets.
//! - `drive`, `judge`: the case. `keep`: reduces its history, because complete objects would take gigabytes.
//! - `alone`: the scheduler without the operator. `figures`: the measurements.
//!
//! PodCliqueSets are small and many. Checks that compare all objects of a PodCliqueSet with each other get
//! one PodCliqueSet at a time.

mod alone;
mod drive;
mod figures;
mod judge;
mod keep;
mod shapes;
mod size;

use conformance_driver::case::{Case, Isolation, Nodes, nodes};
use conformance_history::History;

pub use size::{DoesNotFit, NoSize, Size};

pub const GROUP: &str = "scale";

impl Size {
    pub fn case(self) -> &'static Case {
        // A process creates one or two, which live as long as those of the registry.
        let id: &'static str = format!("{GROUP}/{self}").leak();
        let given: &'static [Nodes] = vec![nodes(self.nodes).gpus(self.gpus)].leak();
        let case = match self.updates {
            false => Case::new(
                "Many gangs of mixed shapes are bound whole and completely deleted",
                |test| Box::pin(drive::drive(test, false)),
                |history| judge::judge(history, false),
            ),
            true => Case::new(
                "Many gangs of mixed shapes are bound whole, updated step by step and completely deleted",
                |test| Box::pin(drive::drive(test, true)),
                |history| judge::judge(history, true),
            ),
        };
        let manifest: &'static str = shapes::manifest(self.pods).leak();
        let case = case.registered(id, manifest).clauses(judge::clauses(self.updates).leak()).nodes(given);
        Box::leak(Box::new(case.isolation(Isolation::Exclusive).keeping(keep::kept)))
    }
}

/// The case of a history.
pub fn replayed(history: &History) -> Option<&'static Case> {
    let size: Size = history.header.case.strip_prefix(GROUP)?.strip_prefix('/')?.parse().ok()?;
    Some(size.case())
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::Story;

    use super::*;

    #[test]
    fn a_case_is_found_by_its_history() {
        let case = "50x8-300-update".parse::<Size>().unwrap().case();
        assert_eq!((case.id, case.nodes[0].count, case.nodes[0].gpus), ("scale/50x8-300-update", 50, 8));
        let mut history = Story::flat().end();
        assert!(replayed(&history).is_none());
        history.header.case = case.id.into();
        let again = replayed(&history).map(|again| (again.manifest, again.clauses));
        assert_eq!(again, Some((case.manifest, case.clauses)));
    }
}
