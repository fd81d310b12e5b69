//! 1 node; a gang of 2 pods runs. The case deletes one pod while the operator is down. After the operator has
//! replaced it, the case deletes another pod while a proxy holds the operator's watches. Then the proxy ends
//! the watches with 410 Gone: the operator lists again and never receives the deletion.

use crate::disturbances::{BROKEN_OFF, HeldWatches};
use crate::prelude::*;

marks! {
    REPLACED_AFTER_START = "the pod that was lost while the operator was down is replaced";
    REPLACED = "the lost pod is replaced";
}

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
    let lost = first_pod(test);
    test.kill_part(Part::Controller).await?;
    test.force_delete_pod(&lost).await?;
    test.start_ready(Part::Controller).await?;
    until_replaced(test, &lost).await?;
    test.mark(REPLACED_AFTER_START, Value::Null);
    test.until_converged(SET).await?;
    let lost = first_pod(test);
    watches.hold(test)?;
    test.force_delete_pod(&lost).await?;
    watches.break_off(test).await?;
    until_replaced(test, &lost).await?;
    test.mark(REPLACED, Value::Null);
    Ok(())
}

fn first_pod(test: &TestContext) -> String {
    test.pods_of(CLIQUE).into_iter().next().unwrap_or_default()
}

async fn until_replaced(test: &TestContext, lost: &str) -> Result<(), Stop> {
    let replaced = Awaited::demanded_by(AON_11, format!("Pod {lost} replaced"));
    let is_replaced = |live: &Live| live.get("Pod", lost).is_none() && live.bound() == PODS;
    test.until(replaced, limits::SCHEDULING, is_replaced).await
}

fn check(history: &History) -> Vec<Finding> {
    let history = &history.before_restore();
    vec![finding(AON_11, || {
        is_replaced(history, 0, REPLACED_AFTER_START)?;
        history.reached(BROKEN_OFF)?;
        is_replaced(history, 1, REPLACED)
    })]
}

fn is_replaced(history: &History, loss: usize, replaced: MarkName) -> Ruling {
    history.reached(SharedMark::PodLost)?;
    let Some((lost, mark)) = history.marks(SharedMark::PodLost).nth(loss) else {
        return Err(Broken::NotReached("the case deleted only one pod".into()));
    };
    history.at(replaced, |place| {
        binding::replaced_in_gang(&history.upto(place), lost, text(&mark.detail["name"]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losing(story: Story, index: usize, is_replaced: bool) -> Story {
        let pod = worker(SET, index, Some("n"));
        let lost = story.mark(SharedMark::PodLost, json!({"name": pod["metadata"]["name"]}));
        let mut replacement = pod.clone();
        replacement["metadata"]["uid"] = format!("replacement-{index}").into();
        let deleted = lost.deleted(pod);
        if is_replaced { deleted.added(replacement) } else { deleted }
    }

    #[rstest]
    #[case::both(true, true, &[])]
    #[case::not_the_one_lost_while_down(false, true, &["not-replaced"])]
    #[case::not_the_one_whose_deletion_was_missed(true, false, &["not-replaced"])]
    fn a_pod_whose_deletion_the_operator_did_not_see_must_be_replaced(
        #[case] first: bool,
        #[case] second: bool,
        #[case] wanted: &[&str],
    ) {
        let bound = Story::flat().submitted(one_clique(SET, PODS)).workers(SET, PODS, PODS);
        let started = losing(bound, 0, first).mark(REPLACED_AFTER_START, Value::Null);
        let broken = losing(started, 1, second).mark(BROKEN_OFF, Value::Null);
        let history = broken.mark(REPLACED, Value::Null).end();
        assert_eq!(codes(check(&history).remove(0).ruling), wanted);
    }
}
