//! 2 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs: it fits. A second gang of 1 pod x 8 GPUs waits. Then a pod of
//! the first gang is deleted, and its replacement is created.

use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("A younger gang waits for the place of a lost pod. Which of them gets it?")
        .answers(&["the-replacement", "the-waiting-gang", "neither"])
        .nodes(&[nodes(2).gpus(8)]);

const GANG: PlainGang = PlainGang::new("holder", 2);
const FILLER: PlainGang = PlainGang::new("filler", 1);
const REPLACEMENT: usize = 2;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit_bound(test, &GANG, 2).await?;
    steps::submit(test, &FILLER, 1).await?;
    test.scheduler_passes().await?;
    steps::changed(test);
    steps::lose_pod(test, &GANG, 1).await?;
    steps::create_pods(test, &GANG, REPLACEMENT..REPLACEMENT + 1).await?;
    steps::observe(test, "one of them bound", |live| {
        seen::is_bound(live, &GANG, REPLACEMENT) || seen::bound(live, &FILLER) > 0
    })
    .await
}

fn answer(history: &History) -> Answered {
    let live = seen::observed(history)?;
    let has_replacement = |live: &Live| seen::is_bound(live, &GANG, REPLACEMENT);
    let has_filler = |live: &Live| seen::bound(live, &FILLER) > 0;
    let word = if has_replacement(&live) {
        "the-replacement"
    } else if has_filler(&live) {
        "the-waiting-gang"
    } else {
        "neither"
    };
    let after = seen::seconds_after_change(history, |live| has_replacement(live) || has_filler(live));
    Ok(Answer::new(word).seconds("deletion to binding", after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::prelude::*;

    #[rstest::rstest]
    #[case(Some("n"), None, "the-replacement")]
    #[case(None, Some("n"), "the-waiting-gang")]
    #[case(None, None, "neither")]
    fn the_bound_pod_is_the_answer(
        #[case] replacement: Option<&str>,
        #[case] filler: Option<&str>,
        #[case] wanted: &'static str,
    ) {
        let lost = story().mark(CHANGED, Value::Null).added(pod(&GANG, REPLACEMENT, replacement));
        let observed = lost.added(pod(&FILLER, 0, filler)).mark(OBSERVED, Value::Null);
        assert_eq!(word(&OBSERVATION, observed), Ok(wanted));
    }
}
