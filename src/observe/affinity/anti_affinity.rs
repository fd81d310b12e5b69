//! 2 nodes x 8 GPUs; a gang of 2 pods x 4 GPUs: it fits on one node and on two. Each pod excludes the node
//! of the other.

use super::{ANSWERS, answer_for, require};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("Two pods of a gang exclude each other from their nodes. Is the gang bound?")
        .answers(ANSWERS)
        .nodes(&[nodes(2).gpus(8)]);

pub(super) const GANG: PlainGang = PlainGang::new("apart", 2).gpus(4);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::create_resource(test, &GANG, |_| {}).await?;
    steps::changed(test);
    steps::create_pod(test, &GANG, 0, |pod| require(pod, "podAntiAffinity", 1)).await?;
    steps::create_pod(test, &GANG, 1, |pod| require(pod, "podAntiAffinity", 0)).await?;
    steps::observe_bound(test, &GANG, 0..2).await
}

fn answer(history: &History) -> Answered {
    answer_for(history, &GANG)
}
