use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_facts::metrics::{Numbers, differences};
use conformance_history::{History, SharedMark, count};
use serde::Deserialize;

use crate::{all, none, violation};

const METRICS_DIFFER: Code = Code::new("metrics-differ");
const METRICS_NOT_RETURNED: Code = Code::new("metrics-not-returned");

/// Requires that at least `times` readings match the history (STAT-11). `NotAsked` without readable metrics.
pub fn match_history(history: &History, times: usize) -> Ruling {
    let readings: Vec<_> = history.marks(SharedMark::MetricsRead).collect();
    all(readings.iter().map(|(index, mark)| {
        let detail = &mark.detail;
        if let Some(why) = detail["unasked"].as_str() {
            return Err(Broken::NotAsked(why.to_owned()));
        }
        if let Some(why) = detail["failed"].as_str() {
            return Err(violation(
                METRICS_NOT_RETURNED,
                format!("the operator did not return its metrics: {why}"),
            )
            .into());
        }
        let numbers = Numbers::deserialize(&detail["numbers"]).unwrap_or_default();
        let then = history.upto(count(&detail["place"]).unwrap_or(*index));
        let read = history.entries[*index].at;
        none(differences(&then, &numbers, read).into_iter().map(|found| violation(METRICS_DIFFER, found)))
    }))?;
    if readings.len() >= times {
        Ok(())
    } else {
        Err(Broken::NotReached(format!("the metrics were read {} of {times} times", readings.len())))
    }
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, one_clique_gang};
    use serde_json::{Value, json};

    use super::*;
    use crate::messages;

    #[test]
    fn failed_readings_are_violations_and_impossible_ones_are_not_asked() {
        let mark =
            |detail: Value| match_history(&Story::flat().mark(SharedMark::MetricsRead, detail).end(), 1);
        assert_eq!(messages(mark(json!({"failed": "no answer"}))).len(), 1);
        assert!(matches!(mark(json!({"unasked": "no port"})), Err(Broken::NotAsked(_))));
        assert!(matches!(match_history(&Story::flat().end(), 1), Err(Broken::NotReached(_))));
    }

    fn gang(phase: &str) -> Value {
        let mut gang = one_clique_gang("w", 1);
        gang["status"] = json!({"phase": phase});
        gang
    }

    #[test]
    fn metrics_are_compared_with_the_history_at_the_reading() {
        let story = Story::flat().added(gang("Pending"));
        let (place, later) = (story.clone().end().entries.len(), story.modified(gang("Starting")));
        let numbers = Numbers { gangs: [("Pending".to_owned(), 1.0)].into(), ..Numbers::default() };
        let mark = |place: usize| {
            later.clone().mark(SharedMark::MetricsRead, json!({"place": place, "numbers": numbers}))
        };
        assert_eq!(match_history(&mark(place).end(), 1), Ok(()));
        assert!(matches!(match_history(&mark(place).end(), 2), Err(Broken::NotReached(_))), "read once");
        assert_eq!(messages(match_history(&mark(place + 1).end(), 1)).len(), 1);
    }
}
