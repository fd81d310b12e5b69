//! The load test (`load`): many gangs of mixed shapes on many simulated nodes are bound, updated if
//! requested, and deleted. Then the scheduler binds copies of them without an operator, for comparison.
//!
//! - `size`: the numbers of nodes and pods, and whether they fit. `shapes`: the PodCliqueSets.
//! - `preempt`: the variant in which gangs of high priority evict gangs of low priority.
//! - `drive`, `checks`: the case. `keep`: reduces its history, because whole objects would take gigabytes.
//! - `alone`: the scheduler without the operator. `figures`: the measurements.
//!
//! Checks that compare objects with each other are applied to one PodCliqueSet at a time.

mod alone;
mod checks;
mod drive;
mod figures;
mod keep;
mod preempt;
mod shapes;
mod size;

use conformance_driver::case::{Case, Isolation, nodes};
use conformance_driver::created_case::CreatedCase;
use conformance_history::History;

pub use size::{DoesNotFit, NoSize, Size};

pub const GROUP: &str = "scale";

impl Size {
    pub fn case(self) -> &'static Case {
        let (case, clauses, manifest) = if self.preempts {
            let case = Case::new(
                "Gangs of high priority are bound, and no evicted gang stays bound in part",
                |test| Box::pin(preempt::drive(test)),
                preempt::check,
            );
            let manifest = shapes::manifest_of_contenders(self.pods);
            (case.isolation(Isolation::Dedicated), preempt::CLAUSES.to_vec(), manifest)
        } else {
            let case = if self.updates {
                Case::new(
                    "Many gangs of mixed shapes are bound whole, updated step by step and completely deleted",
                    |test| Box::pin(drive::drive(test, true)),
                    |history| checks::check(history, true),
                )
            } else {
                Case::new(
                    "Many gangs of mixed shapes are bound whole and completely deleted",
                    |test| Box::pin(drive::drive(test, false)),
                    |history| checks::check(history, false),
                )
            };
            let manifest = shapes::manifest(self.pods);
            (case.isolation(Isolation::Exclusive), checks::clauses(self.updates), manifest)
        };
        let created = CreatedCase {
            id: format!("{GROUP}/{self}"),
            manifest,
            clauses,
            nodes: vec![nodes(self.nodes).gpus(self.gpus)],
        };
        created.case(case.keeping(keep::reduce))
    }
}

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
        let preempting = "10x8-80-preempt".parse::<Size>().unwrap().case();
        assert_eq!((preempting.clauses, preempting.isolation), (&preempt::CLAUSES[..], Isolation::Dedicated));
        let case = "50x8-300-update".parse::<Size>().unwrap().case();
        assert_eq!((case.id, case.nodes[0].count, case.nodes[0].gpus), ("scale/50x8-300-update", 50, 8));
        let mut history = Story::flat().end();
        assert!(replayed(&history).is_none());
        history.header.case = case.id.into();
        let again = replayed(&history).map(|again| (again.manifest, again.clauses));
        assert_eq!(again, Some((case.manifest, case.clauses)));
    }
}
