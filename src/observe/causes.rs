//! Drivers for three causes of a waiting gang. Several questions use each. A driver ends after a full pass of
//! the scheduler.

use conformance_contract::scheduler::Scheduler;
use conformance_driver::context::{Stop, TestContext};
use serde_json::Value;

use crate::plain_gang::PlainGang;
use crate::steps;

/// The gang that waits. Its minimum is 3.
pub(crate) const GANG: PlainGang = PlainGang::new("waiting", 3);

/// Schedulers whose gang resources name no queue.
pub(crate) const WITHOUT_QUEUES: &[(Scheduler, &str)] = &[
    (Scheduler::KUBE, "its gang resource has no queue"),
    (Scheduler::KOORDINATOR, "its gang resource has no queue"),
];

/// One pod less than the minimum exists.
pub(crate) async fn too_few_pods(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit(test, &GANG, GANG.minimum - 1).await?;
    test.scheduler_passes().await
}

/// All pods exist, and the nodes have room for one pod less.
pub(crate) async fn too_little_room(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit(test, &GANG, GANG.minimum).await?;
    test.scheduler_passes().await
}

/// The gang fits, and its queue does not exist.
pub(crate) async fn missing_queue(test: &mut TestContext) -> Result<(), Stop> {
    let edit = |resource: &mut Value| resource["spec"]["queue"] = "missing".into();
    steps::create_resource(test, &GANG, edit).await?;
    steps::create_pods(test, &GANG, 0..GANG.minimum).await?;
    test.scheduler_passes().await
}
