//! 1 node; a gang of 2 pods runs. The case deletes one pod while a proxy holds the operator's watches. Then
//! the proxy ends the watches with 410 Gone: the operator lists again and never receives the deletion.

use crate::disturbances::{BROKEN_OFF, HeldWatches};
use crate::prelude::*;

marks! { REPLACED = "the lost pod is replaced"; }

const SET: &str = "overlooked";
const CLIQUE: &str = "overlooked-0-worker";
const PODS: usize = 2;

pub(crate) const CASE: Case =
    case!("A lost pod is replaced although the operator missed its deletion", restored)
        .clauses(&[AON_11])
        .nodes(&[nodes(1)])
        .isolation(Isolation::Dedicated);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let mut watches = HeldWatches::of(test, vec![Part::Controller]).await?;
    test.submit_and_converge(SET).await?;
    let lost = test.pods_of(CLIQUE).into_iter().next().unwrap_or_default();
    watches.hold(test)?;
    test.force_delete_pod(&lost).await?;
    watches.break_off(test).await?;
    let replaced = Awaited::demanded_by(AON_11, format!("Pod {lost} replaced"));
    let is_replaced = |live: &Live| live.get("Pod", &lost).is_none() && live.bound() == PODS;
    test.until(replaced, limits::SCHEDULING, is_replaced).await?;
    test.mark(REPLACED, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    let history = &history.before_restore();
    vec![finding(AON_11, || {
        let (lost, mark) = history.reached(SharedMark::PodLost)?;
        history.reached(BROKEN_OFF)?;
        history.at(REPLACED, |place| {
            binding::replaced_in_gang(&history.upto(place), lost, text(&mark.detail["name"]))
        })
    })]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruling(is_replaced: bool) -> Ruling {
        let bound = Story::flat().submitted(one_clique(SET, PODS)).workers(SET, PODS, PODS);
        let lost = bound.mark(SharedMark::PodLost, json!({"name": "overlooked-0-worker-0"}));
        let broken = lost.deleted(worker(SET, 0, Some("n"))).mark(BROKEN_OFF, Value::Null);
        let mut replacement = worker(SET, 0, Some("n"));
        replacement["metadata"]["uid"] = "replacement".into();
        let then = if is_replaced { broken.added(replacement) } else { broken };
        check(&then.mark(REPLACED, Value::Null).end()).remove(0).ruling
    }

    #[test]
    fn a_pod_whose_deletion_was_missed_must_be_replaced() {
        assert_eq!(ruling(true), Ok(()));
        assert_eq!(codes(ruling(false)), ["not-replaced"]);
    }
}
