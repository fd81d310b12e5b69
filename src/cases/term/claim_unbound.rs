//! 4 nodes x 8 GPUs; two gangs of 2 pods x 8 GPUs, of which one pod has a claim that gets its volume when the harness makes it. Of
//! both the other pod is bound. The first gets its volume within the termination delay of 30 s, when the PodGang of the second has told
//! of its claim; the second only when its bound pod has been recycled.

use conformance_contract::ruling::Finding;
use conformance_contract::violation::Code;
use conformance_driver::case::{Case, Need, nodes};
use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits::{REACTION, RETRIES, SCHEDULING};
use conformance_expect::Expected;
use conformance_history::{History, Live, MarkName};
use conformance_judge::life::generations::recycles;
use conformance_judge::life::reasons::{self, Why};
use conformance_judge::life::termination;
use conformance_judge::{Shown, all, binding, ensure, finding, violation};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::replica;

/// Mark: a pod of the gang that gets no volume is bound, and this one waits for it: `{"pod"}`.
const HALF: MarkName = MarkName::of_case("a pod is bound and one waits for its volume");
/// Mark: the gang whose volume came in time is whole.
const IN_TIME: MarkName = MarkName::of_case("whole within the delay");
/// Mark: the other one, after it gave its room back.
const WHOLE: MarkName = MarkName::of_case("whole at last");

/// Its volume comes in time.
const UNHURRIED: &str = "unhurried";
/// Its volume does not.
const UNSERVED: &str = "unserved";
/// The termination delay of the manifests, less one second, because API times have whole seconds.
const AT_LEAST: SignedDuration = SignedDuration::from_secs(29);

const GIVEN_BACK_EARLY: Code = Code::new("stuck-gang-given-back-early");

/// TERM-21, STAT-09.
pub(crate) const CASE: Case = Case::new(
    "A gang with a pod that waits for its volume names the claim, and gives its room back after the termination delay only",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["TERM-21", "STAT-09"])
.nodes(&[nodes(4).gpus(8)])
.needs(&[Need::Volumes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.make_claims(&[UNHURRIED, UNSERVED]).await?;
    for set in [UNHURRIED, UNSERVED] {
        test.submit(set).await?;
        let free = Awaited::demanded_by("AON-01", format!("the pod of {set} without a claim bound"));
        test.until(free, SCHEDULING, |live| is_bound(live, &format!("{set}-0-free"))).await?;
        test.until_claim_has_a_node(set).await?;
    }
    test.mark(HALF, json!({"pod": test.pods_of("unserved-0-tied").pop()}));
    until_told(test).await?;
    test.provide_volume(UNHURRIED).await?;
    until_whole(test, UNHURRIED).await?;
    test.mark(IN_TIME, Value::Null);
    let old = test.pods_of("unserved-0-free");
    let gone = Awaited::demanded_by("TERM-21", "the bound pod of a stuck gang recycled");
    test.until(gone, RETRIES, |live| old.iter().all(|name| live.get("Pod", name).is_none())).await?;
    test.provide_volume(UNSERVED).await?;
    until_whole(test, UNSERVED).await?;
    test.mark(WHOLE, Value::Null);
    Ok(())
}

fn is_bound(live: &Live, clique: &str) -> bool {
    live.pods().any(|pod| pod.pod_clique() == Some(clique) && !pod.is_terminating() && pod.node().is_some())
}

/// Until the PodGang names the pod and its claim, if it does so before the volume of the other gang is due.
async fn until_told(test: &TestContext) -> Result<(), Stop> {
    let history = test.history();
    let (gangs, why) = (history.gangs(UNSERVED).unwrap_or_default(), why(&history));
    let is_told = |live: &Live| gangs.iter().all(|gang| reasons::is_told(live, &history, gang, &why));
    match test.until("the claim told that a gang waits for", REACTION, is_told).await {
        Err(Stop::Wait(_)) => Ok(()),
        told => told,
    }
}

async fn until_whole(test: &TestContext, set: &str) -> Result<(), Stop> {
    let whole = Awaited::demanded_by("TERM-21", format!("both pods of {set} bound"));
    test.until(whole, RETRIES, |live| {
        ["free", "tied"].iter().all(|clique| is_bound(live, &format!("{set}-0-{clique}")))
    })
    .await
}

/// What the first generation of the gang waits for that gets no volume.
fn why(history: &History) -> Why {
    let pod = history.marks(HALF).next().and_then(|(_, mark)| mark.detail["pod"].as_str());
    Why::Claim { pod: pod.unwrap_or_default().to_owned(), claim: UNSERVED.to_owned() }
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("TERM-21", || {
            let in_time = history.waited_for(IN_TIME)?;
            let unhurried = replica(history, UNHURRIED, 0)?;
            termination::times(history, &unhurried, &unhurried.scope(), 0)?;
            binding::whole(&history.before(in_time), &history.units(UNHURRIED)?)?;
            let scope = replica(history, UNSERVED, 0)?.scope();
            all(recycles(history, &scope).iter().map(|recycle| {
                let is_its = |uid: &str| recycle.old.contains(uid);
                let mut pods = history.pods().filter(|version| is_its(version.uid()));
                let Some(bound) = pods.find(|version| version.pod().node().is_some()) else { return Ok(()) };
                let lasted = recycle.begun.at.duration_since(bound.happened());
                ensure(lasted >= AT_LEAST, || {
                    let message = format!(
                        "it gave its room back {:.1} s after its first pod was bound; its termination delay is 30 s",
                        lasted.as_secs_f64()
                    );
                    violation(GIVEN_BACK_EARLY, message)
                        .shown_by("bound", bound)
                        .shown_by("first deletion", recycle.begun)
                })
            }))?;
            let whole = history.waited_for(WHOLE)?;
            binding::whole(&history.before(whole), &history.units(UNSERVED)?)
        }),
        finding("STAT-09", || {
            history.reached(HALF)?;
            let gangs = history.gangs(UNSERVED)?;
            all(gangs.iter().map(|gang| reasons::told(history, gang, &why(history))))
        }),
    ]
}
