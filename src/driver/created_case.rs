//! Cases that are created at run time: generated workloads, load tests, and a user's own workload.

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
    /// Returns a case that lives as long as the process, like a registered one.
    pub fn case(self, base: Case) -> &'static Case {
        let data = CREATED.add(self);
        let case = base.registered(&data.id, &data.manifest).clauses(&data.clauses).nodes(&data.nodes);
        CASES.add(case)
    }
}
