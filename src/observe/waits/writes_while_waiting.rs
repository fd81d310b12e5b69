//! 2 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: one short. The run watches the gang for 20 s.

use std::time::Duration;

use crate::causes::GANG;
use crate::prelude::*;
use crate::seen::{CHANGED, OBSERVED};

/// Asked alone, because nodes of other questions change messages such as `0/3 nodes are available`.
pub(crate) const OBSERVATION: Observation =
    question!("Are the pods or the gang resource of a waiting gang written again and again?")
        .answers(&["not-written", "pods-written", "gang-resource-written", "both-written"])
        .isolation(Isolation::Exclusive)
        .nodes(&[nodes(2).gpus(8)]);

/// Longer than the longest pause of any scheduler between two tries.
const WATCHED: Duration = Duration::from_secs(20);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit(test, &GANG, GANG.minimum).await?;
    // The first reports do not count as repetition.
    let is_reported = |live: &Live| !reports::pod_messages(live, &GANG).is_empty();
    steps::settle(test, "a report on the pods", is_reported).await?;
    steps::changed(test);
    test.watch_for(WATCHED).await?;
    // The history must contain everything written so far.
    test.caught_up().await?;
    test.mark(OBSERVED, serde_json::Value::Null);
    // The pass shows that the scheduler does not hang. Canaries before the mark would cause writes.
    steps::full_pass(test).await
}

fn answer(history: &History) -> Answered {
    let ((from, _), (to, _)) = (history.reached(CHANGED)?, history.reached(OBSERVED)?);
    let written = history.versions().filter(|version| (from..to).contains(&version.index));
    let of_gang: Vec<_> = written.filter(|version| GANG.owns(version.object)).collect();
    let of_pods = of_gang.iter().filter(|version| version.kind() == "Pod").count();
    let word = match (of_pods, of_gang.len() - of_pods) {
        (0, 0) => "not-written",
        (_, 0) => "pods-written",
        (0, _) => "gang-resource-written",
        (_, _) => "both-written",
    };
    let minutes = history.entries[to].at.duration_since(history.entries[from].at).as_secs_f64() / 60.0;
    Ok(Answer::new(word).figure("writes", of_gang.len() as f64 / minutes.max(f64::EPSILON), "writes/min"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{changed, observed, pod, story};

    #[test]
    fn the_figure_is_a_rate() {
        let watched = changed(story()).modified(pod(&GANG, 0, None)).later(20);
        let answer = OBSERVATION.answer(&observed(watched).end()).unwrap();
        assert_eq!((answer.figures[0].value, &*answer.figures[0].unit), (3.0, "writes/min"));
    }
}
