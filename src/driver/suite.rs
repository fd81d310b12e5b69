//! A suite is a crate with the cases about one kind of workload. `run/suites.rs` lists all suites.

use conformance_contract::clauses::Workload;
use conformance_contract::ruling::Finding;
use conformance_contract::target::Target;
use conformance_facts::invariant::Invariant;
use conformance_history::{History, Kind};

use crate::case::Case;

#[derive(Debug)]
pub struct Suite {
    pub workload: Workload,
    pub cases: &'static [Case],
    pub targets: &'static [Target],
    pub kinds: fn() -> Vec<Kind>,
    pub invariants: Invariants,
    /// A line `ID SECONDS` for each measured case. The times are from two cores that also run other cases.
    pub usual_seconds: &'static str,
    /// The ids of the cases of a quick run, one per line.
    pub quick: &'static str,
}

/// Clauses that every history must satisfy. The last argument names those that the case breaks on purpose.
#[derive(Debug)]
pub struct Invariants {
    pub clauses: fn(&[Invariant]) -> Vec<&'static str>,
    pub broken: fn(&History, &[Invariant]) -> Vec<Finding>,
}

impl Suite {
    pub fn case(&self, id: &str) -> Option<&'static Case> {
        self.cases.iter().find(|case| case.id == id)
    }

    pub fn is_quick(&self, id: &str) -> bool {
        self.quick.lines().any(|line| line == id)
    }

    pub fn usual_seconds(&self, id: &str) -> Option<f64> {
        let lines = self.usual_seconds.lines();
        lines.filter_map(|line| line.split_once(' ')).find(|(case, _)| *case == id)?.1.parse().ok()
    }
}
