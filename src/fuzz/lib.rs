//! Generated workloads: a PodCliqueSet and a list of operations on it, drawn from a random seed.
//!
//! Hand-written cases only test situations that somebody thought of. Generated workloads test others, and
//! [`conformance_expect`] calculates the expected result. After every operation the PodCliqueSet must match
//! it, and every invariant must be satisfied throughout. A workload is run, checked and replayed like any
//! other case.
//!
//! - [`workload`]: the workload as data, in memory and in a file. `draw` creates one from a seed.
//! - `actions`: the table of actions, kinds and moments, and which of them are drawn. `draw_actions` creates
//!   a workload for each drawn cell.
//! - `expected_state`: the effect of operations, and whether they are valid.
//! - `drive`, `operate`, `checks`: the driver and the checks. `shrink`: smaller workloads that reduce a
//!   failure.
//! - [`near_limit`]: pairs of a manifest and nodes that hold its pods, or all but one. They test the check
//!   whether a workload fits its nodes, and not an operator.

mod actions;
mod checks;
mod draw;
mod draw_actions;
mod drive;
mod expected_state;
pub mod near_limit;
mod operate;
mod shrink;
pub mod workload;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use conformance_driver::case::{Case, Isolation, Need, Nodes, nodes};
use conformance_driver::created_case::CreatedCase;
use conformance_history::History;
use parking_lot::Mutex;

use expected_state::ExpectedState;
pub use workload::{GeneratedWorkload, Unreadable};

pub const GROUP: &str = "generated";

/// GPUs per node; each pod requests one.
const GPUS: u32 = 8;

impl GeneratedWorkload {
    /// The workload of a seed. It is always the same for one version of this suite.
    pub fn of_seed(seed: u64) -> Self {
        if draw_actions::SEEDS.contains(&seed) {
            return draw_actions::workload(seed);
        }
        draw::workload(seed)
    }

    /// Smaller workloads that can be run, largest reduction first.
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
        if self.operations.iter().any(|one| *one.inner() == workload::Operation::RestartOperator) {
            case.drive = |test| Box::pin(drive::drive_on_own_control_plane(test));
            case = case.isolation(Isolation::Dedicated);
        }
        if self.waits_in_init_containers() {
            // The init containers of a generated workload never end.
            case = case.needs(&[Need::SimulatedNodes]);
        }
        created.case(case)
    }

    /// Nodes with room for the largest number of pods at any time. If the workload has a topology constraint,
    /// there are two racks of this size, so that any placement leaves room for the rest.
    ///
    /// If the workload begins short, one node has room for all hard gangs except one pod, and the other nodes
    /// join later.
    fn nodes(&self) -> Vec<Nodes> {
        let state = ExpectedState::of(self);
        let racked = self.is_racked();
        // A terminating pod occupies its node until it is deleted.
        let room = state.max_pods() + 2;
        let (short, first_join) = match self.begins_short {
            true => (Some(state.minimum_pods() - 1), 1),
            false => (None, 0),
        };
        let placed = |node: Nodes, rack| if racked { node.rack(rack) } else { node };
        // The first node needs a rack too, because Volcano treats the cluster as one rack while no rack has a
        // HyperNode.
        let mut all: Vec<Nodes> =
            short.map(|places| placed(nodes(1).gpus(places), "first")).into_iter().collect();
        for rack in if racked { &["first", "second"][..] } else { &["any"] } {
            let of_rack = |node| placed(node, rack);
            let full = room / GPUS;
            all.extend((full > 0).then(|| of_rack(nodes(full).gpus(GPUS).joining(first_join))));
            let rest = room % GPUS;
            all.extend((rest > 0).then(|| of_rack(nodes(1).gpus(rest).joining(first_join))));
        }
        let joins =
            self.operations.iter().filter(|one| matches!(one.inner(), workload::Operation::NodeJoins));
        for (step, _) in (operate::FIRST_JOIN..).zip(joins) {
            all.push(placed(nodes(1).gpus(GPUS).joining(step), "second"));
        }
        all
    }
}

/// The case with this id, `generated/<seed>`.
pub fn case(id: &str) -> Option<&'static Case> {
    static KNOWN: LazyLock<Mutex<BTreeMap<u64, &'static Case>>> = LazyLock::new(Mutex::default);
    let name = id.strip_prefix(GROUP)?.strip_prefix('/')?;
    let seed: u64 = name.parse().ok()?;
    let mut known = KNOWN.lock();
    Some(known.entry(seed).or_insert_with(|| GeneratedWorkload::of_seed(seed).case(name)))
}

/// The case of a history, from the workload in it.
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

    #[test]
    fn nodes_have_room_for_all_pods() {
        for seed in (0..300).chain(draw_actions::SEEDS.take(300)) {
            let workload = GeneratedWorkload::of_seed(seed);
            let state = ExpectedState::of(&workload);
            let (max, minimum) = (state.max_pods(), state.minimum_pods());
            let nodes = workload.nodes();
            let gpus_at = |step: u32| -> u32 {
                let joined = nodes.iter().filter(|node| node.joining <= step);
                joined.map(|node| node.count * node.gpus).sum()
            };
            let (first, then) = (gpus_at(0), gpus_at(1));
            assert!(then > max, "{seed}: {then} GPUs for {max} pods");
            let is_short = first + 1 == minimum;
            assert_eq!(workload.begins_short, is_short, "{seed}: {first} GPUs for {minimum} pods");
        }
    }
}
