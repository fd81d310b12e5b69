//! 2 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs: it fits. One pod names a priority class.

use super::{ANSWERS, Named, answer_for, drive_with};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("One pod of a gang names a priority class, another one names none. Is the gang bound?")
        .answers(ANSWERS)
        .nodes(&[nodes(2).gpus(8)]);

pub(super) const GANG: PlainGang = PlainGang::new("between", 2);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    drive_with(test, &GANG, Named { on_resource: false, on_pods: 1 }).await
}

fn answer(history: &History) -> Answered {
    answer_for(history, &GANG)
}
