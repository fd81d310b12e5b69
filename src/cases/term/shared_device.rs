//! A node x 16 GPUs with a device; a gang of 2 pods x 8 GPUs fills it, and the two share the device by one
//! claim. Then a second such node joins, and the first is lost: it is cordoned, its device is withdrawn, one
//! pod crashes, and the other stays Terminating when the gang is terminated. Until that pod is gone, the
//! claim stays allocated to its node. Then the new generation can be bound to the second node.

use conformance_check::lifecycle::claims;
use conformance_facts::generations;
use conformance_history::text;

use super::replica;
use crate::prelude::*;

marks! {
    /// The node is lost, and only one pod of the gang is left on it, Terminating.
    LOST = "only a hanging pod on the lost node";
    /// The scheduler has made its pass over the new generation, whose claim the Terminating pod still uses.
    HELD = "the claim held by the hanging pod";
    /// That pod is deleted, and the new generation is bound whole.
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
    test.submit(SET).await?;
    test.until_started(SET).await?;
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
            let until = history.marks(BOUND).next().map_or(history.entries.len(), |(place, _)| place);
            for termination in generations::terminations(history, &set_replica.scope()) {
                termination::kept(history, &set_replica.scope(), &termination, until)?;
            }
            history.reached(HELD).map(drop)
        }),
        finding(TERM_20, || {
            let set_replica = replica(history, SET, 0)?;
            let (scope, units) = (set_replica.scope(), history.units(SET)?);
            claims::are_shared(history, &scope, 0)?;
            let (_, lost) = history.reached(LOST)?;
            let lost = text(&lost.detail["node"]);
            let (held, _) = history.reached(HELD)?;
            binding::never(&generations::only_generation(&history.upto(held), &scope, 1), &units, None)?;
            claims::are_shared(history, &scope, 1)?;
            history.at(BOUND, |bound| {
                let new = generations::only_generation(&history.upto(bound), &scope, 1).end();
                all([
                    claims::are_freed(history, &scope),
                    binding::whole(&new, &units),
                    claims::are_on_the_nodes_of_their_claims(&new, &scope, &[lost]),
                ])
            })
        }),
    ]
}
