//! 3 nodes x 8 GPUs; a clique of 3 pods x 8 GPUs (minimum 2), and a scaling group of 2 replicas (minimum 1),
//! each of a clique of 1 pod and one of 2 pods (minimum 1). Statuses must match pods if the operator is idle.

use conformance_check::lifecycle::{counts, observed};
use conformance_driver::updates::resize;
use conformance_facts::health::awaits_binding;

use super::rests::{self, at_every_rest};
use crate::prelude::*;

const SET: &str = "recounted";
const ROUTER: &str = "recounted-0-router";
const GROUP: &str = "recounted-0-pool";
const WORKER: &str = "recounted-0-pool-0-worker";
const HELPER: &str = "recounted-0-pool-1-helper";

const RESTS: usize = 12;
const RESTS_WITH_UPDATES: usize = 2;

pub(crate) const CASE: Case = case!("Counts and conditions equal a recount of the pods after every change")
    .clauses(&[STAT_01, STAT_03, STAT_04, STAT_06, STAT_07, STAT_12, STAT_13, TERM_01])
    .nodes(&[nodes(3).gpus(8)])
    .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    rest(test, "all pods are bound and Ready").await?;
    let routers = test.pods_of(ROUTER);
    let [first, second, third] = routers.as_slice() else {
        return Err(Stop::Refused {
            action: "find three router pods".into(),
            reason: format!("found {routers:?}"),
        });
    };
    let helpers = test.pods_of(HELPER);
    test.set_pod_status(first, Containers::Crashing).await?;
    for helper in &helpers {
        test.set_pod_status(helper, Containers::Crashing).await?;
    }
    rest(test, "one of three router pods crashes, and the last clique of a group replica").await?;
    test.set_pod_status(second, Containers::Crashing).await?;
    test.set_first_pod_status(WORKER, Containers::Crashing).await?;
    rest(test, "two of three router pods crash, and the first clique of the other group replica").await?;
    test.set_pod_status(second, Containers::Creating).await?;
    test.set_first_pod_status(HELPER, Containers::Ready).await?;
    rest(test, "one router pod starts again, and one pod of the last clique is Ready").await?;
    test.set_pod_status(first, Containers::Ready).await?;
    test.set_pod_status(second, Containers::Ready).await?;
    test.set_first_pod_status(WORKER, Containers::Ready).await?;
    for helper in helpers.iter().skip(1) {
        test.set_pod_status(helper, Containers::Ready).await?;
    }
    rest(test, "all pods are Ready again").await?;
    // The case keeps the two deleted pods terminating, so their replacements do not fit.
    let lost = [second, third];
    for pod in lost {
        test.hold_pod(pod).await?;
        test.force_delete_pod(pod).await?;
    }
    let replaced = Awaited::demanded_by(AON_11, format!("pods {second} and {third} replaced"));
    test.until(replaced, limits::REACTION, |live| pods_of(live, ROUTER).count() == 3).await?;
    rest(test, "two pods terminate and their replacements wait").await?;
    for pod in lost {
        test.release_pod(pod).await?;
    }
    let replaced =
        Awaited::demanded_by(AON_11, format!("the replacements of pods {second} and {third} bound"));
    test.until(replaced, limits::SCHEDULING, |live| {
        lost.iter().all(|pod| live.get("Pod", pod).is_none()) && live.bound() == 9
    })
    .await?;
    rest(test, "the terminating pods are deleted").await?;
    test.scale("PodCliqueScalingGroup", GROUP, 1).await?;
    test.until_converged(SET).await?;
    rest(test, "a scaling group replica is removed").await?;
    test.scale("PodCliqueSet", SET, 2).await?;
    test.caught_up().await?;
    let history = test.history();
    let gangs = scaling::gangs(&history, &test.manifest(SET)?, history.entries.len());
    for gang in gangs.iter().filter(|gang| gang.is_base) {
        test.until_released(gang).await?;
    }
    rest(test, "a second PodCliqueSet replica has no room").await?;
    test.scale("PodCliqueSet", SET, 0).await?;
    test.until_converged(SET).await?;
    rest(test, "the PodCliqueSet is scaled to 0").await?;
    test.scale("PodCliqueSet", SET, 1).await?;
    test.until_converged(SET).await?;
    // Only the router's template changes: new pods of the group would wait for the router, in the same gang.
    let resize_router = |revision, gpus| {
        move |clique: &mut Value| {
            if clique["name"] == "router" {
                resize(clique, revision, gpus);
            }
        }
    };
    if !test.change_templates(SET, resize_router("2", 64)).await? {
        return Ok(());
    }
    let stuck = Awaited::demanded_by(UPD_01, "the first update step of the clique, without room");
    test.until(stuck, limits::SCHEDULING, |live| {
        let routers = live.pods().filter(|pod| pod.pod_clique() == Some(ROUTER));
        routers.filter(|pod| is_of_revision(*pod, "2")).any(awaits_binding)
    })
    .await?;
    rest(test, "an update makes no progress").await?;
    test.change_templates(SET, resize_router("3", 1)).await?;
    test.until_updated(SET, UPD_32).await?;
    rest(test, "the update has ended").await
}

async fn rest(test: &TestContext, what: &str) -> Result<(), Stop> {
    rests::rest(test, SET, STAT_01, what).await
}

fn check(history: &History) -> Vec<Finding> {
    // The driver stops before the update if the operator does not admit updates.
    let has_updates = updates::are_admitted(history).is_ok();
    let rests = if has_updates { RESTS } else { RESTS - RESTS_WITH_UPDATES };
    vec![
        finding(STAT_01, || {
            counts::counts_are_consistent(history)?;
            at_every_rest(history, SET, rests, rests::cliques)
        }),
        finding(STAT_03, || at_every_rest(history, SET, rests, rests::groups)),
        finding(STAT_04, || {
            let pcs = history.submitted(SET)?;
            at_every_rest(history, SET, rests, |live, _| counts::of_set(live, pcs))
        }),
        finding(STAT_06, || {
            at_every_rest(history, SET, rests, |live, _| {
                if counts::is_observed(live, SET) {
                    Vec::new()
                } else {
                    vec![format!(
                        "PodCliqueSet {SET} or one of its objects: observedGeneration differs from generation"
                    )]
                }
            })
        }),
        finding(STAT_07, || rests::gangs_at_every_rest(history, SET, rests)),
        finding(STAT_12, || {
            observed::never_ahead(history, SET)?;
            rests::all_reached(history, rests)
        }),
        finding(STAT_13, || rests::phases_at_every_rest(history, SET, rests)),
        finding(TERM_01, || at_every_rest(history, SET, rests, rests::breaches)),
    ]
}
