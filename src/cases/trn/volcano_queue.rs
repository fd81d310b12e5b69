//! 2 nodes x 1 GPU; two TrainJobs of 1 pod x 1 GPU with one runtime, which names a queue. The second names
//! another in a patch.

use conformance_contract::ruling::Finding;
use conformance_contract::target::Target;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_history::History;
use conformance_judge::{all, finding, train_jobs};

pub(crate) const CASE: Case = Case::new(
    "The trainer's PodGroup gets the queue from the runtime or the TrainJob's patch",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["TRN-26", "TRN-14"])
.nodes(&[nodes(2).gpus(1)])
.only(&[Target::TRAINJOB_VOLCANO]);

const QUEUES: [(&str, &str); 2] = [("plain", "of-the-runtime"), ("patched", "of-the-patch")];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for (name, queue) in QUEUES {
        test.open_queue(queue).await?;
        let train_job = test.submit_train_job(name).await?;
        test.until_bound_of("TRN-18", name, train_job.pods()).await?;
    }
    Ok(())
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("TRN-26", || {
            all(QUEUES.into_iter().map(|(name, queue)| train_jobs::pod_group_is_in(history, name, queue)))
        }),
        finding("TRN-14", || {
            all(QUEUES.into_iter().map(|(name, _)| train_jobs::is_one_pod_group(history, name)))
        }),
    ]
}
