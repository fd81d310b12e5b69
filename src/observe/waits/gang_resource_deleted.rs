//! 1 node x 8 GPUs; a gang of 2 pods x 8 GPUs: room for one. Then its gang resource is deleted.

use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("The gang resource of a waiting gang is deleted. Is a pod that fits bound alone?")
        .answers(&["pods-wait", "bound-alone"])
        .nodes(&[nodes(1).gpus(8)]);

const GANG: PlainGang = PlainGang::new("orphaned", 2);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit_waiting(test, &GANG, 2).await?;
    steps::changed(test);
    steps::delete_resource(test, &GANG).await?;
    steps::observe(test, "a pod bound", is_bound).await
}

fn is_bound(live: &Live) -> bool {
    seen::bound(live, &GANG) > 0
}

fn answer(history: &History) -> Answered {
    let live = seen::observed(history)?;
    let word = if is_bound(&live) { "bound-alone" } else { "pods-wait" };
    let after = seen::seconds_after_change(history, is_bound);
    let fate = seen::fate(&live, history.header.target, &GANG);
    Ok(Answer::new(word).seconds("deletion to binding", after).notes([fate]))
}
