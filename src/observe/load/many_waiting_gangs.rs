//! 1 node x 8 GPUs; 1,000 gangs of 2 pods x 8 GPUs: none fits. Then a gang of 1 pod x 8 GPUs: it fits.

use std::time::Duration;

use conformance_driver::limits;
use conformance_history::{Change, MarkName, marks};
use serde_json::Value;

use crate::answer::NoAnswer;
use crate::prelude::*;
use crate::seen::OBSERVED;

pub(crate) const OBSERVATION: Observation =
    question!("A thousand gangs wait. Is a younger gang that fits bound within 30 s?")
        .answers(&["bound", "waits"])
        .asked(Asked::Load)
        .isolation(Isolation::Exclusive)
        .keeping(keep)
        .nodes(&[nodes(1).gpus(8)]);

const WAITING: PlainGang = PlainGang::new("waiting", 2);
/// The figures are per 1,000 gangs.
const GANGS: usize = 1000;
const YOUNGER: PlainGang = PlainGang::new("younger", 1);
const MINUTE: Duration = Duration::from_secs(60);

marks! {
    UNUSED = "no gang exists";
    CREATED = "all gangs created";
    WAITED = "all gangs waited";
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.canaries().await?;
    test.record_scheduler_usage(UNUSED)?;
    steps::submit_copies(test, &WAITING, GANGS).await?;
    test.record_scheduler_usage(CREATED)?;
    test.watch_for(MINUTE).await?;
    test.record_scheduler_usage(WAITED)?;
    steps::changed(test);
    steps::submit(test, &YOUNGER, 1).await?;
    // No canary is needed, because the question is about a duration.
    steps::try_until(test, "the younger gang bound", limits::SCHEDULING, is_bound).await?;
    test.mark(OBSERVED, Value::Null);
    Ok(())
}

/// Thousands of pods would take gigabytes in a history.
fn keep(_: Change, object: &mut Value, _: Option<&Value>) -> bool {
    object["kind"] != "Event" && !WAITING.owns(object)
}

fn is_bound(live: &Live) -> bool {
    seen::bound(live, &YOUNGER) == 1
}

/// Processor seconds that the scheduler used until a mark, and megabytes in use at the mark.
fn used(history: &History, mark: MarkName) -> Result<(f64, f64), NoAnswer> {
    let (_, mark) = history.reached(mark)?;
    let figure = |name: &str| {
        mark.detail[name]
            .as_f64()
            .ok_or_else(|| NoAnswer::Because(format!("the mark \"{}\" has no {name}", mark.name)))
    };
    Ok((figure("processorSeconds")?, figure("megabytes")?))
}

fn answer(history: &History) -> Answered {
    seen::observed(history)?;
    let after = seen::seconds_after_change(history, is_bound);
    // On a slow machine, the driver waits longer than the limit of the question.
    let is_soon = after.is_some_and(|seconds| seconds <= limits::SCHEDULING.length.as_secs_f64());
    let word = if is_soon { "bound" } else { "waits" };
    let (before, created, waited) = (used(history, UNUSED)?, used(history, CREATED)?, used(history, WAITED)?);
    Ok(Answer::new(word)
        .figure("memory", waited.1 - before.1, "MB")
        .figure("processor time until all gangs exist", created.0 - before.0, "s")
        .figure("processor time while they wait", waited.0 - created.0, "s/min")
        .seconds("creation to binding", after))
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::Story;
    use serde_json::json;

    use super::*;
    use crate::testing::{changed, observed, pod, story, word};

    fn measured(node: Option<&str>, seconds: i64) -> Story {
        let usage =
            |seconds: f64, megabytes: f64| json!({"processorSeconds": seconds, "megabytes": megabytes});
        let created = story().mark(UNUSED, usage(1.0, 100.0)).mark(CREATED, usage(4.5, 180.0));
        let waited = changed(created.mark(WAITED, usage(10.5, 220.0)));
        observed(waited.later(seconds).added(pod(&YOUNGER, 0, node)))
    }

    #[test]
    fn the_younger_gang_is_the_answer() {
        for (node, seconds, wanted) in
            [(Some("n"), 30, "bound"), (Some("n"), 31, "waits"), (None, 30, "waits")]
        {
            assert_eq!(word(&OBSERVATION, measured(node, seconds)), Ok(wanted));
        }
    }

    #[test]
    fn the_figures_are_differences() {
        let answer = OBSERVATION.answer(&measured(Some("n"), 2).end()).unwrap();
        let figures: Vec<_> =
            answer.figures.iter().map(|figure| (figure.value, figure.unit.as_str())).collect();
        assert_eq!(figures, [(120.0, "MB"), (3.5, "s"), (6.0, "s/min"), (2.0, "s")]);
    }

    #[test]
    fn only_the_younger_gang_and_canaries_are_recorded() {
        let kept = |mut object: Value| keep(Change::Added, &mut object, None);
        assert!(kept(pod(&YOUNGER, 0, None)) && kept(json!({"kind": "Pod", "metadata": {"name": "canary"}})));
        assert!(!kept(pod(&WAITING, 0, None)) && !kept(json!({"kind": "Event"})));
    }
}
