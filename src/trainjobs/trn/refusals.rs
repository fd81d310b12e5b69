//! Variations of a training runtime with a KAI queue, each to be refused, admitted with a warning, or
//! admitted. Also two TrainJobs, one of them with a runtime that does not exist.

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Runtimes that KAI cannot serve are refused, risky ones admitted with a warning")
        .clauses(&[TRN_07, TRN_22]);

const EXCLUSIVE: &str = "alpha.jobset.sigs.k8s.io/exclusive-topology";

const ATTEMPTS: &[Attempt] = &[
    admitted("a runtime with a queue", |_| {}),
    refused("a queue with a slash", &["queue"], |runtime| queue(runtime, "team/a".into())),
    refused("a queue of 64 characters", &["63|queue"], |runtime| queue(runtime, "a".repeat(64))),
    admitted("a queue of 63 characters", |runtime| queue(runtime, "a".repeat(63))),
    refused("a Volcano policy in addition", &["volcano"], |runtime| policy(runtime)["volcano"] = json!({})),
    refused("a coscheduling policy in addition", &["coscheduling"], |runtime| {
        policy(runtime)["coscheduling"] = json!({"scheduleTimeoutSeconds": 60});
    }),
    refused("exclusive topology of the JobSet", &["exclusive-topology"], |runtime| {
        runtime["spec"]["template"]["metadata"] = json!({"annotations": {EXCLUSIVE: "rack"}});
    }),
    refused("exclusive topology of a Job", &["exclusive-topology"], |runtime| {
        job(runtime, 0)["template"]["metadata"] = json!({"annotations": {EXCLUSIVE: "rack"}});
    }),
    admitted("exclusive topology without the policy", |runtime| {
        runtime["spec"]["podGroupPolicy"] = json!({"volcano": {}});
        runtime["spec"]["template"]["metadata"] = json!({"annotations": {EXCLUSIVE: "rack"}});
    }),
];

const DOUBTFUL: &[Attempt] = &[
    admitted("a replicated Job on another scheduler", |runtime| {
        job(runtime, 0)["template"]["spec"]["template"]["spec"]["schedulerName"] = "default-scheduler".into();
    })
    .with_warning(&["kai-scheduler|schedulerName|leader"]),
    admitted("a replicated Job that waits for another", |runtime| {
        job(runtime, 1)["dependsOn"] = json!([{"name": "leader", "status": "Complete"}]);
    })
    .with_warning(&["dependsOn|leader"]),
    admitted("an unknown field in the policy", add_unknown_field).with_warning(&["scheduleTimeoutSeconds"]),
];

const OF_RUNTIMES: &[Attempt] = &[
    admitted("a TrainJob with an existing runtime", |_| {}),
    refused("a TrainJob with an unknown runtime", &["nowhere"], |train_job| {
        train_job["spec"]["runtimeRef"]["name"] = "nowhere".into();
    }),
];

/// Adds a field that the trainer's coscheduling policy has, but its KAI policy does not.
fn add_unknown_field(runtime: &mut Value) {
    policy(runtime)["kaiScheduler"]["scheduleTimeoutSeconds"] = 60.into();
}

fn policy(runtime: &mut Value) -> &mut Value {
    &mut runtime["spec"]["podGroupPolicy"]
}

fn queue(runtime: &mut Value, name: String) {
    policy(runtime)["kaiScheduler"]["queue"] = name.into();
}

fn job(runtime: &mut Value, index: usize) -> &mut Value {
    &mut runtime["spec"]["template"]["spec"]["replicatedJobs"][index]
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let base = test.runtime("base")?;
    test.attempt_creates(&base, ATTEMPTS).await?;
    let mut doubtful = base;
    doubtful["metadata"]["name"] = "doubtful".into();
    test.attempt_creates(&doubtful, DOUBTFUL).await?;
    test.attempt_creates(&test.document("TrainJob", "job")?, OF_RUNTIMES).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(TRN_07, || all([answers(history, ATTEMPTS), answers(history, OF_RUNTIMES)])),
        finding(TRN_22, || answers(history, DOUBTFUL)),
    ]
}
