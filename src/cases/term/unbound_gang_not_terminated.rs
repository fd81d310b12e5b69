//! 3 nodes x 4 GPUs; a gang of 3 pods x 4 GPUs runs. A gang of 4 pods x 8 GPUs fits nowhere until 4 nodes x 8
//! GPUs join. One node is cordoned, so the first gang waits after its termination. Both gangs wait while the
//! delay expires three times. Then the first gang is bound, breached and terminated again.

use super::{DELAY, replica, requires_recreation, requires_termination};
use crate::prelude::*;

marks! {
    WAITED = "the delay has expired several times";
    ALL_BOUND = "all bound at last";
}

const SET: &str = "once-bound";
const CLIQUE: &str = "once-bound-0-worker";
const NEVER_FITS: &str = "never-fits";

pub(crate) const CASE: Case = case!("A gang is terminated only if its current pods were bound whole")
    .clauses(&[TERM_03, TERM_05, TERM_06, TERM_24])
    .nodes(&[nodes(3).gpus(4), nodes(4).gpus(8).joining(1)])
    .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_start(SET).await?;
    let clock = test.start_clock("2s").await?;
    for gang in test.submit(NEVER_FITS).await? {
        test.until_released(&gang).await?;
    }
    let old = test.pods_of(CLIQUE);
    let node = test.delete_pod_and_cordon_node(&old.first().cloned().unwrap_or_default()).await?;
    test.until_recreated("once-bound", TERM_02, &[CLIQUE], &old, false).await?;
    test.run_clock(&clock, 3, WAITED).await?;
    test.cordon(&node, false).await?;
    let waiting = test.pods_of(CLIQUE);
    test.until_bound(3).await?;
    test.until_converged(SET).await?;
    if let Some(pod) = waiting.first() {
        test.set_pod_status(pod, Containers::Crashing).await?;
    }
    test.until_recreated("PodCliqueSet once-bound again", TERM_24, &[CLIQUE], &waiting, false).await?;
    test.add_nodes(1).await?;
    test.until_bound(7).await?;
    test.mark(ALL_BOUND, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        // The last sentence of TERM-03 is about a later breach.
        finding(TERM_03, || {
            let once_bound = replica(history, SET, 0)?;
            let scope = once_bound.scope();
            let (waited, _) = history.reached(WAITED)?;
            requires_termination(history, &once_bound)?;
            precondition(TERM_06, termination::times(&history.upto(waited), &once_bound, &scope, 1))?;
            termination::not_before_the_delay(history, &once_bound, &scope, DELAY)?;
            history.reached(ALL_BOUND).map(drop)
        }),
        finding(TERM_05, || {
            let never_fits = replica(history, NEVER_FITS, 0)?;
            termination::times(history, &never_fits, &never_fits.scope(), 0)?;
            termination::nothing_else_deleted(history, &never_fits)?;
            history.reached(ALL_BOUND).map(drop)
        }),
        finding(TERM_06, || {
            let once_bound = replica(history, SET, 0)?;
            let scope = once_bound.scope();
            let meanwhile = history.upto(history.waited_for(WAITED)?);
            requires_termination(&meanwhile, &once_bound)?;
            termination::times(&meanwhile, &once_bound, &scope, 1)?;
            history.reached(WAITED).map(drop)
        }),
        finding(TERM_24, || {
            let once_bound = replica(history, SET, 0)?;
            let scope = once_bound.scope();
            let (waited, _) = history.reached(WAITED)?;
            requires_recreation(history, &once_bound)?;
            precondition(TERM_06, termination::times(&history.upto(waited), &once_bound, &scope, 1))?;
            let times = generations::terminations(history, &scope).len();
            termination::times(history, &once_bound, &scope, times.max(2))?;
            all([
                precondition(TERM_22, termination::nothing_else_deleted(history, &once_bound)),
                precondition(TERM_03, termination::not_before_the_delay(history, &once_bound, &scope, DELAY)),
                precondition(TERM_02, termination::after_the_delay(history, &once_bound, &scope, DELAY)),
                history.reached(ALL_BOUND).map(drop),
            ])
        }),
    ]
}

#[cfg(test)]
mod tests {
    use conformance_check::codes;
    use conformance_history::testing::{Story, object, one_clique};

    use super::super::tests::{pod_of, ruling_of};
    use super::*;

    fn pods(names: [&str; 2], node: Option<&str>) -> [Value; 2] {
        names.map(|name| pod_of(SET, CLIQUE, name, node))
    }

    /// Pod `a` is lost. The recreated gang waits, is bound, and then breached.
    fn breached_again() -> Story {
        let [lost, kept] = pods(["a", "b"], Some("n"));
        let running = Story::flat().submitted(one_clique(SET, 2)).all_added([lost.clone(), kept.clone()]);
        let breached = running.mark(SharedMark::PodLost, json!({"name": "a"})).deleted(lost);
        let waiting = breached.later(2).deleted(kept).all_added(pods(["c", "d"], None));
        let bound = pods(["c", "d"], Some("n"));
        let recovered =
            bound.iter().cloned().fold(waiting.later(9).mark(WAITED, Value::Null), Story::modified);
        let [mut crashed, _] = bound;
        crashed["status"]["containerStatuses"] =
            json!([{"state": {"terminated": {"exitCode": 1}}, "ready": false}]);
        recovered.modified(crashed)
    }

    fn terminated_after(seconds: i64) -> Story {
        let deleted =
            pods(["c", "d"], Some("n")).into_iter().fold(breached_again().later(seconds), Story::deleted);
        deleted.all_added(pods(["e", "f"], None))
    }

    /// The rulings of TERM-03 and TERM-24.
    fn rulings(story: Story) -> (Ruling, Ruling) {
        let history = story.later(20).added(object("Event", "e")).mark(ALL_BOUND, Value::Null).end();
        let found = check(&history);
        (ruling_of(&found, TERM_03), ruling_of(&found, TERM_24))
    }

    #[test]
    fn a_recovered_gang_must_be_terminated_again() {
        assert_eq!(rulings(terminated_after(2)), (Ok(()), Ok(())));
        assert_eq!(codes(rulings(breached_again()).1), ["wrong-number-of-gang-terminations"]);
    }

    #[test]
    fn a_wrong_time_is_a_violation_of_another_clause() {
        let (early, again) = rulings(terminated_after(0));
        assert_eq!(codes(early), ["gang-terminated-early"]);
        assert!(matches!(again, Err(Broken::Precondition { clause: TERM_03, .. })), "{again:?}");
        let (late, again) = rulings(terminated_after(13));
        assert_eq!(late, Ok(()));
        assert!(matches!(again, Err(Broken::Precondition { clause: TERM_02, .. })), "{again:?}");
    }
}
