//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: it fits. One pod names a scheduler that does not exist.

use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("Does a pod that names another scheduler count towards the minimum of its gang?")
        .answers(&["count", "do-not-count"])
        .nodes(&[nodes(3).gpus(8)]);

const GANG: PlainGang = PlainGang::new("mixed", 3);
/// The index of the pod that names another scheduler.
const OTHER: usize = 2;

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::create_resource(test, &GANG, |_| {}).await?;
    steps::changed(test);
    steps::create_pods(test, &GANG, 0..OTHER).await?;
    steps::create_pod(test, &GANG, OTHER, |pod| pod["spec"]["schedulerName"] = "nobody".into()).await?;
    steps::observe_bound(test, &GANG, 0..OTHER).await
}

fn answer(history: &History) -> Answered {
    let live = seen::observed(history)?;
    let are_bound = |live: &Live| seen::bound(live, &GANG) >= OTHER;
    let word = if are_bound(&live) { "count" } else { "do-not-count" };
    let after = seen::seconds_after_change(history, are_bound);
    Ok(Answer::new(word).seconds("creation to binding", after).notes(reports::pod_messages(&live, &GANG)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::prelude::*;

    #[rstest::rstest]
    #[case(2, "count")]
    #[case(0, "do-not-count")]
    fn the_binding_of_the_other_pods_is_the_answer(#[case] bound: usize, #[case] wanted: &'static str) {
        let created = story().mark(CHANGED, Value::Null).all_added(waiting(&GANG, 3));
        assert_eq!(
            word(&OBSERVATION, bind(created, &GANG, 0..bound).mark(OBSERVED, Value::Null)),
            Ok(wanted)
        );
    }
}
