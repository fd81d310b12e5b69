//! The suite `ai-conformance`: gangs of plain pods without an operator, as the AI conformance program
//! requires them. The harness creates each gang with the scheduler's own gang resource.

mod aic;
mod checks;
mod plain_gang;
mod prelude;
mod steps;

use conformance_check::invariants;
use conformance_contract::clauses::Workload;
use conformance_contract::kinds::{AI_CONFORMANCE_KINDS, KINDS};
use conformance_contract::ruling::Ruling;
use conformance_contract::target::AI_CONFORMANCE_TARGETS;
use conformance_driver::case::Case;
use conformance_driver::suite::{Invariants, Suite};
use conformance_history::History;

include!(concat!(env!("OUT_DIR"), "/cases.rs"));

pub static SUITE: Suite = Suite {
    workload: Workload::PlainPods,
    cases: CASES,
    targets: &AI_CONFORMANCE_TARGETS,
    kinds: || {
        let others = KINDS.iter().filter(|kind| !kind.is_of_grove());
        others.chain(&AI_CONFORMANCE_KINDS).copied().collect()
    },
    invariants: Invariants {
        clauses: |_| INVARIANTS.map(|(clause, _)| clause).to_vec(),
        broken: |history, _| invariants::violated(INVARIANTS.map(|(clause, check)| (clause, check(history)))),
    },
    // The cases of this suite are not measured.
    usual_seconds: "",
    quick: "",
};

type Check = fn(&History) -> Ruling;

const INVARIANTS: [(&str, Check); 2] =
    [("AIC-01", invariants::within_capacity), ("AIC-02", checks::whole_or_nothing)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_have_a_gang_size_annotation() {
        let documents: Vec<_> =
            CASES.iter().flat_map(|case| grove_yaml::documents(case.manifest).unwrap()).collect();
        assert_eq!(documents.len(), 4);
        for pod in documents {
            let size = &pod["metadata"]["annotations"][conformance_contract::names::GANG_SIZE];
            assert!(size.as_str().is_some_and(|size| size.parse::<usize>().is_ok()), "{pod}");
        }
    }
}
