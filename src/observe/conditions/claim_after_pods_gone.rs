//! 2 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs: it fits. Then its pods are deleted.

use crate::prelude::*;

pub(crate) const OBSERVATION: Observation = question!(
    "All pods of a bound gang are deleted. Does its gang resource still report that it is scheduled?"
)
.answers(&["never-reported", "taken-back", "still-reported", "gang-resource-deleted"])
.not_on(&[(Scheduler::KAI, "its PodGroup controller would report it, which the suite does not run")])
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
