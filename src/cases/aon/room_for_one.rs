//! 4 nodes x 8 GPUs; two gangs of 3 pods x 8 GPUs, created at the same time by one PodCliqueSet: room for one
//! of them, but not for both. A third gang of 1 pod fits on the fourth node, which the loser must not occupy.

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
    // The rivals are checked even if the third gang is not bound.
    match test.until_bound(4).await {
        Ok(()) => test.mark(ALL_BOUND, Value::Null),
        Err(Stop::Timeout(_)) => test.mark(SharedMark::ContinuedAfterTimeout, Value::Null),
        Err(stop) => return Err(stop),
    }
    test.canaries().await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(AON_04, || exactly_one_rival_is_bound(history)),
        finding(AON_10, || {
            // A partially bound loser occupies the third gang's node.
            precondition(AON_04, exactly_one_rival_is_bound(history))?;
            history.at(ALL_BOUND, |place| binding::whole(&history.before(place), &history.units("tiny")?))
        }),
    ]
}

fn exactly_one_rival_is_bound(history: &History) -> Ruling {
    let rivals: Vec<_> =
        history.gangs("rival")?.iter().map(|gang| gang.units(history.header.target)).collect();
    // Before the scheduler has made a full pass, no rival may be bound yet.
    scheduler_passed(history)?;
    binding::some_whole_others_never(history, &rivals, 1, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rulings(rival: usize, tiny: usize) -> [Ruling; 2] {
        let sent = Story::flat().submitted(one_clique("rival", 3)).submitted(one_clique("tiny", 1));
        let passed = sent.workers("rival", 3, rival).mark(SharedMark::SchedulerPassed, Value::Null);
        let waited = passed.workers("tiny", 1, tiny).mark(ALL_BOUND, Value::Null);
        let mut found = check(&waited.end()).into_iter();
        [(); 2].map(|()| found.next().expect("two findings").ruling)
    }

    #[test]
    fn a_loser_that_blocks_the_third_gang_breaks_one_clause_only() {
        assert_eq!(rulings(3, 1), [Ok(()), Ok(())]);
        let [rivals, tiny] = rulings(3, 0);
        assert_eq!(rivals, Ok(()));
        assert!(matches!(tiny, Err(Broken::Violated(_))), "{tiny:?}");
    }

    #[test]
    fn a_partly_bound_rival_breaks_the_precondition_of_the_third_gang() {
        let [rivals, tiny] = rulings(2, 0);
        assert!(matches!(rivals, Err(Broken::Violated(_))), "{rivals:?}");
        assert!(matches!(tiny, Err(Broken::Precondition { clause: "AON-04", .. })), "{tiny:?}");
    }
}
