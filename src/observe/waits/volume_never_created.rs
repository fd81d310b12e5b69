//! 2 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs: it fits. One pod has a claim whose volume is not created.

use serde_json::json;

use crate::answer::NoAnswer;
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("A pod of a gang has a claim whose volume is never created. Is the other pod bound?")
        .answers(&["bound", "held"])
        .nodes(&[nodes(2).gpus(8)]);

const GANG: PlainGang = PlainGang::new("claiming", 2);
const CLAIMING: usize = 1;
const CLAIM: &str = "data";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::create_resource(test, &GANG, |_| {}).await?;
    steps::changed(test);
    steps::create_pods(test, &GANG, 0..CLAIMING).await?;
    create_claiming_pod(test, &GANG, CLAIMING).await?;
    steps::observe_bound(test, &GANG, 0..CLAIMING).await
}

pub(super) async fn create_claiming_pod(
    test: &TestContext,
    gang: &PlainGang,
    index: usize,
) -> Result<(), Stop> {
    test.create_claims(&[CLAIM]).await?;
    let claim = json!([{"name": CLAIM, "persistentVolumeClaim": {"claimName": CLAIM}}]);
    steps::create_pod(test, gang, index, |pod| pod["spec"]["volumes"] = claim).await
}

fn answer(history: &History) -> Answered {
    if seen::is_bound(&seen::observed(history)?, &GANG, CLAIMING) {
        return Err(NoAnswer::Because("the pod with the claim is bound".into()));
    }
    reports::by_binding(history, &GANG, 0..CLAIMING, ["bound", "held"])
}
