//! Cases that are created while the program runs: generated workloads, load tests, and a user's own workload.

use conformance_contract::arena::Arena;

use crate::case::{Case, Nodes};

static CREATED: Arena<CreatedCase> = Arena::empty();
static CASES: Arena<Case> = Arena::empty();

#[derive(Debug)]
pub struct CreatedCase {
    pub id: String,
    pub manifest: String,
    pub clauses: Vec<&'static str>,
    pub nodes: Vec<Nodes>,
}

impl CreatedCase {
    /// The case lives as long as the process, like a registered case.
    pub fn case(self, base: Case) -> &'static Case {
        let data = CREATED.add(self);
        let case = base.registered(&data.id, &data.manifest).clauses(&data.clauses).nodes(&data.nodes);
        CASES.add(case)
    }
}
