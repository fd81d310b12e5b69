//! 2 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs: it fits. Then one pod is deleted, and none replaces it.

use std::time::Duration;

use conformance_driver::control_plane::restored;

use crate::prelude::*;

/// Asked alone: KAI would also evict the gangs of other questions.
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
