//! 1 node; three gangs of 2 pods. A pod of the first has started and crashes. A pod of the second has started
//! and is not Ready. In the third, one pod is being created and one initialized, for two termination delays.

use conformance_facts::generations::terminations;

use super::{DELAY, replica, requires_recreation};
use crate::prelude::*;

marks! { WAITED = "two delays of unreadiness"; }

const FAILING: [(&str, Containers); 2] =
    [("crashes", Containers::Crashing), ("not-ready", Containers::Unready)];
const STARTS: &str = "starts-0-worker";

pub(crate) const CASE: Case =
    case!("Gangs with crashed or unready pods are terminated, gangs still starting are not")
        .clauses(&[TERM_11, TERM_26])
        .nodes(&[nodes(1)])
        .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for (set, _) in FAILING {
        test.submit(set).await?;
    }
    test.submit("starts").await?;
    for (set, _) in FAILING {
        test.until_converged(set).await?;
    }
    test.until_started("starts").await?;
    let clock = test.start_clock("2s").await?;
    for (pod, state) in test.pods_of(STARTS).iter().zip([Containers::Creating, Containers::Waiting]) {
        test.set_pod_status(pod, state).await?;
    }
    let old = FAILING.map(|(set, _)| test.pods_of(&worker(set)));
    for (set, containers) in FAILING {
        test.set_first_pod_status(&worker(set), containers).await?;
    }
    test.run_clock(&clock, 2, WAITED).await?;
    for ((set, _), old) in FAILING.iter().zip(&old) {
        test.until_recreated(set, TERM_11, &[&worker(set)], old, false).await?;
    }
    Ok(())
}

fn worker(set: &str) -> String {
    format!("{set}-0-worker")
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(TERM_11, || {
            history.reached(WAITED)?;
            all(FAILING.iter().map(|(set, _)| {
                let failing = replica(history, set, 0)?;
                let scope = failing.scope();
                let times = terminations(history, &scope).len();
                termination::times(history, &failing, &scope, times.max(1))?;
                requires_recreation(history, &failing)?;
                precondition(TERM_02, termination::after_the_delay(history, &failing, &scope, DELAY))
            }))
        }),
        finding(TERM_26, || {
            let starts = replica(history, "starts", 0)?;
            history.at(WAITED, |_| termination::times(history, &starts, &starts.scope(), 0))
        }),
    ]
}

#[cfg(test)]
mod tests {
    use conformance_check::codes;
    use conformance_history::testing::{Story, object, one_clique};

    use super::super::tests::{pod_of, ruling_of};
    use super::*;

    /// In both gangs, one of 2 pods fails. They are terminated after these seconds.
    fn ruling(terminated: [Option<i64>; 2]) -> Ruling {
        let submitted =
            FAILING.iter().fold(Story::flat(), |story, (set, _)| story.submitted(one_clique(set, 2)));
        let pod = |set: &str, name: &str, node| pod_of(set, &worker(set), &format!("{set}-{name}"), node);
        let story = FAILING.iter().zip(terminated).fold(submitted, |story, ((set, _), after)| {
            let mut failed = pod(set, "a", Some("n"));
            failed["status"]["containerStatuses"] =
                json!([{"state": {"terminated": {"exitCode": 1}}, "ready": false}]);
            let running = story.all_added(["a", "b"].map(|name| pod(set, name, Some("n"))));
            let failing = running.modified(failed);
            let Some(seconds) = after else { return failing };
            let old = ["a", "b"].map(|name| pod(set, name, Some("n")));
            let deleted = old.into_iter().fold(failing.later(seconds), Story::deleted);
            deleted.all_added(["c", "d"].map(|name| pod(set, name, None)))
        });
        let history = story.later(20).added(object("Event", "e")).mark(WAITED, Value::Null).end();
        ruling_of(&check(&history), TERM_11)
    }

    #[test]
    fn each_failing_gang_must_be_terminated() {
        assert_eq!(ruling([Some(2), Some(2)]), Ok(()));
        assert_eq!(codes(ruling([Some(2), None])), ["wrong-number-of-gang-terminations"]);
    }

    #[test]
    fn a_wrong_time_is_a_violation_of_another_clause() {
        for seconds in [0, 13] {
            let found = ruling([Some(2), Some(seconds)]);
            assert!(matches!(found, Err(Broken::Precondition { clause: TERM_02, .. })), "{found:?}");
        }
    }
}
