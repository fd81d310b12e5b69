//! 1 node x 8 GPUs; 2 replicas of a clique of 2 pods and a scaling group of 2 replicas of one, each pod with
//! a GPU. An update to 64 GPUs stops at the first replica, because new pods do not fit. Pods that the second
//! replica loses meanwhile fit with the old template.

use conformance_driver::updates::resize;
use conformance_facts::health::awaits_binding;

use crate::prelude::*;

const RESTORED: [MarkName; 2] = [
    MarkName::of_case("the lost pods are replaced"),
    MarkName::of_case("the lost pods are replaced after a second change"),
];

const SET: &str = "old-template";
const LATER: [&str; 2] = ["old-template-1-leader", "old-template-1-pool-1-worker"];

pub(crate) const CASE: Case =
    case!("Pods lost before their replica's update step are recreated from the old template")
        .clauses(&[UPD_16])
        .nodes(&[nodes(1).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    for (revision, restored) in ["2", "3"].into_iter().zip(RESTORED) {
        if !test.change_templates(SET, |clique| resize(clique, revision, 64)).await? {
            return Ok(());
        }
        until_stuck(test, revision).await?;
        lose_and_restore(test).await?;
        test.mark(restored, Value::Null);
    }
    Ok(())
}

async fn until_stuck(test: &TestContext, revision: &str) -> Result<(), Stop> {
    let waits = |pod: &Pod<'_>| is_of_revision(*pod, revision) && awaits_binding(*pod);
    let started =
        Awaited::demanded_by(UPD_01, format!("the first update step to revision {revision} started"));
    test.until(started, limits::SCHEDULING, |live| {
        live.pods().any(|pod| pod.label(names::REPLICA_INDEX) == Some("0") && waits(&pod))
    })
    .await
}

async fn lose_and_restore(test: &TestContext) -> Result<(), Stop> {
    let before = LATER.map(|clique| test.pods_of(clique));
    for lost in before.iter().filter_map(|pods| pods.first()) {
        test.force_delete_pod(lost).await?;
    }
    let restored = Awaited::demanded_by(UPD_16, "the lost pods replaced");
    test.until(restored, limits::SCHEDULING, |live| {
        LATER.iter().zip(&before).all(|(clique, before)| {
            let pods: Vec<_> = pods_of(live, clique).map(|pod| pod.name()).collect();
            pods.len() == before.len() && pods.iter().any(|pod| before.iter().all(|old| old != pod))
        })
    })
    .await
}

fn check(history: &History) -> Vec<Finding> {
    vec![update_finding(history, UPD_16, || {
        updates::restored_from_old_template(history, SET)?;
        RESTORED.into_iter().try_for_each(|restored| history.reached(restored).map(drop))
    })]
}
