//! 2 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: one pod short. Then a third node joins.

use conformance_contract::target::Target;
use conformance_history::SharedMark;

use crate::causes::{self, GANG};
use crate::prelude::*;

pub(crate) const OBSERVATION: Observation =
    question!("A gang waited and is bound now. Does its gang resource still report that it waits?")
        .answers(&["never-reported", "taken-back", "still-reported"])
        .nodes(&[nodes(2).gpus(8), nodes(1).gpus(8).joining(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    causes::too_little_room(test).await?;
    steps::changed(test);
    test.add_nodes(1).await?;
    steps::until_bound(test, &GANG, 3).await?;
    let target = test.target;
    steps::observe(test, "the refusal taken back", move |live| !has_refusal(live, target)).await
}

fn has_refusal(live: &Live, target: Target) -> bool {
    seen::resource(live, target, &GANG).is_some_and(|resource| reports::refuses(target, resource))
}

fn answer(history: &History) -> Answered {
    let target = history.header.target;
    history.reached(SharedMark::SchedulerPassed)?;
    let end = seen::observed(history)?;
    let word = if has_refusal(&end, target) {
        "still-reported"
    } else if has_refusal(&seen::before_change(history)?, target) {
        "taken-back"
    } else {
        "never-reported"
    };
    let bound = seen::seconds_after_change(history, |live| seen::bound(live, &GANG) == 3);
    let notes = reports::on_resource(&end, target, &GANG)?.notes;
    Ok(Answer::new(word).seconds("room to binding", bound).notes(notes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::prelude::*;

    #[rstest::rstest]
    #[case::silent("False", "False", "never-reported")]
    #[case::kept("True", "True", "still-reported")]
    #[case::late("False", "True", "still-reported")]
    #[case::taken_back("True", "False", "taken-back")]
    fn the_refusals_before_and_after_the_binding_are_the_answer(
        #[case] before: &str,
        #[case] after: &str,
        #[case] wanted: &'static str,
    ) {
        let group = |refused: &str| {
            resource(&GANG, json!({"conditions": [{"type": "Unschedulable", "status": refused}]}))
        };
        let waits = story().all_added(waiting(&GANG, 3)).added(group(before));
        let passed = waits.mark(SharedMark::SchedulerPassed, Value::Null).mark(CHANGED, Value::Null).later(4);
        let observed = bind(passed, &GANG, 0..3).modified(group(after)).mark(OBSERVED, Value::Null);
        let answer = OBSERVATION.answer(&observed.clone().end()).unwrap();
        assert_eq!((answer.figures[0].value, &*answer.figures[0].unit), (4.0, "s"));
        assert_eq!(word(&OBSERVATION, observed), Ok(wanted));
    }
}
