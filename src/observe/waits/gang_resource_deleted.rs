//! 1 node x 8 GPUs; a gang of 2 pods x 8 GPUs: room for one. Then its gang resource is deleted.

use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("The gang resource of a waiting gang is deleted. Is a pod that fits bound alone?")
        .answers(&["pods-wait", "bound-alone"])
        .nodes(&[nodes(1).gpus(8)]);

const GANG: PlainGang = PlainGang::new("orphaned", 2);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    steps::submit(test, &GANG, 2).await?;
    test.scheduler_passes().await?;
    steps::changed(test);
    steps::delete_resource(test, &GANG).await?;
    steps::observe(test, "a pod bound", |live| seen::bound(live, &GANG) > 0).await
}

fn answer(history: &History) -> Answered {
    let live = seen::observed(history)?;
    let is_bound = |live: &Live| seen::bound(live, &GANG) > 0;
    let word = if is_bound(&live) { "bound-alone" } else { "pods-wait" };
    let after = seen::seconds_after_change(history, is_bound);
    let fate = seen::fate(&live, history.header.target, &GANG);
    Ok(Answer::new(word).seconds("deletion to binding", after).notes([fate]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::prelude::*;

    #[rstest::rstest]
    #[case(0, "pods-wait")]
    #[case(1, "bound-alone")]
    fn a_bound_pod_is_the_answer(#[case] bound: usize, #[case] wanted: &'static str) {
        let created = story().added(resource(&GANG, json!({}))).all_added(waiting(&GANG, 2));
        let deleted = created.mark(CHANGED, Value::Null).deleted(resource(&GANG, json!({})));
        let observed = bind(deleted, &GANG, 0..bound).mark(OBSERVED, Value::Null);
        let answer = OBSERVATION.answer(&observed.clone().end()).unwrap();
        assert_eq!(answer.notes, ["the gang resource is deleted"]);
        assert_eq!(word(&OBSERVATION, observed), Ok(wanted));
    }
}
