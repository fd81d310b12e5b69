//! 5 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs where one waits for a volume, and a gang of 3 pods where two
//! wait. The first gang, the control, gets its volume within the termination delay of 30 s. The other gang
//! gets its volumes only after its termination.

use conformance_check::lifecycle::reasons::{self, Why};
use conformance_driver::limits::RETRIES;
use conformance_facts::generations::terminations;

use super::{is_bound, not_recycled_early, releases_capacity, replica};
use crate::prelude::*;

marks! {
    /// One pod of the stuck gang is bound, and the others wait for volumes: the pod of each claim.
    WAITS = "one pod bound, the others wait for volumes";
    CONTROL_WHOLE = "the control is whole";
    WHOLE = "the stuck gang is whole";
}

/// The PodCliqueSet, and its claim. The volume is created within the delay.
const CONTROL: &str = "volume-in-time";
/// The PodCliqueSet, and one of its claims. The volumes are created after the termination.
const STUCK: &str = "volume-missing";
const OTHER_CLAIM: &str = "volume-missing-too";
/// Seconds, as in the manifest.
const DELAY: u32 = 30;

pub(crate) const CASE: Case =
    case!("A gang waiting for volumes reports the claims and is terminated after terminationDelay")
        .clauses(&[TERM_21, STAT_16])
        .nodes(&[nodes(5).gpus(8)])
        .needs(&[Need::Volumes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.create_claims(&[CONTROL, STUCK, OTHER_CLAIM]).await?;
    for set in [CONTROL, STUCK] {
        test.submit(set).await?;
        let free =
            Awaited::demanded_by(AON_01, format!("the pod without a claim of PodCliqueSet {set} bound"));
        test.until(free, SCHEDULING, |live| is_bound(live, &format!("{set}-0-free"))).await?;
        test.until_claim_has_node(set).await?;
    }
    test.until_claim_has_node(OTHER_CLAIM).await?;
    let pod = |clique: &str| test.pods_of(clique).pop();
    let waiting = json!({
        (STUCK): pod("volume-missing-0-tied"), (OTHER_CLAIM): pod("volume-missing-0-tied-too"),
    });
    test.mark(WAITS, waiting);
    // The volume comes first, because the control is terminated when its delay ends.
    test.create_volume(CONTROL).await?;
    until_reported(test).await?;
    until_whole(test, CONTROL, &["free", "tied"]).await?;
    test.mark(CONTROL_WHOLE, Value::Null);
    let former = test.pods_of("volume-missing-0-free");
    let deleted = Awaited::demanded_by(TERM_21, "the bound pod of the stuck gang deleted");
    test.until(deleted, RETRIES, |live| former.iter().all(|name| live.get("Pod", name).is_none())).await?;
    test.create_volume(STUCK).await?;
    test.create_volume(OTHER_CLAIM).await?;
    until_whole(test, STUCK, &["free", "tied", "tied-too"]).await?;
    test.mark(WHOLE, Value::Null);
    Ok(())
}

/// A timeout does not stop the case.
async fn until_reported(test: &TestContext) -> Result<(), Stop> {
    let history = test.history();
    let (gangs, waits) = (history.gangs(STUCK).unwrap_or_default(), waits(&history));
    let is_reported = |live: &Live| {
        gangs.iter().all(|gang| waits.iter().all(|why| reasons::is_reported(live, &history, gang, why)))
    };
    match test.until("the unbound claims reported", REACTION, is_reported).await {
        Err(Stop::Timeout(_)) => Ok(()),
        reported => reported,
    }
}

async fn until_whole(test: &TestContext, set: &str, cliques: &[&str]) -> Result<(), Stop> {
    let whole = Awaited::demanded_by(WAKE_14, format!("all pods of PodCliqueSet {set} bound"));
    test.until(whole, RETRIES, |live| {
        cliques.iter().all(|clique| is_bound(live, &format!("{set}-0-{clique}")))
    })
    .await
}

fn waits(history: &History) -> [Why; 2] {
    let mark = history.marks(WAITS).next();
    [STUCK, OTHER_CLAIM].map(|claim| {
        let pod = mark.and_then(|(_, mark)| mark.detail[claim].as_str());
        Why::Claim { pod: pod.unwrap_or_default().to_owned(), claim: claim.to_owned() }
    })
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(TERM_21, || {
            let control = replica(history, CONTROL, 0)?;
            let found = terminations(history, &control.scope());
            all(found.iter().map(|termination| not_recycled_early(history, termination, DELAY)))?;
            let (whole, _) = history.reached(CONTROL_WHOLE)?;
            let stuck = replica(history, STUCK, 0)?;
            releases_capacity(history, &stuck.scope(), history.waited_for(WHOLE)?, 1, DELAY)?;
            termination::recreated(history, &stuck, &stuck.scope())?;
            // The control is whole, so nothing is breached.
            let earlier = found.iter().filter(|termination| termination.started.index < whole).count();
            precondition(TERM_02, termination::times(history, &control, &control.scope(), earlier))?;
            history.reached(WHOLE).map(drop)
        }),
        finding(STAT_16, || {
            history.reached(WAITS)?;
            let gangs = history.gangs(STUCK)?;
            let reported =
                |why: Why| all(gangs.iter().map(|gang| reasons::reason_reported(history, gang, &why)));
            all(waits(history).map(reported))
        }),
    ]
}

