//! One clique in a scaling group of one replica: PodGangs of one podgroup, so that every target honours a required
//! level of the PodCliqueSet. What else it honours is the target's ([`backends`]).

use conformance_contract::ruling::Finding;
use conformance_driver::case::Case;
use conformance_driver::context::{Stop, TestContext};
use conformance_history::History;
use conformance_judge::admission::answers;
use conformance_judge::finding;

use crate::backends;

/// ADM-09.
pub(crate) const CASE: Case = Case::new(
    "A topology level that cannot be honoured is refused, or said to have no effect",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["ADM-09"]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let Ok(own) = backends::own(test.target) else { return Ok(()) };
    test.creates(&test.manifest("levelled")?, &own.levels(test.target)).await
}

fn judge(history: &History) -> Vec<Finding> {
    let target = history.header.target;
    vec![finding("ADM-09", || answers(history, &backends::own(target)?.levels(target)))]
}
