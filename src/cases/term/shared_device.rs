//! 1 node x 16 GPUs with a device; a gang of 2 pods x 8 GPUs fills the node, and its pods share the device
//! through one claim. A second node like it joins, and the first node is lost. Until the Terminating pod on
//! the lost node is deleted, the claim stays allocated to that node's device.

use conformance_check::lifecycle::claims;

use super::{replica, requires_recreation};
use crate::prelude::*;

marks! {
    LOST = "only a hanging pod on the lost node";
    HELD = "the claim held by the hanging pod";
    BOUND = "bound to the other node";
}

const SET: &str = "shared-device";
const CLIQUE: &str = "shared-device-0-worker";

pub(crate) const CASE: Case = case!("A recreated gang with a shared claim moves once its last old pod ends")
    .clauses(&[TERM_12, TERM_20])
    .with_feature(Feature::Claims)
    .needs(&[Need::SimulatedNodes, Need::Devices])
    .nodes(&[nodes(1).gpus(16), nodes(1).gpus(16).joining(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.publish_devices(1).await?;
    test.submit_and_start(SET).await?;
    test.add_nodes(1).await?;
    test.publish_devices(1).await?;
    let old = test.pods_of(CLIQUE);
    let (hanging, crashing) =
        (old.first().cloned().unwrap_or_default(), old.last().cloned().unwrap_or_default());
    let node = test.node_of(&hanging)?;
    test.hold_pod(&hanging).await?;
    test.cordon(&node, true).await?;
    test.withdraw_devices(&node).await?;
    test.set_pod_status(&crashing, Containers::Crashing).await?;
    let terminated =
        Awaited::demanded_by(TERM_02, "the gang terminated, except for the pod that stays Terminating");
    test.until(terminated, SCHEDULING, |live| {
        let is_hanging = live.get("Pod", &hanging).is_some_and(|pod| Pod(pod).is_terminating());
        is_hanging && live.get("Pod", &crashing).is_none()
    })
    .await?;
    test.mark(LOST, json!({"node": node}));
    test.scheduler_passes().await?;
    test.mark(HELD, Value::Null);
    test.release_pod_and_wait(&hanging).await?;
    test.until_recreated("shared-device", TERM_20, &[CLIQUE], &old, true).await?;
    test.mark(BOUND, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(TERM_12, || {
            let set_replica = replica(history, SET, 0)?;
            requires_recreation(history, &set_replica)?;
            let until = history.marks(BOUND).next().map_or(history.entries.len(), |(place, _)| place);
            for termination in generations::terminations(history, &set_replica.scope()) {
                termination::kept(history, &set_replica.scope(), &termination, until)?;
            }
            history.reached(HELD).map(drop)
        }),
        finding(TERM_20, || {
            let set_replica = replica(history, SET, 0)?;
            let (scope, units) = (set_replica.scope(), history.units(SET)?);
            requires_recreation(history, &set_replica)?;
            claims::are_shared(history, &scope, 0)?;
            let (_, lost) = history.reached(LOST)?;
            let lost = text(&lost.detail["node"]);
            let (held, _) = history.reached(HELD)?;
            let before = history.upto(held);
            // More than one on kube-scheduler 1.36, if the first gang was bound in part (see below).
            let waiting = generations::terminations(&before, &scope).len();
            binding::never(&generations::only_generation(&before, &scope, waiting), &units, None)?;
            claims::are_shared(history, &scope, waiting)?;
            history.at(BOUND, |bound| {
                let meanwhile = history.upto(bound);
                // kube-scheduler 1.36 may bind one of two pods that share a claim and never the other
                // (kubernetes/kubernetes#140263). The operator then recreates the gang again (TERM-17).
                let last = generations::terminations(&meanwhile, &scope).len().max(1);
                let new = generations::only_generation(&meanwhile, &scope, last).end();
                all([
                    claims::are_freed(history, &scope),
                    binding::whole(&new, &units),
                    claims::are_on_the_nodes_of_their_claims(&new, &scope, &[lost]),
                ])
            })
        }),
    ]
}

#[cfg(test)]
mod tests {
    use conformance_facts::testing::claim;

    use super::*;

    fn pod(name: &str, node: Option<&str>) -> Value {
        let labels = json!({names::PART_OF: SET, names::REPLICA_INDEX: "0", names::POD_CLIQUE: CLIQUE});
        let claims = json!([{"name": "device", "resourceClaimName": "c"}]);
        json!({
            "kind": "Pod",
            "metadata": {"name": name, "uid": name, "labels": labels},
            "spec": {"nodeName": node, "resourceClaims": claims},
        })
    }

    fn recreated_twice(submitted: Story) -> Story {
        let started = submitted.modified(claim(Some("lost"), &["a", "b"]));
        let started = started.all_added(["a", "b"].map(|name| pod(name, Some("lost"))));
        let mut hanging = pod("b", Some("lost"));
        hanging["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let terminated = started.deleted(pod("a", Some("lost"))).modified(hanging.clone());
        let waiting = terminated.all_added(["c", "d"].map(|name| pod(name, None)));
        let held = waiting.mark(LOST, json!({"node": "lost"})).mark(HELD, Value::Null);
        let freed = held.deleted(hanging).modified(claim(None, &[]));
        let half = freed.modified(claim(Some("new"), &["c"])).modified(pod("c", Some("new")));
        let released = half.deleted(pod("c", Some("new"))).deleted(pod("d", None)).modified(claim(None, &[]));
        released.all_added(["e", "f"].map(|name| pod(name, None)))
    }

    fn submitted() -> Story {
        Story::whole().submitted(one_clique(SET, 2)).added(claim(None, &[]))
    }

    /// The gang was bound in part before it was whole.
    fn terminated_before() -> Story {
        let half = submitted().all_added([pod("y", Some("lost")), pod("z", None)]);
        half.modified(claim(Some("lost"), &["y"])).deleted(pod("y", Some("lost"))).deleted(pod("z", None))
    }

    #[rstest::rstest]
    #[case::terminated_once(submitted())]
    #[case::terminated_before(terminated_before())]
    fn the_last_generation_must_be_bound_whole(#[case] submitted: Story) {
        let codes = |story: Story| {
            let history = story.mark(BOUND, Value::Null).end();
            let found = check(&history).into_iter().find(|finding| finding.clause == TERM_20);
            codes(found.expect("a finding").ruling)
        };
        let half =
            recreated_twice(submitted).modified(claim(Some("new"), &["e"])).modified(pod("e", Some("new")));
        assert_eq!(codes(half.clone()), ["not-bound-whole"]);
        let whole = half.modified(claim(Some("new"), &["e", "f"])).modified(pod("f", Some("new")));
        assert_eq!(codes(whole), [""; 0]);
    }
}
