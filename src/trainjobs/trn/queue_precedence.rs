//! Three TrainJobs of one replicated Job with 1 pod x 1 GPU each. The first names a queue, and its runtime's
//! policy names another. The second has only the policy's queue, the third has none. Then the queues of the
//! first and of its runtime change, and its pod is lost.

use crate::checks::QUEUE;
use crate::prelude::*;

/// On targets without KAI, no PodGroup has a queue, so only the pods' label is checked.
pub(crate) const CASE: Case = case!("A TrainJob's own queue overrides the policy's queue and KAI's default")
    .clauses(&[TRN_06, TRN_21])
    .nodes(&[nodes(3).gpus(1)]);

const OWN: &str = "own";
const RUNTIME: &str = "with-policy";
/// Each TrainJob, the queue in its pods' label, and the queue that must apply.
const QUEUES: [(&str, Option<&str>, &str); 3] = [
    (OWN, Some("of-the-policy"), "of-the-job"),
    ("policy", Some("of-the-policy"), "of-the-policy"),
    ("neither", None, "default-queue"),
];

marks! { CHANGED = "queues changed"; }

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for (name, _, _) in QUEUES {
        let train_job = test.submit_train_job(name).await?;
        test.until_pods_of(TRN_18, name, train_job.pods()).await?;
    }
    // After this pass, the component that creates PodGroups has seen the pods.
    test.scheduler_passes().await?;
    test.mark(CHANGED, Value::Null);
    test.patch("TrainJob", OWN, json!({"metadata": {"labels": {QUEUE: "later"}}})).await?;
    let policy = json!({"podGroupPolicy": {"kaiScheduler": {"queue": "later"}}});
    test.patch("TrainingRuntime", RUNTIME, json!({"spec": policy})).await?;
    let first = |live: &Live| checks::pods_of(live, OWN).next().map(|pod| pod.name().to_owned());
    let lost = test.look(first).unwrap_or_default();
    test.force_delete_pod(&lost).await?;
    test.until("the lost pod deleted", limits::REACTION, |live| live.get("Pod", &lost).is_none()).await?;
    test.until_pods_of(TRN_11, OWN, 1).await?;
    test.scheduler_passes().await
}

fn check(history: &History) -> Vec<Finding> {
    let before_the_change = || history.reached(CHANGED).map(|(changed, _)| history.upto(changed));
    vec![
        finding(TRN_06, || queues_apply(&before_the_change()?)),
        finding(TRN_21, || {
            history.reached(SharedMark::PodLost)?;
            let (before, label) = (before_the_change()?, QUEUES[0].1);
            precondition(TRN_06, queues_apply(&before))?;
            precondition(TRN_01, checks::queue_is(&before, OWN, label))?;
            all([checks::queue_is(history, OWN, label), queues_apply(history)])
        }),
    ]
}

fn queues_apply(history: &History) -> Ruling {
    all(QUEUES.into_iter().map(|(name, label, applied)| {
        // TRN-01 covers the label of the first TrainJob, which has its own queue.
        if name != OWN {
            checks::queue_is(history, name, label)?;
        }
        checks::pod_group_is_in(history, name, applied)
    }))
}

#[cfg(test)]
mod tests {
    use conformance_contract::target::Target;
    use conformance_history::testing::Story;

    use super::*;

    fn pod(of: &str, label: Option<&str>) -> Value {
        let labels = json!({"jobset.sigs.k8s.io/jobset-name": of, QUEUE: label});
        json!({"kind": "Pod", "metadata": {"name": format!("{of}-node-0-0"), "labels": labels}})
    }

    fn pod_group(queue: &str) -> Value {
        json!({"kind": "PodGroup.scheduling.run.ai", "spec": {"queue": queue},
            "metadata": {"name": "pg-own", "ownerReferences": [{"kind": "JobSet", "name": OWN}]}})
    }

    /// The queues of the first TrainJob's PodGroup before and after the changes, and its replacement's label.
    fn outcomes(first: &str, later: &str, label: &str) -> [Option<bool>; 2] {
        let mut story = Story::on(Target::TRAINJOB_KAI);
        for mut document in grove_yaml::documents(crate::manifest("trn/queue-precedence")).unwrap() {
            if document["kind"] == "TrainingRuntime" {
                let name = document["metadata"]["name"].as_str().unwrap_or_default();
                document["metadata"]["name"] = format!("runtime {name}").into();
            }
            story = story.submitted(document);
        }
        story = story.all_added(QUEUES.map(|(name, label, _)| pod(name, label))).added(pod_group(first));
        story = story.mark(CHANGED, Value::Null).modified(pod_group(later));
        story = story.mark(SharedMark::PodLost, json!({"name": "own-node-0-0"}));
        story = story.deleted(pod(OWN, Some("of-the-policy"))).added(pod(OWN, Some(label)));
        let rulings = check(&story.end()).into_iter().map(|finding| match finding.ruling {
            Ok(()) => Some(true),
            Err(Broken::Violated(_)) => Some(false),
            Err(_) => None,
        });
        let rulings: Vec<_> = rulings.collect();
        [rulings[0], rulings[1]]
    }

    #[test]
    fn a_wrong_queue_and_a_later_change_break_one_clause_each() {
        assert_eq!(outcomes("of-the-job", "of-the-job", "of-the-policy"), [Some(true), Some(true)]);
        assert_eq!(outcomes("of-the-job", "later", "of-the-policy"), [Some(true), Some(false)]);
        assert_eq!(outcomes("of-the-job", "of-the-job", "later"), [Some(true), Some(false)]);
        assert_eq!(outcomes("of-the-policy", "of-the-policy", "of-the-policy"), [Some(false), None]);
    }
}
