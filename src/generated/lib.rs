//! Generated workloads: a PodCliqueSet and a list of operations on it, drawn by chance from a seed.
//!
//! Cases that somebody wrote try what somebody thought of. Here the model is the suite's own arithmetic
//! ([`conformance_expect`]), and the oracle is that whatever is done, the set becomes what the arithmetic says, and the
//! invariants of every history hold on the way. A workload is a case like any other: it has nodes, a history, clauses, a
//! verdict and a replay.
//!
//! - [`plan`]: the workload as data, as it is written into a file and read from one;
//! - `draw`: one from a seed; `course`: what the operations make of it, and whether they apply;
//! - `drive`, `judge`: the case; `shrink`: smaller ones, of which a failing run takes those that fail alike.
//!
//! [`scale`] is another sort: one workload, as large as is asked for.

mod course;
mod draw;
mod drive;
mod judge;
pub mod plan;
pub mod scale;
mod shrink;

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use conformance_driver::case::{Case, Nodes, nodes};
use conformance_history::History;

use course::Course;
pub use plan::{Plan, Unreadable};

/// The group of all of them.
pub const GROUP: &str = "generated";

/// GPUs of a node; a pod asks for one.
const GPUS: u32 = 8;

impl Plan {
    /// The workload of a seed: the same at any time and on any machine, for one version of this suite.
    pub fn of_seed(seed: u64) -> Self {
        draw::plan(seed)
    }

    /// The next smaller workloads, the boldest first. Each is one that can be run.
    pub fn smaller(&self) -> Vec<Self> {
        shrink::candidates(self)
    }

    /// The case that runs it, under this name.
    pub fn case(&self, name: &str) -> &'static Case {
        // Looked up by name, a case is made once; a shrunk one lives as long as the process that looks for it.
        let id: &'static str = format!("{GROUP}/{name}").leak();
        let clauses: &'static [&'static str] = judge::clauses(self).leak();
        let given: &'static [Nodes] = self.nodes().leak();
        let case = Case::new(
            "A generated workload becomes what the arithmetic says, whatever is done to it",
            |test| Box::pin(drive::drive(test)),
            judge::judge,
        );
        let text: &'static str = self.text().leak();
        Box::leak(Box::new(case.registered(id, text).clauses(clauses).nodes(given)))
    }

    /// Room for all pods at any time, twice where racks count, so that whatever is placed first leaves room for the rest.
    /// Where it begins one pod short, the first node has one place less than the hard gangs have pods, and the room joins.
    fn nodes(&self) -> Vec<Nodes> {
        let course = Course::of(self);
        let racked = self.is_racked();
        // A pod that is going keeps its place until it has gone.
        let room = course.most_pods() + 2;
        let (short, first_join) = match self.begins_short {
            true => (Some(course.minimum() - 1), 1),
            false => (None, 0),
        };
        let placed = |node: Nodes, rack| if racked { node.rack(rack) } else { node };
        // In a rack as well: Volcano takes the whole cluster for one rack while no rack has a HyperNode.
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

/// The case of that id: `generated/<seed>`.
pub fn case(id: &str) -> Option<&'static Case> {
    static KNOWN: LazyLock<Mutex<BTreeMap<u64, &'static Case>>> = LazyLock::new(Mutex::default);
    let word = id.strip_prefix(GROUP)?.strip_prefix('/')?;
    let seed: u64 = word.parse().ok()?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    Some(known.entry(seed).or_insert_with(|| Plan::of_seed(seed).case(word)))
}

/// The case whose history this is: the workload stands in it.
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
        assert!(super::case("generated/x").is_none() && super::case("aon/fits-whole").is_none());
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
