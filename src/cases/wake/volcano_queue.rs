//! Volcano with its plugin `proportion`. 2 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs, which fits, in a queue
//! with a limit of 8 GPUs: one pod short. A second one waits for nodes in a queue that is closed meanwhile.

use super::{mark_end, submit_and_wait, until_bound};
use crate::prelude::*;

const LIMITED: &str = "limit-raised";
const CLOSED: &str = "queue-opened";

pub(crate) const CASE: Case =
    case!("A waiting gang of Volcano is bound soon after its queue changes", restored)
        .clauses(&[WAKE_13, WAKE_15])
        .nodes(&[nodes(2).gpus(8), nodes(2).gpus(8).joining(1)])
        .isolation(Isolation::Dedicated)
        .on(Scheduler::VOLCANO);

const OPEN: &[Attempt] = &[admitted("a PodCliqueSet in the open queue", |_| {})];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let [limited, closed] = ["limited", "closed"].map(|queue| test.domain(queue));
    test.create_limited_queue(&limited, 8).await?;
    submit_to(test, LIMITED, &limited).await?;
    mark_end(test, LIMITED);
    test.limit_volcano_queue(&limited, 16).await?;
    until_bound(test, LIMITED).await?;
    test.create_volcano_queue(&closed).await?;
    submit_to(test, CLOSED, &closed).await?;
    test.close_queue(&closed).await?;
    // Otherwise Volcano may see the nodes first: it has separate watches.
    test.scheduler_passes().await?;
    test.add_nodes(1).await?;
    test.scheduler_passes().await?;
    mark_end(test, CLOSED);
    test.open_queue(&closed).await?;
    until_bound(test, CLOSED).await
}

async fn submit_to(test: &mut TestContext, set: &str, queue: &str) -> Result<(), Stop> {
    let mut pcs = test.manifest(set)?;
    schedulers::of(test.target).enqueue(&mut pcs, queue);
    test.retry_creates_until(&pcs, OPEN, REACTION).await?;
    submit_and_wait(test, pcs).await.map(drop)
}

fn check(history: &History) -> Vec<Finding> {
    let history = &history.before_restore();
    [(WAKE_13, LIMITED), (WAKE_15, CLOSED)]
        .into_iter()
        .flat_map(|(clause, set)| super::check(history, clause, set))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{BOUND, ENDED};
    use super::*;

    #[rstest]
    #[case::both(2, 2, &[], &[])]
    #[case::limit_ignored(1, 2, &["bound-too-late"], &[])]
    #[case::opening_ignored(2, 0, &[], &["bound-too-late"])]
    fn each_gang_is_bound_after_the_change_of_its_queue(
        #[case] limited: usize,
        #[case] closed: usize,
        #[case] of_limited: &[&str],
        #[case] of_closed: &[&str],
    ) {
        let mut story = Story::on(Target::VOLCANO);
        for (set, bound) in [(LIMITED, limited), (CLOSED, closed)] {
            story = story.submitted(one_clique(set, 2)).workers(set, 2, 0).mark(ENDED, json!({"set": set}));
            story = story.workers(set, 0, bound).mark(BOUND, Value::Null).later(20);
        }
        let found: Vec<_> = check(&story.end()).into_iter().map(|finding| codes(finding.ruling)).collect();
        assert_eq!(found, [of_limited, of_closed]);
    }

    #[test]
    fn the_second_gang_is_not_judged_if_the_driver_stops_before_it_is_bound() {
        let mut story = Story::on(Target::VOLCANO);
        for set in [LIMITED, CLOSED] {
            story = story.submitted(one_clique(set, 2)).workers(set, 2, 0).mark(ENDED, json!({"set": set}));
            if set == LIMITED {
                story = story.workers(set, 0, 2).mark(BOUND, Value::Null);
            }
        }
        let [limited, closed] = <[Finding; 2]>::try_from(check(&story.end())).unwrap();
        assert_eq!(limited.ruling, Ok(()));
        assert!(matches!(closed.ruling, Err(Broken::NotReached(_))), "{:?}", closed.ruling);
    }
}
