//! 4 nodes x 8 GPUs; a gang of 4 pods x 8 GPUs loses a pod four times, each time in another way. Only the
//! lost pod's node has room for the replacement.

use conformance_driver::context::Disruption;
use conformance_history::Mark;

use crate::prelude::*;

marks! { FAILED_REPLACED = "the failed pod is replaced"; }

/// The failed pod comes last, because an operator need not replace it.
const LOSSES: [Disruption; 4] =
    [Disruption::AtOnce, Disruption::WithGrace, Disruption::Evicted, Disruption::Failed];

pub(crate) const CASE: Case = case!("A lost pod of a running gang is replaced and no other pod moves")
    .clauses(&[AON_11, AON_17, AON_20])
    .nodes(&[nodes(4).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("steady").await?;
    test.until_bound(4).await?;
    for loss in LOSSES {
        let first =
            test.look(|live| live.pods().next().map(|pod| (pod.name().to_owned(), pod.uid().to_owned())));
        let (lost, uid) = first.unwrap_or_default();
        test.disrupt_pod(loss, &lost).await?;
        if loss == Disruption::Failed {
            return failed_replaced(test, &lost, &uid).await;
        }
        let replaced = Awaited::demanded_by(AON_11, format!("Pod {lost} ({}) replaced", loss.name()));
        test.until(replaced, limits::SCHEDULING, |live| {
            live.pods().all(|pod| pod.uid() != uid) && live.bound() == 4
        })
        .await?;
    }
    Ok(())
}

/// The failed pod may stay. If it is not replaced, the case continues and checks the other losses.
async fn failed_replaced(test: &TestContext, lost: &str, uid: &str) -> Result<(), Stop> {
    let replaced = Awaited::demanded_by(AON_20, format!("Pod {lost} (failed) replaced"));
    let wait = test.until(replaced, limits::SCHEDULING, |live| {
        live.pods().filter(|pod| pod.uid() != uid && pod.node().is_some()).count() == 4
    });
    match wait.await {
        Ok(()) => test.mark(FAILED_REPLACED, Value::Null),
        Err(Stop::Timeout(_)) => test.mark(SharedMark::ContinuedAfterTimeout, Value::Null),
        Err(stop) => return Err(stop),
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(AON_11, || after_losses(history, |mark| !is_failure(mark), binding::replaced_in_gang)),
        finding(AON_17, || {
            let untouched =
                |part: &History, since, lost: &str| binding::others_untouched(part, since, &[lost]);
            after_losses(history, |_| true, untouched)
        }),
        finding(AON_20, || {
            let failed = history.marks(SharedMark::PodLost).find(|(_, mark)| is_failure(mark));
            let Some((since, mark)) = failed else { return Err(Broken::NotReached("no pod failed".into())) };
            history.at(FAILED_REPLACED, |until| {
                binding::replaced_in_gang(&history.upto(until), since, text(&mark.detail["name"]))
            })
        }),
    ]
}

fn is_failure(lost: &Mark) -> bool {
    lost.detail["by"] == Disruption::Failed.name()
}

fn after_losses(
    history: &History,
    is_meant: impl Fn(&Mark) -> bool,
    rule: impl Fn(&History, usize, &str) -> Ruling,
) -> Ruling {
    let losses: Vec<_> = history.marks(SharedMark::PodLost).collect();
    for (number, (since, mark)) in losses.iter().enumerate() {
        if is_meant(mark) {
            let next = losses.get(number + 1).map_or(history.entries.len(), |(index, _)| *index);
            rule(&history.upto(next), *since, text(&mark.detail["name"]))?;
        }
    }
    if losses.len() == LOSSES.len() {
        Ok(())
    } else {
        Err(Broken::NotReached(format!("pods were lost in {} of 4 ways", losses.len())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(story: Story, number: usize) -> Story {
        let name = format!("steady-0-worker-{number}");
        story.mark(SharedMark::PodLost, json!({"name": name, "by": LOSSES[number].name()}))
    }

    fn successor(number: usize, name: &str) -> Value {
        let mut pod = worker("steady", number, Some("n"));
        pod["metadata"]["name"] = name.into();
        pod
    }

    fn until_failure() -> Story {
        let bound = Story::flat().submitted(one_clique("steady", 4)).workers("steady", 4, 4);
        let replaced = (0..3).fold(bound, |story, number| {
            let deleted = lost(story, number).deleted(worker("steady", number, Some("n")));
            deleted.added(successor(number, &format!("second-{number}")))
        });
        let mut failed = worker("steady", 3, Some("n"));
        failed["status"] = json!({"phase": "Failed"});
        lost(replaced, 3).modified(failed)
    }

    fn broken(story: Story) -> Vec<&'static str> {
        let found = check(&story.end());
        let is_broken = |finding: &&Finding| matches!(finding.ruling, Err(Broken::Violated(_)));
        found.iter().filter(is_broken).map(|finding| finding.clause).collect()
    }

    #[test]
    fn a_failed_pod_that_is_not_replaced_breaks_one_clause_only() {
        let replaced = until_failure().added(successor(3, "second-3")).mark(FAILED_REPLACED, Value::Null);
        assert!(broken(replaced).is_empty());
        assert_eq!(broken(until_failure().mark(SharedMark::WaitTimedOut, Value::Null)), ["AON-20"]);
    }

    #[test]
    fn a_recreated_pod_breaks_one_clause_only() {
        let restarted = until_failure().added(successor(3, "second-3")).deleted(successor(0, "second-0"));
        let bound_again = restarted.added(successor(0, "third-0")).mark(FAILED_REPLACED, Value::Null);
        assert_eq!(broken(bound_again), ["AON-17"]);
    }

    #[test]
    fn a_deleted_pod_that_is_not_replaced_breaks_one_clause_only() {
        let bound = Story::flat().submitted(one_clique("steady", 4)).workers("steady", 4, 4);
        let deleted = lost(bound, 0).deleted(worker("steady", 0, Some("n")));
        assert_eq!(broken(deleted.mark(SharedMark::WaitTimedOut, Value::Null)), ["AON-11"]);
    }
}
