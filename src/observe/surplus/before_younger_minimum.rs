//! 1 node x 8 GPUs; a gang of 2 pods x 8 GPUs with minimum 1: one surplus pod waits. A younger gang of
//! 1 pod x 8 GPUs waits too. Then a second node joins: room for one of them.

use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("A surplus pod of an older gang and a whole younger gang wait. Which of them gets free room?")
        .answers(&["the-surplus-pod", "the-younger-gang", "neither"])
        .nodes(&[nodes(1).gpus(8), nodes(1).gpus(8).joining(1)]);

const OLDER: PlainGang = PlainGang::new("older", 1);
const YOUNGER: PlainGang = PlainGang::new("younger", 1);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit(test, &OLDER, 2).await?;
    steps::until_bound(test, &OLDER, 1).await?;
    steps::submit(test, &YOUNGER, 1).await?;
    test.scheduler_passes().await?;
    steps::changed(test);
    test.add_nodes(1).await?;
    steps::observe(test, "one of them bound", |live| {
        seen::bound(live, &OLDER) == 2 || seen::bound(live, &YOUNGER) == 1
    })
    .await
}

fn answer(history: &History) -> Answered {
    let live = seen::observed(history)?;
    let has_surplus = |live: &Live| seen::bound(live, &OLDER) == 2;
    let has_younger = |live: &Live| seen::bound(live, &YOUNGER) == 1;
    let word = if has_surplus(&live) {
        "the-surplus-pod"
    } else if has_younger(&live) {
        "the-younger-gang"
    } else {
        "neither"
    };
    let after = seen::seconds_after_change(history, |live| has_surplus(live) || has_younger(live));
    Ok(Answer::new(word).seconds("room to binding", after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::prelude::*;

    #[rstest::rstest]
    #[case(2, None, "the-surplus-pod")]
    #[case(1, Some("n"), "the-younger-gang")]
    #[case(1, None, "neither")]
    fn the_bound_pod_is_the_answer(
        #[case] older: usize,
        #[case] younger: Option<&str>,
        #[case] wanted: &'static str,
    ) {
        let changed = story().all_added(waiting(&OLDER, 2)).mark(CHANGED, Value::Null);
        let bound = bind(changed, &OLDER, 0..older).added(pod(&YOUNGER, 0, younger));
        assert_eq!(word(&OBSERVATION, bound.mark(OBSERVED, Value::Null)), Ok(wanted));
    }
}
