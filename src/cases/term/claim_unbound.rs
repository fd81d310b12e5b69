//! 5 nodes x 8 GPUs; a gang of 2 pods x 8 GPUs with one pod that waits for a volume, and a gang of 3 pods x 8
//! GPUs with two such pods. The first gang, the control, gets its volume within the termination delay of
//! 30 s, and the other gang only after it was terminated.

use conformance_check::lifecycle::reasons::{self, Why};
use conformance_driver::limits::RETRIES;
use conformance_facts::generations::terminations;

use super::{is_bound, not_recycled_early, replica};
use crate::prelude::*;

marks! {
    /// One pod of the stuck gang is bound, and the others wait for volumes: the pod of each claim.
    WAITS = "one pod bound, the others wait for volumes";
    CONTROL_WHOLE = "the control is whole";
    WHOLE = "the stuck gang is whole";
}

/// The name of the PodCliqueSet, and of its claim, whose volume is created within the delay.
const CONTROL: &str = "volume-in-time";
/// The name of the PodCliqueSet, and of one of its claims, whose volumes are created after the termination.
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
    // First the volume, because the control is terminated when its delay ends.
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
    let whole = Awaited::demanded_by(TERM_21, format!("all pods of PodCliqueSet {set} bound"));
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
            let control_whole = history.waited_for(CONTROL_WHOLE)?;
            let control = replica(history, CONTROL, 0)?;
            termination::times(history, &control, &control.scope(), 0)?;
            binding::whole(&history.before(control_whole), &history.units(CONTROL)?)?;
            let stuck = replica(history, STUCK, 0)?.scope();
            all(terminations(history, &stuck)
                .iter()
                .map(|termination| not_recycled_early(history, termination, DELAY)))?;
            let whole = history.waited_for(WHOLE)?;
            binding::whole(&history.before(whole), &history.units(STUCK)?)
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
