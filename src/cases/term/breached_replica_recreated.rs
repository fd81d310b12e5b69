//! 6 nodes x 8 GPUs; 2 replicas of a gang of 3 pods x 8 GPUs, each with an autoscaler. One pod is lost
//! together with its node, so the recreated replica is one pod short until the node is uncordoned.

use super::{DELAY, replica, requires_recreation};
use crate::prelude::*;

marks! { ROOM = "room for all again"; }

const SET: &str = "breached";
const CLIQUE: &str = "breached-0-worker";

pub(crate) const CASE: Case =
    case!("A replica breached for terminationDelay is terminated and recreated; others are unchanged")
        .clauses(&[TERM_02, TERM_07, TERM_12, TERM_22, TERM_25, TERM_27])
        .nodes(&[nodes(6).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gangs = test.submit_and_start(SET).await?;
    let old = test.pods_of(CLIQUE);
    let lost = old.first().cloned().unwrap_or_default();
    let node = test.delete_pod_and_cordon_node(&lost).await?;
    test.until_recreated("replica 0 of PodCliqueSet breached", TERM_02, &[CLIQUE], &old, false).await?;
    for gang in gangs.iter().filter(|gang| gang.replica == 0) {
        test.scheduler_passes_over(gang).await?;
    }
    test.mark(ROOM, json!({"node": node}));
    test.cordon(&node, false).await?;
    test.until_bound(6).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(TERM_02, || {
            let first = replica(history, SET, 0)?;
            history.reached(SharedMark::PodLost)?;
            precondition(TERM_22, termination::nothing_else_deleted(history, &first))?;
            // Another termination, while the replica waits, is a violation of TERM-06.
            let again = generations::terminations(history, &first.scope()).get(1).map(|it| it.started.index);
            let once = history.upto(again.unwrap_or(history.entries.len()));
            termination::after_the_delay(&once, &first, &first.scope(), DELAY)?;
            termination::recreated_in_time(&once, &first, &first.scope())?;
            termination::times(&once, &first, &first.scope(), 1)
        }),
        finding(TERM_07, || {
            let first = replica(history, SET, 0)?;
            let (room, _) = history.reached(ROOM)?;
            let recreated = generations::only_generation(&history.upto(room), &first.scope(), 1);
            let units: Vec<_> = history
                .gangs(SET)?
                .iter()
                .filter(|gang| gang.replica == 0)
                .flat_map(|gang| gang.units(history.header.target))
                .collect();
            binding::never(&recreated, &units, None)?;
            let recreated = generations::only_generation(history, &first.scope(), 1);
            binding::whole(&recreated.end(), &units)
        }),
        finding(TERM_12, || {
            let first = replica(history, SET, 0)?;
            requires_recreation(history, &first)?;
            let until = history.marks(ROOM).next().map_or(history.entries.len(), |(place, _)| place);
            for termination in generations::terminations(history, &first.scope()) {
                termination::kept(history, &first.scope(), &termination, until)?;
            }
            history.reached(ROOM).map(drop)
        }),
        finding(TERM_22, || {
            let first = replica(history, SET, 0)?;
            history.reached(SharedMark::PodLost)?;
            termination::nothing_else_deleted(history, &first)?;
            history.reached(ROOM).map(drop)
        }),
        finding(TERM_25, || {
            let first = replica(history, SET, 0)?;
            termination::named_before_release(history, &first.scope())?;
            precondition(TERM_02, termination::times(history, &first, &first.scope(), 1))?;
            history.reached(ROOM).map(drop)
        }),
        finding(TERM_27, || {
            let (first, second) = (replica(history, SET, 0)?, replica(history, SET, 1)?);
            let until = history.marks(ROOM).next().map_or(history.entries.len(), |(place, _)| place);
            for termination in generations::terminations(history, &first.scope()) {
                termination::other_replicas_untouched(history, &first.scope(), &termination, until)?;
            }
            termination::times(history, &second, &second.scope(), 0)?;
            history.reached(ROOM).map(drop)
        }),
    ]
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, object, one_clique};

    use super::super::tests::{pod_of, ruling_of};
    use super::*;

    fn breached() -> Story {
        let lost = pod_of(SET, CLIQUE, "a", Some("n"));
        let kept = pod_of(SET, CLIQUE, "b", Some("m"));
        let running = Story::flat().submitted(one_clique(SET, 2)).all_added([lost.clone(), kept]);
        running.mark(SharedMark::PodLost, json!({"name": "a"})).deleted(lost)
    }

    fn terminated_after(seconds: i64) -> Story {
        let terminated = breached().later(seconds).deleted(pod_of(SET, CLIQUE, "b", Some("m")));
        terminated.all_added(["c", "d"].map(|name| pod_of(SET, CLIQUE, name, None)))
    }

    #[test]
    fn only_the_first_termination_is_judged_by_its_time() {
        let codes = |story: Story| {
            let history = story.later(20).added(object("Event", "e")).end();
            conformance_check::codes(ruling_of(&check(&history), TERM_02))
        };
        assert_eq!(codes(terminated_after(2)), [""; 0]);
        let waiting = ["c", "d"].map(|name| pod_of(SET, CLIQUE, name, None));
        let again = waiting.into_iter().fold(terminated_after(2).later(3), Story::deleted);
        let again = again.all_added(["e", "f"].map(|name| pod_of(SET, CLIQUE, name, None)));
        assert_eq!(codes(again), [""; 0], "TERM-06 is about the second termination");
        assert_eq!(codes(terminated_after(0)), ["gang-terminated-early"]);
        assert_eq!(codes(breached()), ["not-gang-terminated"]);
    }
}
