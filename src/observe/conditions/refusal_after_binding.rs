//! 2 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: one pod short. Then a third node joins.

use conformance_contract::target::Target;

use crate::causes::GANG;
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("A gang waited and is bound now. Does its gang resource still report that it waits?")
        .answers(&["never-reported", "taken-back", "still-reported"])
        .nodes(&[nodes(2).gpus(8), nodes(1).gpus(8).joining(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let target = test.target;
    steps::submit(test, &GANG, GANG.minimum).await?;
    steps::settle(test, "the refusal reported", move |live| has_refusal(live, target)).await?;
    steps::changed(test);
    test.add_nodes(1).await?;
    steps::until_bound(test, &GANG, GANG.minimum).await?;
    steps::observe(test, "the refusal taken back", move |live| !has_refusal(live, target)).await
}

fn has_refusal(live: &Live, target: Target) -> bool {
    seen::resource(live, target, &GANG).is_some_and(|resource| reports::refuses(target, resource))
}

fn answer(history: &History) -> Answered {
    let target = history.header.target;
    let (before, end) = (seen::before_change(history)?, seen::observed(history)?);
    let word = match (has_refusal(&before, target), has_refusal(&end, target)) {
        (_, true) => "still-reported",
        (true, false) => "taken-back",
        (false, false) => "never-reported",
    };
    let bound = seen::seconds_after_change(history, |live| seen::bound(live, &GANG) == GANG.minimum);
    let notes = reports::on_resource(&end, target, &GANG)?.notes;
    Ok(Answer::new(word).seconds("room to binding", bound).notes(notes))
}
