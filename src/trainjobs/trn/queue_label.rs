//! Four TrainJobs of two replicated Jobs each. The policy of the first runtime names a queue, that of the
//! second an empty queue, and that of the third none. The fourth runtime has no KAI policy.

use crate::prelude::*;

pub(crate) const CASE: Case = case!("The queue of a runtime's policy becomes a label of every pod")
    .clauses(&[TRN_01, TRN_17])
    .nodes(&[nodes(8).gpus(1)]);

const QUEUES: [(&str, Option<&str>); 4] =
    [("queue", Some("team-a")), ("empty", None), ("absent", None), (NO_POLICY, None)];
const NO_POLICY: &str = "none";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for (name, _) in QUEUES {
        let train_job = test.submit_train_job(name).await?;
        test.until_pods_of(TRN_18, name, train_job.pods()).await?;
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(TRN_01, || {
            let of_policies = QUEUES.into_iter().filter(|(name, _)| *name != NO_POLICY);
            all(of_policies.map(|(name, queue)| checks::queue_is(history, name, queue)))
        }),
        finding(TRN_17, || {
            all(QUEUES.into_iter().map(|(name, _)| checks::nothing_but_the_queue(history, name)))
        }),
    ]
}
