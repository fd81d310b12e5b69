//! 2 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs: it fits. Then its pods are deleted.

use crate::prelude::*;

pub(crate) const OBSERVATION: Observation = question!(
    "All pods of a bound gang are deleted. Does its gang resource still report that it is scheduled?"
)
.answers(&["never-reported", "taken-back", "still-reported", "gang-resource-deleted"])
.nodes(&[nodes(2).gpus(8)]);

const GANG: PlainGang = PlainGang::new("emptied", 2);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let target = test.target;
    let has_claim = move |live: &Live| {
        seen::resource(live, target, &GANG).is_some_and(|found| !reports::claims(target, found).is_empty())
    };
    steps::submit_bound(test, &GANG, 2).await?;
    steps::settle(test, "the gang reported as scheduled", has_claim).await?;
    steps::changed(test);
    for index in 0..2 {
        steps::lose_pod(test, &GANG, index).await?;
    }
    steps::observe(test, "the report taken back", move |live| !has_claim(live)).await
}

fn answer(history: &History) -> Answered {
    let target = history.header.target;
    let (bound, end) = (seen::before_change(history)?, seen::observed(history)?);
    let claims = |live: &Live| {
        seen::resource(live, target, &GANG).map(|found| reports::claims(target, found)).unwrap_or_default()
    };
    let (before, after) = (claims(&bound), claims(&end));
    let word = if before.is_empty() {
        "never-reported"
    } else if seen::resource(&end, target, &GANG).is_none() {
        "gang-resource-deleted"
    } else if before.is_disjoint(&after) {
        "taken-back"
    } else {
        "still-reported"
    };
    Ok(Answer::new(word).notes(after.into_iter().map(|claim| format!("{claim} without pods"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::prelude::*;

    fn group(phase: &str, scheduled: &str) -> Value {
        let condition = json!({"type": "Scheduled", "status": scheduled});
        resource(&GANG, json!({"phase": phase, "conditions": [condition]}))
    }

    fn emptied(before: Value, change: impl FnOnce(Story) -> Story) -> Story {
        let bound = bind(story().added(before).all_added(waiting(&GANG, 2)), &GANG, 0..2);
        change(bound.mark(CHANGED, Value::Null)).mark(OBSERVED, Value::Null)
    }

    #[test]
    fn the_claims_before_and_after_are_the_answer() {
        let scheduled = || group("Running", "True");
        let words = [
            word(&OBSERVATION, emptied(group("Pending", "False"), |story| story)),
            word(&OBSERVATION, emptied(scheduled(), |story| story)),
            word(&OBSERVATION, emptied(scheduled(), |story| story.modified(group("Pending", "True")))),
            word(&OBSERVATION, emptied(scheduled(), |story| story.modified(group("Pending", "False")))),
            word(&OBSERVATION, emptied(scheduled(), |story| story.deleted(scheduled()))),
        ];
        let wanted =
            ["never-reported", "still-reported", "still-reported", "taken-back", "gang-resource-deleted"];
        assert_eq!(words.map(Result::unwrap), wanted);
    }
}
