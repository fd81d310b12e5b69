//! Priorities that differ inside a gang. The pods and the gang resource can name a priority class.
//!
//! 2 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs: it fits.

use conformance_driver::case::{Drive, Nodes};
use serde_json::Value;

use crate::prelude::*;

const NODES: &[Nodes] = &[nodes(2).gpus(8)];
const GANG: PlainGang = PlainGang::new("prior", 2);

pub(crate) static OBSERVATIONS: [Observation; 3] = [
    observation(
        "priority/between-pods",
        "One pod of a gang names a priority class, another one names none. Is the gang bound?",
        |test| Box::pin(drive(test, false, 1)),
    ),
    observation(
        "priority/on-gang-resource-only",
        "A gang resource names a priority class, its pods name none. Is the gang bound?",
        |test| Box::pin(drive(test, true, 0)),
    )
    .not_on(&[(Scheduler::KOORDINATOR, "its gang resource has no priority class")]),
    observation(
        "priority/on-pods-only",
        "The pods of a gang name a priority class, its gang resource names none. Is the gang bound?",
        |test| Box::pin(drive(test, false, 2)),
    ),
];

const fn observation(id: &'static str, question: &'static str, drive: Drive) -> Observation {
    let observation = Observation::new(question, drive, answer).registered(id, "");
    observation.answers(&["bound", "waits"]).nodes(NODES)
}

/// The first pods name the class, up to `on_pods` of them.
async fn drive(test: &mut TestContext, on_resource: bool, on_pods: usize) -> Result<(), Stop> {
    let class: Value = steps::priority_class(test).await?.into();
    steps::changed(test);
    if on_resource {
        steps::create_resource_with(test, &GANG, "priorityClassName", class.clone()).await?;
    } else {
        steps::create_resource(test, &GANG, |_| {}).await?;
    }
    for index in 0..GANG.minimum {
        let class = if index < on_pods { class.clone() } else { Value::Null };
        steps::create_pod(test, &GANG, index, |pod| pod["spec"]["priorityClassName"] = class).await?;
    }
    steps::observe_bound(test, &GANG, 0..GANG.minimum).await
}

fn answer(history: &History) -> Answered {
    reports::by_binding(history, &GANG, 0..GANG.minimum, ["bound", "waits"])
}
