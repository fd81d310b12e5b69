//! 3 nodes x 8 GPUs in one rack; a gang of 2 pods x 8 GPUs that requires one rack: it fits. Then the nodes
//! lose the label of the rack, and one pod is replaced.

use conformance_contract::names;
use serde_json::{Value, json};

use super::{GANG, WITHOUT_LEVELS};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("The nodes of a bound gang lose the label of its level. Is the replacement of a pod bound?")
        .answers(&["bound", "waits"])
        .not_on(WITHOUT_LEVELS)
        .nodes(&[nodes(3).gpus(8).rack("a")]);

const REPLACEMENT: usize = 2;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    super::create_resource(test, &GANG, names::RACK).await?;
    steps::create_pods(test, &GANG, 0..GANG.minimum).await?;
    steps::until_bound(test, &GANG, GANG.minimum).await?;
    for node in &test.nodes {
        test.patch("Node", &node.name, json!({"metadata": {"labels": {names::RACK: Value::Null}}})).await?;
    }
    steps::lose_pod(test, &GANG, 1).await?;
    // The scheduler learns of the nodes before it decides on the replacement.
    steps::full_pass(test).await?;
    steps::changed(test);
    steps::observe_replacement(test, &GANG, REPLACEMENT).await
}

fn answer(history: &History) -> Answered {
    reports::by_binding(history, &GANG, REPLACEMENT..REPLACEMENT + 1, ["bound", "waits"])
}