#[cfg(test)]
mod tests {
    use conformance_check::codes;
    use conformance_history::testing::Story;

    use super::super::tests::{pod_of, ruling_of};
    use super::*;

    fn pod(set: &str, clique: &str, name: &str, node: Option<&str>) -> Value {
        pod_of(set, &format!("{set}-0-{clique}"), &format!("{set}-{name}"), node)
    }

    /// Adds two pods, the first of them bound if `is_bound`.
    fn created(story: Story, set: &str, names: [&str; 2], is_bound: bool) -> Story {
        story
            .added(pod(set, "free", names[0], is_bound.then_some("n")))
            .added(pod(set, "tied", names[1], None))
    }

    fn deleted(story: Story, set: &str, names: [&str; 2]) -> Story {
        let story = story.deleted(pod(set, "free", names[0], Some("n")));
        story.deleted(pod(set, "tied", names[1], None))
    }

    /// The stuck gang is terminated after these seconds, the control a second later.
    fn ruling(stuck: Option<i64>, control: bool) -> Ruling {
        let sets = grove_yaml::documents(crate::manifest("term/claim-unbound")).unwrap();
        let story = sets.into_iter().fold(Story::flat(), Story::submitted);
        let waits = [CONTROL, STUCK].iter().fold(story, |story, set| created(story, set, ["a", "b"], true));
        let waits = waits.mark(WAITS, Value::Null).modified(pod(CONTROL, "tied", "b", Some("n")));
        let waits = waits.mark(CONTROL_WHOLE, Value::Null);
        let later = match stuck {
            None => waits.later(90),
            Some(seconds) => {
                created(deleted(waits.later(seconds), STUCK, ["a", "b"]), STUCK, ["c", "d"], false)
            }
        };
        let later = if control {
            created(deleted(later.later(1), CONTROL, ["a", "b"]), CONTROL, ["c", "d"], false)
        } else {
            later
        };
        ruling_of(&check(&later.mark(WHOLE, Value::Null).end()), TERM_21)
    }

    #[rstest::rstest]
    #[case::after_the_delay(Some(30), &[])]
    #[case::early(Some(20), &["gang-with-bound-pods-terminated-early"])]
    #[case::never(None, &["capacity-not-released"])]
    fn a_stuck_gang_is_terminated_after_the_delay(#[case] stuck: Option<i64>, #[case] wanted: &[&str]) {
        assert_eq!(codes(ruling(stuck, false)), wanted);
    }

    #[test]
    fn the_control_is_terminated_without_a_breach() {
        let found = ruling(Some(30), true);
        assert!(matches!(found, Err(Broken::Precondition { clause: TERM_02, .. })), "{found:?}");
    }
}
