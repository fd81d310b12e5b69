//! 2 nodes x 8 GPUs without the label of the level; a gang of 2 pods x 8 GPUs that requires the level.

use super::{ANSWERS, MISSING, WITHOUT_LEVELS, answer, observe_with};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("A gang requires one domain of a level whose label no node has. Is the gang bound?")
        .answers(ANSWERS)
        .not_on(WITHOUT_LEVELS)
        .nodes(&[nodes(2).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    observe_with(test, MISSING).await
}
