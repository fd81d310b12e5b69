//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: it fits. Then one pod is deleted and another one is created.

use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("A pod of a bound gang is lost and replaced. Is the replacement bound alone?")
        .answers(&["bound", "waits"])
        .nodes(&[nodes(3).gpus(8)]);

const GANG: PlainGang = PlainGang::new("losing", 3);
const REPLACEMENT: usize = 3;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit_bound(test, &GANG, 3).await?;
    steps::lose_pod(test, &GANG, 2).await?;
    steps::changed(test);
    steps::create_pods(test, &GANG, REPLACEMENT..REPLACEMENT + 1).await?;
    steps::observe_bound(test, &GANG, REPLACEMENT..REPLACEMENT + 1).await
}

fn answer(history: &History) -> Answered {
    reports::by_binding(history, &GANG, REPLACEMENT..REPLACEMENT + 1, ["bound", "waits"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::prelude::*;

    #[rstest::rstest]
    #[case(4, "bound")]
    #[case(3, "waits")]
    fn the_binding_of_the_replacement_is_the_answer(#[case] end: usize, #[case] wanted: &'static str) {
        let lost = bind(story().all_added(waiting(&GANG, 3)), &GANG, 0..3).deleted(pod(&GANG, 2, Some("n")));
        let replaced = lost.mark(CHANGED, Value::Null).added(pod(&GANG, REPLACEMENT, None));
        let observed = bind(replaced, &GANG, REPLACEMENT..end).mark(OBSERVED, Value::Null);
        assert_eq!(word(&OBSERVATION, observed), Ok(wanted));
    }
}
