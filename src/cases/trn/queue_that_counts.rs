//! Three TrainJobs of one replicated Job with 1 pod x 1 GPU each: one with a queue of its own and one in its runtime's policy, one
//! with the policy's, one with none. Then the first gets another queue, and so does its runtime, and its pod is lost.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::limits;
use conformance_history::{History, Live, SharedMark};
use conformance_judge::train_jobs::{self, QUEUE};
use conformance_judge::{all, finding};
use serde_json::json;

/// TRN-06. Which queue the PodGroup has is seen where KAI runs.
pub(crate) const CASE: Case = Case::new(
    "A TrainJob's own queue counts before the policy's, and that before KAI's default; a later change is none",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["TRN-06"])
.nodes(&[nodes(3).gpus(1)]);

const OWN: &str = "own";
const RUNTIME: &str = "with-policy";
/// Of each TrainJob the queue of its pods' label, and the one that counts.
const QUEUES: [(&str, Option<&str>, &str); 3] = [
    (OWN, Some("of-the-policy"), "of-the-job"),
    ("policy", Some("of-the-policy"), "of-the-policy"),
    ("neither", None, "default-queue"),
];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for (name, _, _) in QUEUES {
        let train_job = test.submit_train_job(name).await?;
        test.until_pods_of("TRN-06", name, train_job.pods()).await?;
    }
    // What makes PodGroups has seen the pods by then.
    test.scheduler_passes().await?;
    test.patch("TrainJob", OWN, json!({"metadata": {"labels": {QUEUE: "later"}}})).await?;
    let policy = json!({"podGroupPolicy": {"kaiScheduler": {"queue": "later"}}});
    test.patch("TrainingRuntime", RUNTIME, json!({"spec": policy})).await?;
    let first = |live: &Live| train_jobs::pods_of(live, OWN).next().map(|pod| pod.name().to_owned());
    let lost = test.look(first).unwrap_or_default();
    test.lose_pod(&lost).await?;
    test.until("the lost pod is gone", limits::REACTION, |live| live.get("Pod", &lost).is_none()).await?;
    test.until_pods_of("TRN-06", OWN, 1).await?;
    test.scheduler_passes().await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("TRN-06", || {
        history.reached(SharedMark::PodLost)?;
        all(QUEUES.into_iter().map(|(name, label, counts)| {
            train_jobs::queue_is(history, name, label)?;
            train_jobs::pod_group_is_in(history, name, counts)
        }))
    })]
}
