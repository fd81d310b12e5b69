//! 3 nodes x 8 GPUs; a clique of 3 pods x 8 GPUs, of which 2 are needed, and a scaling group of 2 replicas, of which one is
//! needed. Its pods fail, recover, go slowly, two at a time, wait for room, and replicas go; at every rest statuses are what a
//! recount gives.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits;
use conformance_driver::pod_health::Containers;
use conformance_history::History;
use conformance_judge::finding;
use conformance_judge::life::{counts, observed};
use serde_json::json;

use super::rests::{self, at_every_rest};

const SET: &str = "census";
const ROUTER: &str = "census-0-router";
const GROUP: &str = "census-0-pool";
const HELD: &str = "conformance.grove.io/held";

/// How often there is rest.
const RESTS: usize = 8;

/// STAT-01, STAT-03, STAT-04, STAT-06, STAT-07, TERM-01.
pub(crate) const CASE: Case = Case::new(
    "At every rest the counts and conditions of cliques, groups, sets and gangs are what a recount of their pods gives",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["STAT-01", "STAT-03", "STAT-04", "STAT-06", "STAT-07", "TERM-01"])
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
    // They go, and are there still; what replaces them has no room.
    let lost = [second, third];
    for pod in lost {
        test.patch("Pod", pod, json!({"metadata": {"finalizers": [HELD]}})).await?;
        test.lose_pod(pod).await?;
    }
    let replaced = Awaited::demanded_by("AON-11", format!("{second} and {third} replaced"));
    test.until(replaced, limits::REACTION, |live| {
        live.pods().filter(|pod| pod.pod_clique() == Some(ROUTER) && !pod.is_terminating()).count() == 3
    })
    .await?;
    rest(test, "two are going and their successors wait").await?;
    for pod in lost {
        test.patch("Pod", pod, json!({"metadata": {"finalizers": null}})).await?;
    }
    let gone = Awaited::demanded_by("AON-11", format!("the successors of {second} and {third} bound"));
    test.until(gone, limits::SCHEDULING, |live| {
        lost.iter().all(|pod| live.get("Pod", pod).is_none()) && live.bound() == 5
    })
    .await?;
    rest(test, "they are gone").await?;
    test.scale("PodCliqueScalingGroup", GROUP, 1).await?;
    test.until_converged(SET).await?;
    rest(test, "a replica of the group is gone").await
}

async fn rest(test: &TestContext, what: &str) -> Result<(), Stop> {
    rests::rest(test, SET, "STAT-01", what).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("STAT-01", || {
            counts::go_together(history)?;
            at_every_rest(history, SET, RESTS, rests::cliques)
        }),
        finding("STAT-03", || at_every_rest(history, SET, RESTS, rests::groups)),
        finding("STAT-04", || {
            let pcs = history.submitted(SET)?;
            at_every_rest(history, SET, RESTS, |live, _| counts::of_set(live, pcs))
        }),
        finding("STAT-06", || {
            observed::never_ahead(history, SET)?;
            at_every_rest(history, SET, RESTS, |live, _| match counts::is_observed(live, SET) {
                true => Vec::new(),
                false => vec![format!(
                    "PodCliqueSet {SET}, or what belongs to it, has not taken in its generation"
                )],
            })
        }),
        finding("STAT-07", || rests::gangs_at_every_rest(history, SET, RESTS)),
        finding("TERM-01", || at_every_rest(history, SET, RESTS, rests::breaches)),
    ]
}
