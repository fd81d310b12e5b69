//! 1 node with room for 2 pods; a gang of 3 pods without resource requests: one pod short.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_expect::Expected;
use conformance_history::History;
use conformance_judge::binding::{self, scheduler_passed};
use conformance_judge::{all, finding};

pub(crate) const CASE: Case = Case::new(
    "A gang without resource requests is not bound if one pod has no room",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["AON-02"])
.nodes(&[nodes(1).pods(2).without_stand_in()]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for gang in test.submit("undemanding").await? {
        test.scheduler_passes_over(&gang).await?;
    }
    Ok(())
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("AON-02", || {
        let never = binding::never(history, &history.units("undemanding")?, None);
        all([never, scheduler_passed(history)])
    })]
}
