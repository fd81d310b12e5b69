//! Generated workloads: a PodCliqueSet and a list of operations on it, drawn from a random seed.
//!
//! Hand-written cases test what somebody thought of. Here the model is the suite's own calculation
//! ([`conformance_expect`]). After every operation the PodCliqueSet must match it, and every invariant must
//! be satisfied throughout. A workload is a normal case, with nodes, a history, clauses, a verdict and a
//! replay.
//!
//! - [`plan`]: the workload as data, in memory and in a file. `draw` creates one from a seed.
//! - `course`: the effect of operations, and whether they are valid.
//! - `drive`, `judge`: the driver and the checks. `shrink`: smaller workloads that reduce a failure.

mod course;
mod draw;
mod drive;
mod judge;
pub mod plan;
mod shrink;

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use conformance_driver::case::{Case, Nodes, nodes};
use conformance_history::History;

use course::Course;
pub use plan::{Plan, Unreadable};

pub const GROUP: &str = "generated";

/// GPUs per node; each pod requests one.
const GPUS: u32 = 8;

impl Plan {
    /// The workload of a seed. It is always the same for one version of this suite.
    pub fn of_seed(seed: u64) -> Self {
        draw::plan(seed)
    }

    /// Smaller workloads that can be run, largest reduction first.
    pub fn smaller(&self) -> Vec<Self> {
        shrink::candidates(self)
    }

    pub fn case(&self, name: &str) -> &'static Case {
        // A case that is looked up by name is created once; a shrunk one is leaked until the process ends.
        let id: &'static str = format!("{GROUP}/{name}").leak();
        let clauses: &'static [&'static str] = judge::clauses(self).leak();
        let given: &'static [Nodes] = self.nodes().leak();
        let case = Case::new(
            "A generated workload matches the calculation after every operation",
            |test| Box::pin(drive::drive(test)),
            judge::judge,
        );
        let text: &'static str = self.text().leak();
        Box::leak(Box::new(case.registered(id, text).clauses(clauses).nodes(given)))
    }

    /// Room for all pods at any time, twice if racks matter, so that any placement leaves room for the rest.
    /// For a plan that begins short, the first node has room for one pod less than all hard gangs; the rest
    /// joins later.
    fn nodes(&self) -> Vec<Nodes> {
        let course = Course::of(self);
        let racked = self.is_racked();
        // A terminating pod keeps its place until it is deleted.
        let room = course.most_pods() + 2;
        let (short, first_join) = match self.begins_short {
            true => (Some(course.minimum() - 1), 1),
            false => (None, 0),
        };
        let placed = |node: Nodes, rack| if racked { node.rack(rack) } else { node };
        // Even this node needs a rack: Volcano treats the cluster as one rack while no rack has a HyperNode.
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
            self.operations.iter().filter(|operation| matches!(operation, plan::Operation::NodeJoins));
        for (step, _) in (drive::FIRST_JOIN..).zip(joins) {
            all.push(placed(nodes(1).gpus(GPUS).joining(step), "second"));
        }
        all
    }
}

/// The case with this id, `generated/<seed>`.
pub fn case(id: &str) -> Option<&'static Case> {
    static KNOWN: LazyLock<Mutex<BTreeMap<u64, &'static Case>>> = LazyLock::new(Mutex::default);
    let word = id.strip_prefix(GROUP)?.strip_prefix('/')?;
    let seed: u64 = word.parse().ok()?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    Some(known.entry(seed).or_insert_with(|| Plan::of_seed(seed).case(word)))
}

/// The case of a history, from the workload in it.
pub fn replayed(history: &History) -> Option<&'static Case> {
    let word = history.header.case.strip_prefix(GROUP)?.strip_prefix('/')?;
    let mark = history.marks(drive::WORKLOAD).next()?.1;
    Some(Plan::read(mark.detail.as_str()?).ok()?.case(word))
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
    fn every_pod_has_room_in_any_order() {
        for seed in 0..300 {
            let plan = Plan::of_seed(seed);
            let (most, minimum) = (Course::of(&plan).most_pods(), Course::of(&plan).minimum());
            let given = plan.nodes();
            let places =
                |step: u32| given.iter().filter(|of| of.joining <= step).map(|of| of.count * of.gpus).sum();
            let (first, then): (u32, u32) = (places(0), places(1));
            assert!(then > most, "{seed}: {then} places for {most} pods");
            assert_eq!(plan.begins_short, first + 1 == minimum, "{seed}: {first} places for {minimum} pods");
        }
    }
}
