//! Drivers for four causes of a waiting gang, and answers about its reports. Several questions use each. A
//! driver ends after a full pass of the scheduler.

use conformance_contract::scheduler::Scheduler;
use conformance_driver::context::{Stop, TestContext};
use conformance_history::{History, name};
use serde_json::{Value, json};

use crate::answer::Answered;
use crate::plain_gang::PlainGang;
use crate::{reports, seen, steps};

/// The gang that waits. Its minimum is 3.
pub(crate) const GANG: PlainGang = PlainGang::new("waiting", 3);

/// Schedulers whose gang resources name no queue.
pub(crate) const WITHOUT_QUEUES: &[(Scheduler, &str)] = &[
    (Scheduler::KUBE, "its gang resource has no queue"),
    (Scheduler::KOORDINATOR, "its gang resource has no queue"),
];

/// Schedulers whose plain gangs have no siblings.
pub(crate) const WITHOUT_SIBLINGS: &[(Scheduler, &str)] = &[
    (Scheduler::KUBE, "a PodGroup has siblings only in a tree, which an operator creates"),
    (Scheduler::VOLCANO, "siblings are subgroups of one gang resource"),
    (Scheduler::KAI, "siblings are subgroups of one gang resource"),
];

/// Koordinator's annotation with all gang resources whose gangs are bound together.
const SIBLINGS: &str = "gang.scheduling.koordinator.sh/groups";

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

/// The gang fits, and its gang resource names a sibling that does not exist.
pub(crate) async fn missing_sibling(test: &mut TestContext) -> Result<(), Stop> {
    let namespace = test.namespace.clone();
    let edit = |resource: &mut Value| {
        let siblings = json!([format!("{namespace}/{}", name(resource)), format!("{namespace}/missing")]);
        resource["metadata"]["annotations"][SIBLINGS] = siblings.to_string().into();
    };
    steps::create_resource(test, &GANG, edit).await?;
    steps::create_pods(test, &GANG, 0..GANG.minimum).await?;
    test.scheduler_passes().await
}

pub(crate) fn on_pods(history: &History) -> Answered {
    reports::on_pods(&seen::passed(history)?, &GANG)
}

pub(crate) fn on_resource(history: &History) -> Answered {
    reports::on_resource(&seen::passed(history)?, history.header.target, &GANG)
}

pub(crate) fn in_events(history: &History) -> Answered {
    reports::in_events(&seen::passed(history)?, history.header.target, &GANG)
}
