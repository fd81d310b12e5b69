//! 2 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs: it fits. Then one pod is deleted, and none replaces it.

use std::time::Duration;

use conformance_driver::control_plane::restored;

use crate::prelude::*;

/// In other questions KAI evicts no such gang, because it would be the gang of another question.
pub(crate) const OBSERVATION: Observation = question!(
    "A bound gang stays below its minimum for longer than a minute. Are its other pods evicted?",
    restored
)
.answers(&["kept", "evicted"])
.asked(Asked::Slow)
.isolation(Isolation::Dedicated)
.nodes(&[nodes(2).gpus(8)]);

const GANG: PlainGang = PlainGang::new("incomplete", 2);
/// KAI's default. No other scheduler has such a period.
const GRACE: Duration = Duration::from_secs(60);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    if test.target.scheduler() == Scheduler::KAI {
        test.evict_stale_gangs(GRACE).await?;
    }
    steps::submit_bound(test, &GANG, 2).await?;
    steps::changed(test);
    steps::lose_pod(test, &GANG, 1).await?;
    test.watch_for(GRACE).await?;
    steps::observe(test, "the other pod evicted", is_evicted).await
}

fn is_evicted(live: &Live) -> bool {
    seen::bound(live, &GANG) == 0
}

fn answer(history: &History) -> Answered {
    let word = if is_evicted(&seen::observed(history)?) { "evicted" } else { "kept" };
    Ok(Answer::new(word).seconds("deletion to eviction", seen::seconds_after_change(history, is_evicted)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::prelude::*;

    #[rstest::rstest]
    #[case(1, "evicted")]
    #[case(0, "kept")]
    fn the_other_pod_is_the_answer(#[case] evicted: usize, #[case] wanted: &'static str) {
        let bound = bind(story().all_added(waiting(&GANG, 2)), &GANG, 0..2).mark(CHANGED, Value::Null);
        let lost = bound.deleted(pod(&GANG, 1, Some("n"))).later(60);
        let left = (0..evicted).fold(lost, |story, index| story.deleted(pod(&GANG, index, Some("n"))));
        assert_eq!(word(&OBSERVATION, left.mark(OBSERVED, Value::Null)), Ok(wanted));
    }
}
