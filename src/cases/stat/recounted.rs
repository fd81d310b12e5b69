//! 3 nodes x 8 GPUs; a clique of 3 pods x 8 GPUs, of which 2 are needed, and a scaling group of 2 replicas, of which one is
//! needed. Its pods fail, recover, go slowly, wait for room, and replicas go; at every rest statuses are what a recount gives.

use conformance_contract::ruling::{Broken, Finding, Ruling};
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits;
use conformance_driver::pod_health::Containers;
use conformance_expect::scopes::{SetReplica, replicas};
use conformance_history::{History, Live, MarkName, SharedMark};
use conformance_judge::life::{counts, observed};
use conformance_judge::{all, finding};
use serde_json::json;

/// Mark: nothing is left to do, and statuses say so.
const REST: MarkName = MarkName::of_case("rest");

const SET: &str = "census";
const ROUTER: &str = "census-0-router";
const GROUP: &str = "census-0-pool";
const HELD: &str = "conformance.grove.io/held";

/// How often there is rest.
const RESTS: usize = 8;

/// STAT-01, STAT-03, STAT-04, STAT-06, TERM-01.
pub(crate) const CASE: Case = Case::new(
    "At every rest the counts and conditions of cliques, groups and sets are what a recount of their pods gives",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["STAT-01", "STAT-03", "STAT-04", "STAT-06", "TERM-01"])
.nodes(&[nodes(3).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_converged(SET).await?;
    rest(test, "all is bound and Ready").await?;
    let routers = test.pods_of(ROUTER);
    let [first, second, third] = routers.as_slice() else {
        return Err(Stop::Refused {
            action: "find three routers".into(),
            reason: format!("there are {routers:?}"),
        });
    };
    test.pod_becomes(first, Containers::Crashing).await?;
    rest(test, "one of three crashes").await?;
    test.pod_becomes(second, Containers::Crashing).await?;
    rest(test, "two of three crash").await?;
    test.pod_becomes(second, Containers::Creating).await?;
    rest(test, "one of them is created again").await?;
    test.pod_becomes(first, Containers::Ready).await?;
    test.pod_becomes(second, Containers::Ready).await?;
    rest(test, "all are Ready again").await?;
    // It goes, and is there still; what replaces it has no room.
    test.patch("Pod", third, json!({"metadata": {"finalizers": [HELD]}})).await?;
    test.lose_pod(third).await?;
    let replaced = Awaited::demanded_by("AON-11", format!("{third} replaced"));
    test.until(replaced, limits::REACTION, |live| {
        let its = live.pods().filter(|pod| pod.pod_clique() == Some(ROUTER) && !pod.is_terminating());
        its.filter(|pod| pod.gates().is_empty()).count() == 3
    })
    .await?;
    rest(test, "one is going and its successor waits").await?;
    test.patch("Pod", third, json!({"metadata": {"finalizers": null}})).await?;
    let gone = Awaited::demanded_by("AON-11", format!("the successor of {third} bound"));
    test.until(gone, limits::SCHEDULING, |live| live.get("Pod", third).is_none() && live.bound() == 5)
        .await?;
    rest(test, "it is gone").await?;
    test.scale("PodCliqueScalingGroup", GROUP, 1).await?;
    test.until_converged(SET).await?;
    rest(test, "a replica of the group is gone").await
}

/// Waits until statuses are what they should be, after everything that the case has changed.
async fn rest(test: &TestContext, what: &str) -> Result<(), Stop> {
    test.caught_up().await?;
    let history = test.history();
    let pcs = history.header.submitted.get(SET).cloned().unwrap_or_default();
    let shape = replicas(&pcs).into_iter().next();
    let is_right = |live: &Live| {
        let shape = shape.as_ref();
        shape.is_some_and(|shape| faults(live, shape).is_empty())
            && counts::of_set(live, &pcs).is_empty()
            && counts::is_observed(live, SET)
    };
    test.until(Awaited::demanded_by("STAT-01", format!("statuses: {what}")), limits::REACTION, is_right)
        .await?;
    test.mark(REST, json!({"what": what}));
    Ok(())
}

/// What is wrong with cliques and groups.
fn faults(live: &Live, shape: &SetReplica) -> Vec<String> {
    let (of_cliques, of_groups) = (cliques(live, shape), groups(live, shape));
    of_cliques.into_iter().chain(of_groups).chain(breaches(live, shape)).collect()
}

fn members(live: &Live, shape: &SetReplica) -> Vec<conformance_expect::scopes::Clique> {
    let size = |name: &str, otherwise: usize| {
        let found = live.get("PodCliqueScalingGroup", name);
        found.and_then(|found| conformance_history::count(&found["spec"]["replicas"])).unwrap_or(otherwise)
    };
    let of_groups = shape.groups.iter().flat_map(|group| {
        (0..size(&group.name, group.replicas)).flat_map(|index| group.replica(index).collect::<Vec<_>>())
    });
    shape.standalone.iter().cloned().chain(of_groups).collect()
}

fn cliques(live: &Live, shape: &SetReplica) -> Vec<String> {
    members(live, shape).iter().flat_map(|clique| counts::of_clique(live, clique)).collect()
}

fn groups(live: &Live, shape: &SetReplica) -> Vec<String> {
    shape.groups.iter().flat_map(|group| counts::of_group(live, group)).collect()
}

fn breaches(live: &Live, shape: &SetReplica) -> Vec<String> {
    let of_cliques = members(live, shape);
    let of_cliques = of_cliques.iter().flat_map(|clique| counts::breach_of_clique(live, clique));
    of_cliques.chain(shape.groups.iter().flat_map(|group| counts::breach_of_group(live, group))).collect()
}

/// What a recount finds at every rest that was reached, and where the wait for one ran out.
fn at_every_rest(history: &History, recount: impl Fn(&Live, &SetReplica) -> Vec<String>) -> Ruling {
    let shape = replicas(history.submitted(SET)?).into_iter().next();
    let shape = shape.ok_or_else(|| Broken::NotReached("it was sent without replicas".into()))?;
    let rests = history.marks(REST).map(|(index, _)| index);
    let in_vain = history.marks(SharedMark::WaitRanOut).map(|(index, _)| index);
    all(rests.chain(in_vain).map(|index| {
        let live = history.before(index);
        counts::ruling(&live, recount(&live, &shape))
    }))?;
    let reached = history.marks(REST).count();
    match reached == RESTS {
        true => Ok(()),
        false => Err(Broken::NotReached(format!("there were {reached} of {RESTS} rests"))),
    }
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("STAT-01", || {
            counts::go_together(history)?;
            at_every_rest(history, cliques)
        }),
        finding("STAT-03", || at_every_rest(history, groups)),
        finding("STAT-04", || {
            let pcs = history.submitted(SET)?;
            at_every_rest(history, |live, _| counts::of_set(live, pcs))
        }),
        finding("STAT-06", || {
            observed::never_ahead(history, SET)?;
            at_every_rest(history, |live, _| match counts::is_observed(live, SET) {
                true => Vec::new(),
                false => vec![format!(
                    "PodCliqueSet {SET}, or what belongs to it, has not taken in its generation"
                )],
            })
        }),
        finding("TERM-01", || at_every_rest(history, breaches)),
    ]
}
