//! 4 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs runs, and a second gang like it waits with 1 node free.

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A waiting gang is bound whole in the capacity of a deleted gang")
    .clauses(&[DEL_05])
    .nodes(&[nodes(4).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("holder").await?;
    test.until_bound(3).await?;
    for gang in test.submit("waiter").await? {
        test.scheduler_passes_over(&gang).await?;
    }
    test.delete("PodCliqueSet", "holder").await?;
    test.until("the waiting gang bound", limits::SCHEDULING, |live| live.bound_pods_of_set("waiter") == 3)
        .await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(DEL_05, || {
        let (deleted, _) = history.reached(SharedMark::Deleted)?;
        let waiter = history.units("waiter")?;
        // There is room for one gang. No pod of the second may be bound before the first is deleted.
        precondition(AON_04, binding::never(history, &waiter, Some(deleted)))?;
        binding::whole(&history.end(), &waiter)
    })]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruling(before: usize, after: usize) -> Ruling {
        let waits = Story::flat().submitted(one_clique("waiter", 3)).workers("waiter", 3, before);
        let deleted = waits.mark(SharedMark::Deleted, Value::Null).workers("waiter", 0, after);
        check(&deleted.end()).remove(0).ruling
    }

    #[test]
    fn a_partly_bound_waiting_gang_is_a_violation() {
        assert_eq!(ruling(0, 3), Ok(()));
        assert!(matches!(ruling(0, 2), Err(Broken::Violated(_))));
    }

    #[test]
    fn a_gang_bound_before_the_deletion_breaks_the_precondition() {
        assert!(matches!(ruling(1, 3), Err(Broken::Precondition { clause: "AON-04", .. })));
    }
}
