//! 2 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: one pod short. After a minute a third node joins.

use std::time::Duration;

use crate::causes::GANG;
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("A gang waits for a minute before there is room for it. How soon is it bound?")
        .answers(&["within-5-s", "later", "waits"])
        .asked(Asked::Slow)
        .nodes(&[nodes(2).gpus(8), nodes(1).gpus(8).joining(1)]);

/// After this time, the pauses between two tries have their full length.
const MINUTE: Duration = Duration::from_secs(60);
/// Less than the longest pauses, which are 10 s.
const SOON: f64 = 5.0;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit_waiting(test, &GANG, GANG.minimum).await?;
    test.watch_for(MINUTE).await?;
    steps::changed(test);
    test.add_nodes(1).await?;
    steps::observe_bound(test, &GANG, 0..GANG.minimum).await
}

fn answer(history: &History) -> Answered {
    seen::observed(history)?;
    let after = seen::seconds_after_change(history, |live| seen::bound(live, &GANG) == GANG.minimum);
    // Extended on a slow machine, as all limits.
    let soon = SOON * history.header.slowness.unwrap_or(1.0).max(1.0);
    let word = match after {
        Some(seconds) if seconds <= soon => "within-5-s",
        Some(_) => "later",
        None => "waits",
    };
    Ok(Answer::new(word).seconds("room to binding", after))
}
