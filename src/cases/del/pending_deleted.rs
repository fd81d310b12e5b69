//! 4 nodes x 8 GPUs; a gang of 5 required pods and 1 surplus pod, each x 8 GPUs, waits: one pod short. The
//! case deletes the gang. 2 more nodes join once all objects of the gang are deleted.

use crate::prelude::*;

pub(crate) const CASE: Case = case!("Deleting a pending gang binds none of its pods and leaves no object")
    .clauses(&[DEL_04, DEL_11])
    .nodes(&[nodes(4).gpus(8), nodes(2).gpus(8).joining(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.take_baseline().await?;
    for gang in test.submit("pending").await? {
        test.scheduler_passes_over(&gang).await?;
    }
    test.delete("PodCliqueSet", "pending").await?;
    test.until_nothing_left().await?;
    test.add_nodes(1).await?;
    test.canaries().await
}

pub(super) fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(DEL_04, || {
            history.reached(SharedMark::Deleted)?;
            cleanup::nothing_left(history)
        }),
        finding(DEL_11, || {
            let (deleted, _) = history.reached(SharedMark::Deleted)?;
            let units = history.units("pending")?;
            // A partially bound gang violates AON-02 and leaves DEL-11 undecided.
            precondition(AON_02, binding::never(history, &units, Some(deleted)))?;
            binding::never(history, &units, None)
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rulings on leftovers and pods. `before` pods are bound before the deletion, `after` pods after it.
    fn rulings(before: usize, after: usize, left: Value) -> [Ruling; 2] {
        let waits = Story::flat().submitted(one_clique("pending", 5)).workers("pending", 5, before);
        let deleted = waits.mark(SharedMark::Deleted, Value::Null).workers("pending", 5, after);
        let found = check(&deleted.mark(SharedMark::LeftOver, left).end()).into_iter();
        found.map(|finding| finding.ruling).collect::<Vec<_>>().try_into().unwrap()
    }

    #[test]
    fn bound_pods_and_leftovers_break_one_clause_each() {
        assert_eq!(rulings(0, 0, json!([])), [Ok(()), Ok(())]);
        assert!(matches!(rulings(0, 1, json!([]))[1], Err(Broken::Violated(_))));
        let left = json!([{"kind": "PodGang", "metadata": {"name": "pending-0"}}]);
        let [leftover, bound] = rulings(0, 0, left);
        assert!(matches!(leftover, Err(Broken::Violated(_))), "{leftover:?}");
        assert_eq!(bound, Ok(()));
    }

    #[test]
    fn a_partly_bound_gang_breaks_the_precondition() {
        let [_, bound] = rulings(4, 0, json!([]));
        assert!(matches!(bound, Err(Broken::Precondition { clause: "AON-02", .. })), "{bound:?}");
    }
}
