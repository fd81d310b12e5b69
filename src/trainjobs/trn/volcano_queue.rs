//! 2 nodes x 1 GPU; two TrainJobs of 1 pod x 1 GPU with one runtime, which names a queue. The second TrainJob
//! names another queue in its patch of the runtime.

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("The trainer's PodGroup gets the queue from the runtime or the TrainJob's patch")
        .clauses(&[TRN_26, TRN_14])
        .nodes(&[nodes(2).gpus(1)])
        .on(Scheduler::VOLCANO);

const QUEUES: [(&str, &str); 2] = [("plain", "of-the-runtime"), ("patched", "of-the-patch")];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for (name, queue) in QUEUES {
        test.create_volcano_queue(queue).await?;
        let train_job = test.submit_train_job(name).await?;
        test.until_bound_of(TRN_18, name, train_job.pods()).await?;
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(TRN_26, || {
            all(QUEUES.into_iter().map(|(name, queue)| checks::pod_group_is_in(history, name, queue)))
        }),
        finding(TRN_14, || all(QUEUES.into_iter().map(|(name, _)| checks::is_one_pod_group(history, name)))),
    ]
}
