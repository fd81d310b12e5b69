//! Searches all placements, up to a limit. Of several equal nodes or domains, it tries one.

use std::collections::BTreeSet;

use conformance_facts::quantity::Amount;

use super::packing::{Flat, Packing, Port, Problem, State};

/// The maximum number of pods, because the search recurses once per pod.
const PODS: usize = 400;
/// The search ends without a result after it has examined this many nodes.
const EXAMINED: usize = 1_000_000;

#[derive(Clone, Copy)]
enum Step {
    /// The pods up to the matching [`Step::Leave`] must be in one domain of this level.
    Enter(usize),
    Leave,
    Pod(usize),
}

struct Search<'a> {
    problem: &'a Problem,
    steps: Vec<Step>,
    state: State<'a>,
    /// The nodes of each entered domain, outermost domain first.
    entered: Vec<Vec<bool>>,
    /// The levels that groups use, except those whose domains are single nodes.
    levels: BTreeSet<usize>,
}

enum Outcome {
    Found,
    Exhausted,
    OutOfBudget,
}

/// Nodes with equal values are interchangeable for the rest of the search.
type Looks<'s> = (Vec<bool>, Vec<Option<usize>>, &'s [Amount], &'s [Port]);

pub(super) fn search(problem: &Problem, flat: &Flat) -> Packing {
    let (mut steps, mut levels) = (Vec::new(), BTreeSet::new());
    append(flat, &mut steps, &mut levels);
    if steps.iter().filter(|step| matches!(step, Step::Pod(_))).count() > PODS {
        return Packing::Unknown;
    }
    let everywhere = vec![true; problem.capacity.len()];
    levels.retain(|level| !has_single_nodes(&problem.levels[*level]));
    let state = State { left: EXAMINED, ..State::new(problem) };
    let mut search = Search { problem, steps, state, entered: vec![everywhere], levels };
    match search.proceed(0) {
        Outcome::Found => Packing::Sometimes(search.state.placed),
        Outcome::Exhausted => Packing::Never,
        Outcome::OutOfBudget => Packing::Unknown,
    }
}

/// Appends the steps of the nested groups, then the pods of the group itself.
fn append(flat: &Flat, steps: &mut Vec<Step>, levels: &mut BTreeSet<usize>) {
    for (level, group) in &flat.groups {
        levels.insert(*level);
        steps.push(Step::Enter(*level));
        append(group, steps, levels);
        steps.push(Step::Leave);
    }
    steps.extend(flat.pods.iter().map(|kind| Step::Pod(*kind)));
}

impl Search<'_> {
    fn proceed(&mut self, at: usize) -> Outcome {
        match self.steps.get(at).copied() {
            None => Outcome::Found,
            Some(Step::Pod(kind)) => self.place(at, kind),
            Some(Step::Enter(level)) => self.enter(at, level),
            Some(Step::Leave) => {
                let left = self.entered.pop();
                let outcome = self.proceed(at + 1);
                self.entered.extend(left);
                outcome
            }
        }
    }

    fn place(&mut self, at: usize, kind: usize) -> Outcome {
        if !self.spend(1) {
            return Outcome::OutOfBudget;
        }
        // Pods of one kind are interchangeable, so try only the previous pod's node and later nodes.
        let is_equal =
            at.checked_sub(1).is_some_and(|last| matches!(self.steps[last], Step::Pod(of) if of == kind));
        let first = if is_equal { self.state.log.last().map_or(0, |(_, node)| *node) } else { 0 };
        for node in self.candidates(kind, first) {
            let before = self.state.log.len();
            self.state.place(kind, node);
            match self.proceed(at + 1) {
                Outcome::Exhausted => self.state.undo(before),
                ended => return ended,
            }
        }
        Outcome::Exhausted
    }

    fn candidates(&self, kind: usize, first: usize) -> Vec<usize> {
        let Some(inside) = self.entered.last() else { return Vec::new() };
        let mut seen = BTreeSet::new();
        let with_room =
            (first..inside.len()).filter(|node| inside[*node] && self.state.has_room(kind, *node));
        with_room.filter(|node| seen.insert(self.looks(*node, self.problem.levels.len()))).collect()
    }

    fn enter(&mut self, at: usize, level: usize) -> Outcome {
        let Some(inside) = self.entered.last() else { return Outcome::Exhausted };
        let mut domains = self.problem.domains(level, inside);
        if !self.spend(domains.len()) {
            return Outcome::OutOfBudget;
        }
        // Equal domains are skipped unless a narrower level distinguishes nodes within a domain.
        if self.levels.iter().all(|other| *other <= level) {
            let mut seen = BTreeSet::new();
            domains.retain(|domain| {
                let inside = (0..domain.len()).filter(|node| domain[*node]);
                let mut looks: Vec<_> = inside.map(|node| self.looks(node, level)).collect();
                looks.sort();
                seen.insert(looks)
            });
        }
        for domain in domains {
            self.entered.push(domain);
            let outcome = self.proceed(at + 1);
            self.entered.pop();
            if !matches!(outcome, Outcome::Exhausted) {
                return outcome;
            }
        }
        Outcome::Exhausted
    }

    /// Includes the node's domains of the used levels that are wider than `level`.
    fn looks(&self, node: usize, level: usize) -> Looks<'_> {
        let wider = self.levels.iter().filter(|other| **other < level);
        (
            self.problem.kinds.iter().map(|kind| kind.allowed[node]).collect(),
            wider.map(|other| self.problem.levels[*other][node]).collect(),
            self.state.free[node].as_slice(),
            self.state.ports[node].as_slice(),
        )
    }

    fn spend(&mut self, times: usize) -> bool {
        let left = self.state.left.checked_sub(self.problem.capacity.len().saturating_mul(times));
        self.state.left = left.unwrap_or(0);
        left.is_some()
    }
}

fn has_single_nodes(level: &[Option<usize>]) -> bool {
    let domains: Vec<usize> = level.iter().copied().flatten().collect();
    domains.iter().collect::<BTreeSet<_>>().len() == domains.len()
}
