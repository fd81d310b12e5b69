//! 3 nodes x 1 GPU; a TrainJob with an initializer of 1 pod and a trainer of 2 pods, which are created once
//! the initializer has succeeded. An annotation of the TrainJob lets KAI bind one of the two Jobs alone. KAI
//! is configured to evict a gang that has not been whole for 5 s. While the initializer runs, the harness
//! raises the minimum of two canaries' PodGroups above their pod counts, one after the other. KAI evicts
//! these canaries, which shows that it evicts such gangs.

use std::time::Duration;

use conformance_expect::schedulers::kai::POD_GROUP;
use conformance_history::{is_of_canary, text};

use crate::prelude::*;

/// Without the annotation, the initializer is never bound (`trn/initializer`).
pub(crate) const CASE: Case =
    case!("A running initializer is not evicted while the trainer's pods do not exist", restored)
        .clauses(&[TRN_25, TRN_13])
        .nodes(&[nodes(3).gpus(1)])
        .on(Scheduler::KAI)
        .isolation(Isolation::Dedicated);

const NAME: &str = "kept";
const GRACE: Duration = Duration::from_secs(5);

marks! {
    STARTED = "initializer bound";
    EVICTS = "stale gangs evicted";
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.evict_stale_gangs(GRACE).await?;
    let train_job = test.submit_train_job(NAME).await?;
    let initializers = train_job.jobs.iter().filter(|job| !job.waits).map(|job| job.pods()).sum();
    test.until_bound_of(TRN_13, NAME, initializers).await?;
    test.mark(STARTED, Value::Null);
    test.canaries().await?;
    let canaries: Vec<String> = test.look(|live| {
        // Each canary pod has the name of its PodGroup.
        let canaries = live.of("Pod").filter(|pod| is_of_canary(pod));
        canaries.map(|pod| text(&pod["metadata"]["name"]).to_owned()).collect()
    });
    // KAI counts whole seconds, so it may evict the first canary and the initializer together, in any order.
    // When it evicts the second canary, the initializer's 5 s have long passed.
    for canary in canaries {
        test.patch(POD_GROUP, &canary, json!({"spec": {"minMember": 2}})).await?;
        test.until(Awaited::of_harness(format!("{canary} evicted")), limits::SCHEDULING, |live| {
            live.get("Pod", &canary).is_none_or(|pod| !pod["metadata"]["deletionTimestamp"].is_null())
        })
        .await?;
    }
    test.mark(EVICTS, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    let history = &history.before_restore();
    vec![
        finding(TRN_25, || all([checks::is_not_evicted(history, NAME), history.reached(EVICTS).map(drop)])),
        finding(TRN_13, || {
            let started = history.waited_for(STARTED)?;
            checks::first_stage_is_whole(history, &history.before(started), NAME)
        }),
    ]
}
