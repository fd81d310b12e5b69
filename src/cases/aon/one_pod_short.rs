//! 4 nodes x 8 GPUs; one clique of 5 pods x 8 GPUs: one pod short.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_expect::Expected;
use conformance_history::{History, SharedMark};
use conformance_judge::binding::{self, scheduler_passed};
use conformance_judge::{all, finding};

/// AON-02, AON-03.
pub(crate) const CASE: Case = Case::new(
    "A gang one pod short is not bound at all and says why; with one more node it is bound whole",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["AON-02", "AON-03"])
.nodes(&[nodes(4).gpus(8), nodes(1).gpus(8).joining(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for gang in test.submit("short").await? {
        test.scheduler_passes_over(&gang).await?;
    }
    test.nodes_join(1).await?;
    test.until_bound(5).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("AON-02", || {
            // Until the node joins nothing may be bound, however far the case came.
            let barrier = history.marks(SharedMark::SchedulerPassed).next().map(|(place, _)| place);
            let never = binding::never(history, &history.units("short")?, barrier);
            all([never, scheduler_passed(history)])?;
            binding::says_why(history, &history.gangs("short")?[0])
        }),
        finding("AON-03", || {
            scheduler_passed(history)?;
            binding::whole(&history.end(), &history.units("short")?)
        }),
    ]
}
