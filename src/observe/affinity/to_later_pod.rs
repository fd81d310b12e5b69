//! 2 nodes x 8 GPUs; a gang of 2 pods x 4 GPUs: it fits on one node and on two. The first pod requires the
//! node of the second.

use super::{ANSWERS, answer_for, require};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("A pod of a gang requires the node of a pod that is created after it. Is the gang bound?")
        .answers(ANSWERS)
        .nodes(&[nodes(2).gpus(8)]);

pub(super) const GANG: PlainGang = PlainGang::new("later", 2).gpus(4);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::create_resource(test, &GANG, |_| {}).await?;
    steps::changed(test);
    steps::create_pod(test, &GANG, 0, |pod| require(pod, "podAffinity", 1)).await?;
    steps::create_pods(test, &GANG, 1..2).await?;
    steps::observe_bound(test, &GANG, 0..2).await
}

fn answer(history: &History) -> Answered {
    answer_for(history, &GANG)
}
