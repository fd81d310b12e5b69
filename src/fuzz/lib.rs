//! Generated workloads: a PodCliqueSet and a list of operations on it, drawn from a random seed.
//!
//! Hand-written cases test only situations that somebody thought of. Generated workloads test other
//! situations, and [`conformance_expect`] calculates the expected result. After every operation, the
//! PodCliqueSet must match this result, and every invariant must be satisfied throughout.
//!
//! - [`workload`]: the workload as data, in memory and in a file. `draw` creates one from a seed.
//! - `actions`: the table of actions, kinds and moments. `draw_actions`: a workload for each drawn cell.
//! - `draw_extras`: adds features of user manifests to a drawn workload, such as sidecars, claims or similar
//!   names. `surroundings`: the other objects of such a workload. `nodes`: its nodes.
//! - `draw_contention`, `contention`: a PodCliqueSet of higher priority that needs every GPU, and its checks.
//! - `expected_state`: the effect of operations, and whether they are valid.
//! - `drive`, `operate`, `checks`, `surroundings_checks`: driver and checks. `shrink`, `shrink_pcs`: smaller
//!   variants.
//! - [`near_limit`]: pairs of a manifest and nodes with room for all of its pods, or for all but one. They
//!   test the suite's own check whether a workload fits its nodes, not an operator.

mod actions;
mod checks;
mod contention;
mod draw;
mod draw_actions;
mod draw_contention;
mod draw_extras;
mod drive;
mod expected_state;
pub mod near_limit;
mod nodes;
mod operate;
mod shrink;
mod shrink_pcs;
mod surroundings;
mod surroundings_checks;
pub mod workload;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use conformance_driver::case::{Case, Isolation};
use conformance_driver::created_case::CreatedCase;
use conformance_history::History;
use parking_lot::Mutex;

pub use workload::{GeneratedWorkload, Unreadable};

pub const GROUP: &str = "generated";

impl GeneratedWorkload {
    /// The workload of a seed. It is always the same for one version of this suite.
    pub fn of_seed(seed: u64) -> Self {
        if draw_actions::SEEDS.contains(&seed) {
            return draw_actions::workload(seed);
        }
        if draw_extras::SEEDS.contains(&seed) {
            return draw_extras::workload(seed);
        }
        if draw_contention::SEEDS.contains(&seed) {
            return draw_contention::workload(seed);
        }
        draw::workload(seed)
    }

    pub fn smaller(&self) -> Vec<Self> {
        shrink::candidates(self)
    }

    pub fn case(&self, name: &str) -> &'static Case {
        let created = CreatedCase {
            id: format!("{GROUP}/{name}"),
            manifest: self.text(),
            clauses: checks::clauses(self),
            nodes: self.nodes(),
        };
        let mut case = Case::new(
            "A generated workload matches the calculation after every operation",
            |test| Box::pin(drive::drive(test)),
            checks::check,
        );
        let restarts = |one: &workload::Operation| *one.inner() == workload::Operation::RestartOperator;
        if self.preempts() || self.operations.iter().any(restarts) {
            case.drive = |test| Box::pin(drive::drive_on_own_control_plane(test));
            case = case.isolation(Isolation::Dedicated);
        }
        created.case(case.needs(self.needs()))
    }
}

pub fn case(id: &str) -> Option<&'static Case> {
    static KNOWN: LazyLock<Mutex<BTreeMap<u64, &'static Case>>> = LazyLock::new(Mutex::default);
    let name = id.strip_prefix(GROUP)?.strip_prefix('/')?;
    let seed: u64 = name.parse().ok()?;
    let mut known = KNOWN.lock();
    Some(known.entry(seed).or_insert_with(|| GeneratedWorkload::of_seed(seed).case(name)))
}

pub fn replayed(history: &History) -> Option<&'static Case> {
    let name = history.header.case.strip_prefix(GROUP)?.strip_prefix('/')?;
    let mark = history.marks(drive::WORKLOAD).next()?.1;
    Some(GeneratedWorkload::read(mark.detail.as_str()?).ok()?.case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_found_by_its_seed_and_by_its_history() {
        let case = case("generated/17").unwrap();
        assert_eq!(case.id, "generated/17");
        assert!(super::case("generated/x").is_none() && super::case("aon/exact-fit-bound").is_none());
        let story = conformance_history::testing::Story::flat();
        let mut history = story.mark(drive::WORKLOAD, case.manifest.into()).end();
        history.header.case = "generated/17".into();
        let again = replayed(&history).unwrap();
        assert_eq!((again.id, again.manifest, again.clauses), (case.id, case.manifest, case.clauses));
    }
}
