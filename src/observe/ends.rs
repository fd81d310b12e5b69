//! The cause for which a gang waits ends. Is the gang bound, and how soon? `conditions/refusal-after-binding`
//! and `waits/room-after-a-minute` ask this about missing capacity.

use conformance_driver::case::{Drive, Nodes};
use serde_json::json;

use crate::causes::{self, GANG, SIBLING, WITHOUT_QUEUES, WITHOUT_SIBLINGS};
use crate::prelude::*;
use crate::topology::{self, WITHOUT_LEVELS};

pub(crate) static OBSERVATIONS: [Observation; 4] = [
    // 3 nodes x 8 GPUs; 2 pods x 8 GPUs of a gang with minimum 3. Then the third pod is created.
    observation(
        "waits/missing-pod-created",
        "The missing pod of a waiting gang is created. Is the gang bound?",
        &[nodes(3).gpus(8)],
        |test| {
            Box::pin(async move {
                causes::too_few_pods(test).await?;
                begin(test).await?;
                steps::create_pods(test, &GANG, GANG.minimum - 1..GANG.minimum).await?;
                steps::observe_bound(test, &GANG, 0..GANG.minimum).await
            })
        },
    ),
    // 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs that fits. Its queue is created later.
    observation(
        "waits/missing-queue-created",
        "The missing queue of a waiting gang is created. Is the gang bound?",
        &[nodes(3).gpus(8)],
        |test| {
            Box::pin(async move {
                let queue = test.namespace.clone();
                causes::in_queue(test, &queue).await?;
                begin(test).await?;
                if test.target.scheduler() == Scheduler::KAI {
                    test.create_kai_queue(&queue).await?;
                } else {
                    test.create_volcano_queue(&queue).await?;
                }
                steps::observe_bound(test, &GANG, 0..GANG.minimum).await
            })
        },
    )
    .not_on(WITHOUT_QUEUES),
    // 4 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs that fits. Its sibling of 1 pod x 8 GPUs is created later.
    observation(
        "waits/missing-sibling-created",
        "The missing sibling of a waiting gang is created. Is the gang bound?",
        &[nodes(4).gpus(8)],
        |test| {
            Box::pin(async move {
                causes::with_sibling(test, &GANG).await?;
                begin(test).await?;
                causes::with_sibling(test, &SIBLING).await?;
                steps::observe_bound(test, &GANG, 0..GANG.minimum).await
            })
        },
    )
    .not_on(WITHOUT_SIBLINGS),
    // 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs that requires a level. Its nodes get the label later.
    observation(
        "topology/missing-label-added",
        "The nodes of a waiting gang get the label of its level. Is the gang bound?",
        &[nodes(3).gpus(8)],
        |test| {
            Box::pin(async move {
                // A level of its own: no node of another scheduler's question has its label.
                let level = format!("example.com/{}", test.namespace);
                topology::create_resource(test, &GANG, &level).await?;
                steps::create_pods(test, &GANG, 0..GANG.minimum).await?;
                begin(test).await?;
                for node in &test.nodes {
                    let label = json!({"metadata": {"labels": {(level.as_str()): test.namespace}}});
                    test.patch("Node", &node.name, label).await?;
                }
                steps::observe_bound(test, &GANG, 0..GANG.minimum).await
            })
        },
    )
    .not_on(WITHOUT_LEVELS),
];

const fn observation(
    id: &'static str,
    question: &'static str,
    nodes: &'static [Nodes],
    drive: Drive,
) -> Observation {
    Observation::new(question, drive, answer).registered(id, "").answers(&["bound", "waits"]).nodes(nodes)
}

/// The scheduler decides once while the cause exists.
async fn begin(test: &mut TestContext) -> Result<(), Stop> {
    steps::full_pass(test).await?;
    steps::changed(test);
    Ok(())
}

fn answer(history: &History) -> Answered {
    reports::by_binding(history, &GANG, 0..GANG.minimum, ["bound", "waits"])
}
