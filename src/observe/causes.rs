//! Five causes of a waiting gang, and three questions about each: what pods, gang resource and events report.

use conformance_contract::scheduler::Scheduler;
use conformance_driver::case::nodes;
use conformance_driver::context::{Stop, TestContext};
use conformance_history::{History, Live};
use serde_json::{Value, json};

use crate::answer::Answered;
use crate::observation::Observation;
use crate::plain_gang::PlainGang;
use crate::topology::{self, WITHOUT_LEVELS};
use crate::{reports, seen, steps};

pub(crate) const GANG: PlainGang = PlainGang::new("waiting", 3);
pub(crate) const SIBLING: PlainGang = PlainGang::new("sibling", 1);

macro_rules! reports_while {
    ($id:literal, $state:literal, $submit:ident, $nodes:expr, $not_on:expr) => {
        [
            reports_while!($id, "-on-pods", "What reason do the pods report", $state, $submit, on_pods)
                .answers(reports::ON_PODS)
                .nodes($nodes)
                .not_on($not_on),
            reports_while!(
                $id,
                "-on-resource",
                "What does the gang resource report",
                $state,
                $submit,
                on_resource
            )
            .answers(reports::ON_RESOURCE)
            .nodes($nodes)
            .not_on($not_on),
            reports_while!($id, "-in-events", "Which objects are events about", $state, $submit, in_events)
                .answers(reports::IN_EVENTS)
                .nodes($nodes)
                .not_on($not_on),
        ]
    };
    ($id:literal, $of:literal, $question:literal, $state:literal, $submit:ident, $answer:ident) => {
        Observation::new(
            concat!($question, " while ", $state, "?"),
            |test| {
                Box::pin(async move {
                    $submit(test).await?;
                    until_reported(test).await
                })
            },
            $answer,
        )
        .registered(concat!($id, $of), "")
    };
}

pub(crate) static REPORTS: [[Observation; 3]; 5] = [
    // 3 nodes x 8 GPUs; 2 pods x 8 GPUs of a gang with minimum 3: one pod is missing.
    reports_while!("waits/too-few-pods", "the gang has too few pods", too_few_pods, &[nodes(3).gpus(8)], &[]),
    // 2 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: one pod short.
    reports_while!("waits/too-little-room", "the gang does not fit", whole_gang, &[nodes(2).gpus(8)], &[]),
    // 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs that fits, in a queue that does not exist.
    reports_while!(
        "waits/missing-queue",
        "the queue of the gang is missing",
        missing_queue,
        &[nodes(3).gpus(8)],
        WITHOUT_QUEUES
    ),
    // 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs that fits. Its sibling does not exist.
    reports_while!(
        "waits/missing-sibling",
        "a sibling of the gang is missing",
        missing_sibling,
        &[nodes(3).gpus(8)],
        WITHOUT_SIBLINGS
    ),
    // 3 nodes x 8 GPUs without the label of the level; a gang of 3 pods x 8 GPUs that requires the level.
    reports_while!(
        "topology/missing-label",
        "no node has the label of a required level",
        missing_label,
        &[nodes(3).gpus(8)],
        WITHOUT_LEVELS
    ),
];

pub(crate) const WITHOUT_QUEUES: &[(Scheduler, &str)] = &[
    (Scheduler::KUBE, "its gang resource has no queue"),
    (Scheduler::KOORDINATOR, "its gang resource has no queue"),
];

pub(crate) const WITHOUT_SIBLINGS: &[(Scheduler, &str)] = &[
    (Scheduler::KUBE, "a PodGroup has siblings only in a tree, which an operator creates"),
    (Scheduler::VOLCANO, "siblings are subgroups of one gang resource"),
    (Scheduler::KAI, "siblings are subgroups of one gang resource"),
];

/// Koordinator's annotation with all gang resources whose gangs are bound together.
const SIBLINGS: &str = "gang.scheduling.koordinator.sh/groups";

pub(crate) async fn too_few_pods(test: &TestContext) -> Result<(), Stop> {
    steps::submit(test, &GANG, GANG.minimum - 1).await
}

async fn whole_gang(test: &TestContext) -> Result<(), Stop> {
    steps::submit(test, &GANG, GANG.minimum).await
}

pub(crate) async fn missing_queue(test: &TestContext) -> Result<(), Stop> {
    in_queue(test, "missing").await
}

pub(crate) async fn in_queue(test: &TestContext, queue: &str) -> Result<(), Stop> {
    steps::create_resource_with(test, &GANG, "queue", queue.into()).await?;
    steps::create_pods(test, &GANG, 0..GANG.minimum).await
}

async fn missing_sibling(test: &TestContext) -> Result<(), Stop> {
    with_sibling(test, &GANG).await
}

/// Creates the gang or its sibling. The annotation of each names both.
pub(crate) async fn with_sibling(test: &TestContext, gang: &PlainGang) -> Result<(), Stop> {
    let named = |gang: &PlainGang| format!("{}/{}", test.namespace, steps::own_name(test, gang));
    let siblings = json!([named(&GANG), named(&SIBLING)]).to_string();
    let edit = |resource: &mut Value| resource["metadata"]["annotations"][SIBLINGS] = siblings.into();
    steps::create_resource(test, gang, edit).await?;
    steps::create_pods(test, gang, 0..gang.minimum).await
}

async fn missing_label(test: &TestContext) -> Result<(), Stop> {
    topology::create_resource(test, &GANG, topology::MISSING).await?;
    steps::create_pods(test, &GANG, 0..GANG.minimum).await
}

/// Schedulers write events and conditions after their decision, and a recorder does not wait for events. So a
/// quiet period is the only evidence that there is no report.
pub(crate) async fn until_reported(test: &mut TestContext) -> Result<(), Stop> {
    let target = test.target;
    let are_complete = move |live: &Live| reports::are_complete(live, target, &GANG);
    steps::observe(test, "reports on the pods, on the gang resource and in events", are_complete).await
}

fn on_pods(history: &History) -> Answered {
    reports::on_pods(&seen::observed(history)?, &GANG)
}

fn on_resource(history: &History) -> Answered {
    reports::on_resource(&seen::observed(history)?, history.header.target, &GANG)
}

fn in_events(history: &History) -> Answered {
    reports::in_events(&seen::observed(history)?, history.header.target, &GANG)
}
