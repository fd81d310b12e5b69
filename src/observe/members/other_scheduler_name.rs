//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: it fits. One pod names a scheduler that does not exist.

use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("Does a pod that names another scheduler count towards the minimum of its gang?")
        .answers(&["count", "count-and-bound", "do-not-count"])
        .nodes(&[nodes(3).gpus(8)]);

const GANG: PlainGang = PlainGang::new("mixed", 3);
const OTHER: usize = 2;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::create_resource(test, &GANG, |_| {}).await?;
    steps::changed(test);
    steps::create_pods(test, &GANG, 0..OTHER).await?;
    steps::create_pod(test, &GANG, OTHER, |pod| pod["spec"]["schedulerName"] = "nobody".into()).await?;
    steps::observe_bound(test, &GANG, 0..OTHER).await
}

fn answer(history: &History) -> Answered {
    let is_bound = seen::is_bound(&seen::observed(history)?, &GANG, OTHER);
    let counts = if is_bound { "count-and-bound" } else { "count" };
    reports::by_binding(history, &GANG, 0..OTHER, [counts, "do-not-count"])
}
