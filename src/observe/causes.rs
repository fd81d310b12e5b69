//! Four causes of a waiting gang, and questions about its reports. A driver ends after a full pass of the
//! scheduler.

use conformance_contract::scheduler::Scheduler;
use conformance_driver::case::{Drive, Nodes, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_history::{History, name};
use serde_json::{Value, json};

use crate::answer::Answered;
use crate::observation::Observation;
use crate::plain_gang::PlainGang;
use crate::{reports, seen, steps};

pub(crate) const GANG: PlainGang = PlainGang::new("waiting", 3);

pub(crate) struct Cause {
    drive: Drive,
    nodes: &'static [Nodes],
    not_on: &'static [(Scheduler, &'static str)],
}

pub(crate) const TOO_FEW_PODS: Cause =
    Cause { drive: |test| Box::pin(too_few_pods(test)), nodes: &[nodes(3).gpus(8)], not_on: &[] };

pub(crate) const TOO_LITTLE_ROOM: Cause =
    Cause { drive: |test| Box::pin(too_little_room(test)), nodes: &[nodes(2).gpus(8)], not_on: &[] };

pub(crate) const MISSING_QUEUE: Cause = Cause {
    drive: |test| Box::pin(missing_queue(test)),
    nodes: &[nodes(3).gpus(8)],
    not_on: &[
        (Scheduler::KUBE, "its gang resource has no queue"),
        (Scheduler::KOORDINATOR, "its gang resource has no queue"),
    ],
};

pub(crate) const MISSING_SIBLING: Cause = Cause {
    drive: |test| Box::pin(missing_sibling(test)),
    nodes: &[nodes(3).gpus(8)],
    not_on: &[
        (Scheduler::KUBE, "a PodGroup has siblings only in a tree, which an operator creates"),
        (Scheduler::VOLCANO, "siblings are subgroups of one gang resource"),
        (Scheduler::KAI, "siblings are subgroups of one gang resource"),
    ],
};

/// Koordinator's annotation with all gang resources whose gangs are bound together.
const SIBLINGS: &str = "gang.scheduling.koordinator.sh/groups";

pub(crate) async fn too_few_pods(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit(test, &GANG, GANG.minimum - 1).await?;
    test.scheduler_passes().await
}

pub(crate) async fn too_little_room(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit(test, &GANG, GANG.minimum).await?;
    test.scheduler_passes().await
}

async fn missing_queue(test: &mut TestContext) -> Result<(), Stop> {
    let edit = |resource: &mut Value| resource["spec"]["queue"] = "missing".into();
    steps::create_resource(test, &GANG, edit).await?;
    steps::create_pods(test, &GANG, 0..GANG.minimum).await?;
    test.scheduler_passes().await
}

async fn missing_sibling(test: &mut TestContext) -> Result<(), Stop> {
    let namespace = test.namespace.clone();
    let edit = |resource: &mut Value| {
        let siblings = json!([format!("{namespace}/{}", name(resource)), format!("{namespace}/missing")]);
        resource["metadata"]["annotations"][SIBLINGS] = siblings.to_string().into();
    };
    steps::create_resource(test, &GANG, edit).await?;
    steps::create_pods(test, &GANG, 0..GANG.minimum).await?;
    test.scheduler_passes().await
}

pub(crate) const fn on_pods(cause: &Cause, question: &'static str) -> Observation {
    let answer = |history: &History| reports::on_pods(&seen::passed(history)?, &GANG);
    cause.observation(question, answer).answers(reports::ON_PODS)
}

pub(crate) const fn on_resource(cause: &Cause, question: &'static str) -> Observation {
    let answer =
        |history: &History| reports::on_resource(&seen::passed(history)?, history.header.target, &GANG);
    cause.observation(question, answer).answers(reports::ON_RESOURCE)
}

pub(crate) const fn in_events(cause: &Cause, question: &'static str) -> Observation {
    let answer =
        |history: &History| reports::in_events(&seen::passed(history)?, history.header.target, &GANG);
    cause.observation(question, answer).answers(reports::IN_EVENTS)
}

impl Cause {
    const fn observation(&self, question: &'static str, answer: fn(&History) -> Answered) -> Observation {
        Observation::new(question, self.drive, answer).nodes(self.nodes).not_on(self.not_on)
    }
}
