//! 3 nodes x 8 GPUs; 2 pods x 8 GPUs of a gang with minimum 3, which is then lowered to 2.

use crate::causes::{self, GANG};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("The minimum of a waiting gang is lowered to its number of pods. Is the gang bound?")
        .answers(&["refused", "bound", "waits"])
        .nodes(&[nodes(3).gpus(8)]);

const LOWERED: usize = 2;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    causes::too_few_pods(test).await?;
    steps::change_minimum(test, &GANG, LOWERED).await?;
    steps::observe_bound(test, &GANG, 0..LOWERED).await
}

fn answer(history: &History) -> Answered {
    let live = seen::observed(history)?;
    if let Some(refusal) = seen::refusal(history)? {
        return Ok(Answer::new("refused").notes([refusal]));
    }
    let is_bound = |live: &Live| seen::bound(live, &GANG) >= LOWERED;
    let word = if is_bound(&live) { "bound" } else { "waits" };
    Ok(Answer::new(word).seconds("change to binding", seen::seconds_after_change(history, is_bound)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::prelude::*;

    fn lowered(refusal: Value, bound: usize) -> Story {
        let changed = story().all_added(waiting(&GANG, 2)).mark(CHANGED, Value::Null);
        let replied = changed.mark(REPLIED, json!({"refusal": refusal}));
        bind(replied, &GANG, 0..bound).mark(OBSERVED, Value::Null)
    }

    #[rstest::rstest]
    #[case(json!("field is immutable"), 0, "refused")]
    #[case(Value::Null, 2, "bound")]
    #[case(Value::Null, 1, "waits")]
    fn the_response_and_the_bindings_are_the_answer(
        #[case] refusal: Value,
        #[case] bound: usize,
        #[case] wanted: &'static str,
    ) {
        assert_eq!(word(&OBSERVATION, lowered(refusal, bound)), Ok(wanted));
    }
}
