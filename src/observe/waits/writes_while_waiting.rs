//! 2 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: one short. The run watches the gang for 20 s.

use std::time::Duration;

use crate::causes::{self, GANG};
use crate::prelude::*;
use crate::seen::{CHANGED, OBSERVED};

pub(crate) const OBSERVATION: Observation =
    question!("Are the pods or the gang resource of a waiting gang written again and again?")
        .answers(&["not-written", "pods-written", "gang-resource-written", "both-written"])
        .nodes(&[nodes(2).gpus(8)]);

/// Longer than the longest pause of any scheduler between two tries.
const WATCHED: Duration = Duration::from_secs(20);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    causes::too_little_room(test).await?;
    steps::changed(test);
    test.watch_for(WATCHED).await?;
    // The history must have everything that was written until now.
    test.caught_up().await?;
    test.mark(OBSERVED, serde_json::Value::Null);
    Ok(())
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
    use crate::testing::prelude::*;

    #[rstest::rstest]
    #[case(vec![], "not-written")]
    #[case(vec![pod(&GANG, 0, None)], "pods-written")]
    #[case(vec![resource(&GANG, json!({}))], "gang-resource-written")]
    #[case(vec![pod(&GANG, 0, None), resource(&GANG, json!({}))], "both-written")]
    #[case::of_others(vec![pod(&PlainGang::new("other", 1), 0, None)], "not-written")]
    fn writes_between_the_marks_are_the_answer(#[case] written: Vec<Value>, #[case] wanted: &'static str) {
        let before = story().added(pod(&GANG, 0, None)).mark(CHANGED, Value::Null);
        let during = written.into_iter().fold(before, |story, object| story.modified(object));
        let after = during.later(20).mark(OBSERVED, Value::Null).modified(pod(&GANG, 1, None));
        assert_eq!(word(&OBSERVATION, after), Ok(wanted));
    }

    #[test]
    fn the_figure_is_a_rate() {
        let watched = story().mark(CHANGED, Value::Null).modified(pod(&GANG, 0, None)).later(20);
        let answer = OBSERVATION.answer(&watched.mark(OBSERVED, Value::Null).end()).unwrap();
        assert_eq!((answer.figures[0].value, &*answer.figures[0].unit), (3.0, "writes/min"));
    }
}
