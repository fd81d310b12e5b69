//! A node x 16 GPUs with a device; a gang of 2 pods x 8 GPUs fills it, and the two share the device by one
//! claim. Then a second such node joins, and the first is lost: it is cordoned, its device is withdrawn, one
//! pod crashes, and the other stays Terminating when the gang is terminated. Until that pod is gone, the
//! claim stays allocated to its node. Then the new generation can be bound to the second node.

use conformance_contract::ruling::Finding;
use conformance_contract::target::KUBE;
use conformance_driver::case::{Case, Need, nodes};
use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits::SCHEDULING;
use conformance_driver::pod_health::Containers;
use conformance_expect::Expected;
use conformance_history::{History, MarkName, Pod, text};
use conformance_judge::life::{claims, generations, termination};
use conformance_judge::{all, binding, finding};
use serde_json::{Value, json};

use super::replica;

/// Mark: the node is lost, and only one pod of the gang is left on it, Terminating.
const LOST: MarkName = MarkName::of_case("only a hanging pod on the lost node");
/// Mark: the scheduler has made its pass over the new generation, whose claim the Terminating pod still uses.
const HELD: MarkName = MarkName::of_case("the claim held by the hanging pod");
/// Mark: that pod is gone, and the new generation is bound whole.
const BOUND: MarkName = MarkName::of_case("bound to the other node");

const SET: &str = "tethered";
const CLIQUE: &str = "tethered-0-worker";

pub(crate) const CASE: Case = Case::new(
    "A recreated gang with a shared claim moves once its last old pod ends",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["TERM-12", "TERM-20"])
.only(KUBE)
.needs(&[Need::SimulatedNodes, Need::Devices])
.nodes(&[nodes(1).gpus(16), nodes(1).gpus(16).joining(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.publish_devices(1).await?;
    test.submit(SET).await?;
    test.until_started(SET).await?;
    test.nodes_join(1).await?;
    test.publish_devices(1).await?;
    let old = test.pods_of(CLIQUE);
    let (hanging, crashing) =
        (old.first().cloned().unwrap_or_default(), old.last().cloned().unwrap_or_default());
    let node = test.node_of(&hanging)?;
    test.hold_pod(&hanging).await?;
    test.cordon(&node, true).await?;
    test.withdraw_devices(&node).await?;
    test.pod_becomes(&crashing, Containers::Crashing).await?;
    let alone =
        Awaited::demanded_by("TERM-02", "the gang terminated, except for the pod that stays Terminating");
    test.until(alone, SCHEDULING, |live| {
        let hangs = live.get("Pod", &hanging).is_some_and(|pod| Pod(pod).is_terminating());
        hangs && live.get("Pod", &crashing).is_none()
    })
    .await?;
    test.mark(LOST, json!({"node": node}));
    test.scheduler_passes().await?;
    test.mark(HELD, Value::Null);
    test.until_held_pod_gone(&hanging).await?;
    test.until_recycled("tethered", "TERM-20", &[CLIQUE], &old, true).await?;
    test.mark(BOUND, Value::Null);
    Ok(())
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("TERM-12", || {
            let tethered = replica(history, SET, 0)?;
            let until = history.marks(BOUND).next().map_or(history.entries.len(), |(place, _)| place);
            for recycle in generations::recycles(history, &tethered.scope()) {
                termination::kept(history, &tethered.scope(), &recycle, until)?;
            }
            history.reached(HELD).map(drop)
        }),
        finding("TERM-20", || {
            let tethered = replica(history, SET, 0)?;
            let (scope, units) = (tethered.scope(), history.units(SET)?);
            claims::are_shared(history, &scope, 0)?;
            let (_, lost) = history.reached(LOST)?;
            let lost = text(&lost.detail["node"]);
            let (held, _) = history.reached(HELD)?;
            binding::never(&generations::only(&history.upto(held), &scope, 1), &units, None)?;
            claims::are_shared(history, &scope, 1)?;
            let bound = history.waited_for(BOUND)?;
            let new = generations::only(&history.upto(bound), &scope, 1).end();
            all([
                claims::are_freed(history, &scope),
                binding::whole(&new, &units),
                claims::are_beside(&new, &scope, &[lost]),
            ])?;
            history.reached(BOUND).map(drop)
        }),
    ]
}
