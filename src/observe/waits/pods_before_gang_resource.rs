//! 2 nodes x 8 GPUs; 2 pods x 8 GPUs, and after a full pass of the scheduler their gang resource: they fit.

use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("Pods exist before the gang resource that they name. When are they bound?")
        .answers(&["before-it-exists", "after-it-exists", "never"])
        .nodes(&[nodes(2).gpus(8)]);

const GANG: PlainGang = PlainGang::new("early", 2);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::create_pods(test, &GANG, 0..2).await?;
    test.scheduler_passes().await?;
    steps::changed(test);
    steps::create_resource(test, &GANG, |_| {}).await?;
    steps::observe_bound(test, &GANG, 0..2).await
}

fn answer(history: &History) -> Answered {
    let live = seen::observed(history)?;
    let are_bound = |live: &Live| seen::bound(live, &GANG) == 2;
    if seen::bound(&seen::before_change(history)?, &GANG) > 0 {
        return Ok(Answer::new("before-it-exists"));
    }
    let word = if are_bound(&live) { "after-it-exists" } else { "never" };
    let after = seen::seconds_after_change(history, are_bound);
    Ok(Answer::new(word).seconds("creation to binding", after).notes(reports::pod_messages(&live, &GANG)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::prelude::*;

    #[rstest::rstest]
    #[case(1, 2, "before-it-exists")]
    #[case(0, 2, "after-it-exists")]
    #[case(0, 1, "never")]
    fn the_time_of_the_bindings_is_the_answer(
        #[case] before: usize,
        #[case] after: usize,
        #[case] wanted: &'static str,
    ) {
        let created = bind(story().all_added(waiting(&GANG, 2)), &GANG, 0..before);
        let changed = created.mark(CHANGED, Value::Null);
        let observed = bind(changed, &GANG, before..after).mark(OBSERVED, Value::Null);
        assert_eq!(word(&OBSERVATION, observed), Ok(wanted));
    }
}
