//! 2 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: one pod short. After a minute a third node joins.

use std::time::Duration;

use crate::causes::{self, GANG};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("A gang waits for a minute before there is room for it. How soon is it bound?")
        .answers(&["within-5-s", "later", "waits"])
        .asked(Asked::Slow)
        .nodes(&[nodes(2).gpus(8), nodes(1).gpus(8).joining(1)]);

/// The pauses between two tries have their full length.
const MINUTE: Duration = Duration::from_secs(60);
/// Less than the longest pauses, which are 10 s.
const SOON: f64 = 5.0;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    causes::too_little_room(test).await?;
    test.watch_for(MINUTE).await?;
    steps::changed(test);
    test.add_nodes(1).await?;
    steps::observe_bound(test, &GANG, 0..GANG.minimum).await
}

fn answer(history: &History) -> Answered {
    seen::observed(history)?;
    let after = seen::seconds_after_change(history, |live| seen::bound(live, &GANG) == GANG.minimum);
    let word = match after {
        Some(seconds) if seconds <= SOON => "within-5-s",
        Some(_) => "later",
        None => "waits",
    };
    Ok(Answer::new(word).seconds("room to binding", after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::prelude::*;

    #[rstest::rstest]
    #[case(1, 3, "within-5-s")]
    #[case(6, 3, "later")]
    #[case(6, 2, "waits")]
    fn the_time_of_the_last_binding_is_the_answer(
        #[case] seconds: i64,
        #[case] bound: usize,
        #[case] wanted: &'static str,
    ) {
        let changed = story().all_added(waiting(&GANG, 3)).later(60).mark(CHANGED, Value::Null);
        let observed = bind(changed.later(seconds), &GANG, 0..bound).mark(OBSERVED, Value::Null);
        // A binding after the moment of the answer counts no longer.
        assert_eq!(word(&OBSERVATION, bind(observed, &GANG, bound..3)), Ok(wanted));
    }
}
