//! 4 nodes x 8 GPUs; a gang of 4 pods x 8 GPUs runs. The case deletes the gang, cordons a node, and creates
//! the gang again under its name. Meanwhile, a proxy holds the scheduler's watches and then ends them with
//! 410 Gone, so the scheduler never receives the deletion. A scheduler that counts the first pods as members
//! binds a part of the second gang. One that counts them as running finds no room, even after the uncordon.

use super::same_name_again::uids_of;
use crate::disturbances::{BROKEN_OFF, HeldWatches, scheduler_parts};
use crate::prelude::*;

marks! {
    AGAIN = "submitted again";
    PASSED = "the scheduler has tried the second gang";
    BOUND = "the second PodCliqueSet is bound";
}

const SET: &str = "unseen";
const PODS: usize = 4;

pub(crate) const CASE: Case = case!("A name is reused although the scheduler missed the deletion", restored)
    .clauses(&[AON_02, DEL_08])
    .nodes(&[nodes(4).gpus(8)])
    .with(&[Property::OwnScheduler])
    .isolation(Isolation::Dedicated);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let mut watches = HeldWatches::of(test, scheduler_parts(test)?).await?;
    test.submit(SET).await?;
    test.until_bound(PODS).await?;
    let first = test.look(|live| uids_of(live, SET));
    watches.hold(test)?;
    test.delete("PodCliqueSet", SET).await?;
    let deleted = Awaited::demanded_by(DEL_01, "the first PodCliqueSet and its pods deleted");
    test.until(deleted, limits::CLEANUP, |live| {
        live.get("PodCliqueSet", SET).is_none() && live.pods().next().is_none()
    })
    .await?;
    let node = test.nodes[0].name.clone();
    test.cordon(&node, true).await?;
    test.mark(AGAIN, Value::Null);
    let gangs = test.submit(SET).await?;
    for gang in &gangs {
        test.until_released(gang).await?;
    }
    watches.break_off(test).await?;
    test.scheduler_passes().await?;
    test.mark(PASSED, Value::Null);
    test.cordon(&node, false).await?;
    let bound = Awaited::demanded_by(DEL_08, "the second PodCliqueSet bound");
    test.until(bound, limits::SCHEDULING, |live| {
        live.bound() == PODS && uids_of(live, SET).is_disjoint(&first)
    })
    .await?;
    test.mark(BOUND, Value::Null);
    Ok(())
}

fn was_pending(history: &History) -> Ruling {
    let (again, _) = history.reached(AGAIN)?;
    binding::never_until(&history.since(again), &history.units(SET)?, PASSED)
}

fn check(history: &History) -> Vec<Finding> {
    let history = &history.before_restore();
    vec![
        finding(AON_02, || was_pending(history)),
        finding(DEL_08, || {
            precondition(AON_02, was_pending(history))?;
            history.reached(BROKEN_OFF)?;
            history.at(BOUND, |place| binding::whole(&history.before(place), &history.units(SET)?))
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rulings(early: usize, bound: usize) -> Vec<Ruling> {
        let first = Story::flat().submitted(one_clique(SET, PODS)).workers(SET, PODS, PODS);
        let deleted = (0..PODS).fold(first, |story, index| story.deleted(worker(SET, index, Some("n"))));
        let second = deleted.mark(AGAIN, Value::Null).workers(SET, PODS, early);
        let passed = second.mark(BROKEN_OFF, Value::Null).mark(PASSED, Value::Null);
        let history = passed.workers(SET, 0, bound).mark(BOUND, Value::Null).end();
        check(&history).into_iter().map(|finding| finding.ruling).collect()
    }

    #[rstest]
    #[case::whole(4, true)]
    #[case::in_part(3, false)]
    #[case::not_at_all(0, false)]
    fn the_second_gang_must_be_bound_whole(#[case] bound: usize, #[case] is_satisfied: bool) {
        let found = rulings(0, bound);
        assert_eq!(found[0], Ok(()));
        assert_eq!(found[1].is_ok(), is_satisfied, "{:?}", found[1]);
    }

    #[test]
    fn a_part_of_the_second_gang_must_not_be_bound_earlier() {
        let found = rulings(3, 4);
        assert!(matches!(found[0], Err(Broken::Violated(_))));
        assert!(matches!(found[1], Err(Broken::Precondition { clause: "AON-02", .. })));
    }
}
