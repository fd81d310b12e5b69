//! 4 nodes x 8 GPUs; a gang of 5 pods x 8 GPUs waits. Then a gang of 2 pods x 8 GPUs, which fits, arrives.

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A pending gang does not block a later, smaller gang that fits")
    .clauses(&[AON_10])
    .nodes(&[nodes(4).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for gang in test.submit("large").await? {
        test.scheduler_passes_over(&gang).await?;
    }
    test.submit("small").await?;
    test.until_bound(2).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(AON_10, || {
        // A partially bound gang violates AON-02 and leaves AON-10 undecided.
        all([
            precondition(AON_02, binding::never(history, &history.units("large")?, None)),
            scheduler_passed(history),
        ])?;
        binding::whole(&history.end(), &history.units("small")?)
    })]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruling(large: usize, small: usize) -> Ruling {
        let sent = Story::flat().submitted(one_clique("large", 5)).submitted(one_clique("small", 2));
        let passed = sent.workers("large", 5, large).mark(SharedMark::SchedulerPassed, Value::Null);
        check(&passed.workers("small", 2, small).end()).remove(0).ruling
    }

    #[test]
    fn an_unbound_small_gang_is_a_violation() {
        assert_eq!(ruling(0, 2), Ok(()));
        assert!(matches!(ruling(0, 1), Err(Broken::Violated(_))));
    }

    #[test]
    fn a_partly_bound_large_gang_breaks_the_precondition() {
        for small in [0, 2] {
            assert!(matches!(ruling(4, small), Err(Broken::Precondition { clause: "AON-02", .. })));
        }
    }
}
