//! 2 nodes x 8 GPUs without the label of the level; a gang of 2 pods x 8 GPUs that requires the level.

use super::{GANG, MISSING, WITHOUT_LEVELS, require_level, submit};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("What does the gang resource report while no node has the label of a required level?")
        .answers(reports::ON_RESOURCE)
        .not_on(WITHOUT_LEVELS)
        .nodes(&[nodes(2).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    submit(test, MISSING).await?;
    test.scheduler_passes().await
}

fn answer(history: &History) -> Answered {
    let live = seen::passed(history)?;
    require_level(&live, history)?;
    reports::on_resource(&live, history.header.target, &GANG)
}
