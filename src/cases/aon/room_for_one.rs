//! 4 nodes x 8 GPUs; two gangs of 3 pods x 8 GPUs, created at the same time by one PodCliqueSet: room for one
//! of them, but not for both. A third gang of 1 pod fits on the node that the losing gang must not hold.

use crate::prelude::*;

marks! { ALL_BOUND = "one rival and the third gang bound"; }

pub(crate) const CASE: Case = case!("With room for one of two gangs, one is bound whole, the other waits")
    .clauses(&[AON_04, AON_10])
    .nodes(&[nodes(4).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for gang in test.submit("rival").await? {
        test.until_released(&gang).await?;
    }
    test.scheduler_passes().await?;
    test.submit("tiny").await?;
    // The two rival gangs are checked even if the third gang is not bound.
    match test.until_bound(4).await {
        Ok(()) => test.mark(ALL_BOUND, Value::Null),
        Err(Stop::Wait(_)) => test.mark(SharedMark::WentOn, Value::Null),
        Err(stop) => return Err(stop),
    }
    test.canaries().await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding(AON_04, || one_of_both(history)),
        finding(AON_10, || {
            // A partially bound loser holds the third gang's node.
            premise(AON_04, one_of_both(history))?;
            history.at(ALL_BOUND, |place| binding::whole(&history.before(place), &history.units("tiny")?))
        }),
    ]
}

fn one_of_both(history: &History) -> Ruling {
    let rivals: Vec<_> =
        history.gangs("rival")?.iter().map(|gang| gang.units(history.header.target)).collect();
    // The winner is known once the scheduler has made a full pass.
    scheduler_passed(history)?;
    binding::some_whole_others_never(history, &rivals, 1, None)
}

#[cfg(test)]
mod tests {
    use conformance_contract::ruling::Broken;
    use conformance_history::testing::{Story, one_clique};

    use super::*;

    fn rulings(rival: usize, tiny: usize) -> [Ruling; 2] {
        let sent = Story::flat().submitted(one_clique("rival", 3)).submitted(one_clique("tiny", 1));
        let passed = sent.workers("rival", 3, rival).mark(SharedMark::SchedulerPassed, Value::Null);
        let waited = passed.workers("tiny", 1, tiny).mark(ALL_BOUND, Value::Null);
        let mut found = judge(&waited.end()).into_iter();
        [(); 2].map(|()| found.next().expect("two findings").ruling)
    }

    #[test]
    fn a_loser_that_holds_room_breaks_one_clause_only() {
        assert_eq!(rulings(3, 1), [Ok(()), Ok(())]);
        let [rivals, tiny] = rulings(3, 0);
        assert_eq!(rivals, Ok(()));
        assert!(matches!(tiny, Err(Broken::Violated(_))), "{tiny:?}");
    }

    #[test]
    fn a_partly_bound_rival_takes_the_room_of_the_third_gang() {
        let [rivals, tiny] = rulings(2, 0);
        assert!(matches!(rivals, Err(Broken::Violated(_))), "{rivals:?}");
        assert!(matches!(tiny, Err(Broken::Premise { clause: "AON-04", .. })), "{tiny:?}");
    }
}
