//! 1 node x 8 GPUs in a rack and 2 nodes x 8 GPUs without a rack; a gang of 2 pods x 8 GPUs that requires one
//! rack: it fits only together with nodes that have no rack label.

use conformance_contract::names;

use super::{ANSWERS, WITHOUT_LEVELS, answer, observe_with};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation = question!(
    "A gang requires one rack. It fits only together with nodes that have no rack label. Is it bound?"
)
.answers(ANSWERS)
.not_on(WITHOUT_LEVELS)
.nodes(&[nodes(1).gpus(8).rack("a"), nodes(2).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    observe_with(test, names::RACK).await
}
