//! A pod with a higher priority needs the node of a pod of a bound gang.

use conformance_contract::scheduler::Scheduler;
use conformance_driver::context::{Stop, TestContext};
use serde_json::Value;

use crate::plain_gang::PlainGang;
use crate::steps;

pub(crate) mod evicted_pods;
pub(crate) mod report_of_evicted_pod;

/// Asked alone: with preemption, Volcano and KAI would evict pods of other questions.
const WITHOUT_PREEMPTION: &[(Scheduler, &str)] =
    &[(Scheduler::KOORDINATOR, "its default configuration has no preemption by gangs (enablePreemption)")];

const GANG: PlainGang = PlainGang::new("running", 2);
const URGENT: PlainGang = PlainGang::new("urgent", 1);

async fn preempt(test: &mut TestContext) -> Result<(), Stop> {
    test.enable_preemption().await?;
    let class = steps::priority_class(test).await?;
    steps::submit_bound(test, &GANG, 2).await?;
    let name = |object: &mut Value| object["spec"]["priorityClassName"] = class.as_str().into();
    steps::changed(test);
    steps::create_resource(test, &URGENT, name).await?;
    steps::create_pod(test, &URGENT, 0, name).await
}
