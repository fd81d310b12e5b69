//! 4 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs: it fits. Its minimum is raised to 3, and one pod is replaced.

use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("The minimum of a bound gang is raised above its pods. Is the next replacement bound?")
        .answers(&["refused", "bound", "waits"])
        .nodes(&[nodes(4).gpus(8)]);

const GANG: PlainGang = PlainGang::new("raised", 2);
const REPLACEMENT: usize = 2;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit_bound(test, &GANG, 2).await?;
    steps::change_minimum(test, &GANG, 3).await?;
    steps::lose_pod(test, &GANG, 1).await?;
    steps::create_pods(test, &GANG, REPLACEMENT..REPLACEMENT + 1).await?;
    steps::observe_bound(test, &GANG, REPLACEMENT..REPLACEMENT + 1).await
}

fn answer(history: &History) -> Answered {
    let live = seen::observed(history)?;
    if let Some(refusal) = seen::refusal(history)? {
        return Ok(Answer::new("refused").notes([refusal]));
    }
    let word = if seen::is_bound(&live, &GANG, REPLACEMENT) { "bound" } else { "waits" };
    Ok(Answer::new(word).notes(reports::pod_messages(&live, &GANG)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::prelude::*;

    #[rstest::rstest]
    #[case(json!("it is immutable"), Some("n"), "refused")]
    #[case(Value::Null, Some("n"), "bound")]
    #[case(Value::Null, None, "waits")]
    fn the_response_and_the_replacement_are_the_answer(
        #[case] refusal: Value,
        #[case] node: Option<&str>,
        #[case] wanted: &'static str,
    ) {
        let replied = story().mark(REPLIED, json!({"refusal": refusal}));
        let observed = replied.added(pod(&GANG, REPLACEMENT, node)).mark(OBSERVED, Value::Null);
        assert_eq!(word(&OBSERVATION, observed), Ok(wanted));
    }
}
