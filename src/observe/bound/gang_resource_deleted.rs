//! 3 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs: it fits. Its gang resource is deleted; one pod is replaced.

use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("The gang resource of a bound gang is deleted, and then a pod is replaced. What happens?")
        .answers(&["pods-deleted", "replacement-bound", "replacement-waits"])
        .nodes(&[nodes(3).gpus(8)]);

const GANG: PlainGang = PlainGang::new("undone", 2);
const REPLACEMENT: usize = 2;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit_bound(test, &GANG, 2).await?;
    steps::delete_resource(test, &GANG).await?;
    steps::settle(test, "the pods deleted", |live| seen::bound(live, &GANG) < 2).await?;
    steps::changed(test);
    if test.look(|live| seen::is_bound(live, &GANG, 1)) {
        steps::lose_pod(test, &GANG, 1).await?;
    }
    steps::observe_replacement(test, &GANG, REPLACEMENT).await
}

fn answer(history: &History) -> Answered {
    let (before, live) = (seen::before_change(history)?, seen::observed(history)?);
    let word = if seen::bound(&before, &GANG) < 2 {
        "pods-deleted"
    } else if seen::is_bound(&live, &GANG, REPLACEMENT) {
        "replacement-bound"
    } else {
        "replacement-waits"
    };
    let fate = seen::fate(&before, history.header.target, &GANG);
    Ok(Answer::new(word).notes([fate]).notes(reports::pod_messages(&live, &GANG)))
}
