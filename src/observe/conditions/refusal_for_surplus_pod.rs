//! 2 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs: it fits. Then a third pod is created: it does not fit.

use conformance_contract::target::Target;

use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("A gang is bound, and a surplus pod waits. Does its gang resource report that it waits?")
        .answers(&["refusal", "no-refusal"])
        .nodes(&[nodes(2).gpus(8)]);

const GANG: PlainGang = PlainGang::new("exceeding", 2);
const SURPLUS: usize = 2;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let target = test.target;
    steps::submit_bound(test, &GANG, SURPLUS).await?;
    steps::full_pass(test).await?;
    steps::changed(test);
    steps::create_pods(test, &GANG, SURPLUS..SURPLUS + 1).await?;
    steps::observe(test, "the refusal reported", move |live| has_refusal(live, target)).await
}

fn has_refusal(live: &Live, target: Target) -> bool {
    seen::resource(live, target, &GANG).is_some_and(|resource| reports::refuses(target, resource))
}

fn answer(history: &History) -> Answered {
    let (live, target) = (seen::observed(history)?, history.header.target);
    let word = if has_refusal(&live, target) { "refusal" } else { "no-refusal" };
    Ok(Answer::new(word).notes(reports::on_resource(&live, target, &GANG)?.notes))
}
