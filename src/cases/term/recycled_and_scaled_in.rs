//! 1 node x 4 GPUs; a scaling group of 4 replicas of one pod x 1 GPU (minimum 1). The pod of the first
//! replica crashes and stays Terminating when the replica is terminated, so its replacement does not fit.
//! Meanwhile the group is scaled in 4 -> 2. Then the old pod is released.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, Need, nodes};
use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits;
use conformance_driver::pod_health::Containers;
use conformance_expect::scaling;
use conformance_expect::scopes::Scope;
use conformance_history::{History, MarkName, Pod, SharedMark};
use conformance_judge::life::{scaled, termination};
use conformance_judge::{all, binding, cleanup, finding};
use serde_json::Value;

use super::replica;

const SCALED_IN: MarkName = MarkName::of_case("the group is scaled in");
const BACK: MarkName = MarkName::of_case("the recycled replica is back");

const SET: &str = "glacier";
const GROUP: &str = "glacier-0-wing";
const UNITS: [&str; 2] = ["glacier-0-wing-0-unit", "glacier-0-wing-1-unit"];

pub(crate) const CASE: Case = Case::new(
    "Scaling in during gang termination removes the highest replicas only",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["UPD-14"])
.nodes(&[nodes(1).gpus(4)])
.needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_started(SET).await?;
    let hanging = test.pods_of(UNITS[0]).into_iter().next().unwrap_or_default();
    test.hold_pod(&hanging).await?;
    test.pod_becomes(&hanging, Containers::Crashing).await?;
    let taken = Awaited::demanded_by("TERM-04", "the first replica terminated");
    test.until(taken, limits::SCHEDULING, |live| {
        live.get("Pod", &hanging).is_none_or(|pod| Pod(pod).is_terminating())
    })
    .await?;
    test.scale_as_an_autoscaler("PodCliqueScalingGroup", GROUP, 2).await?;
    let gone = scaling::lost(&test.history(), SET);
    test.until_gone(&gone).await.map_err(|stop| stop.owed_by("UPD-14"))?;
    test.mark(SCALED_IN, Value::Null);
    test.until_held_pod_gone(&hanging).await?;
    test.until_converged(SET).await.map_err(|stop| stop.owed_by("UPD-14"))?;
    test.mark(BACK, Value::Null);
    Ok(())
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("UPD-14", || {
        let (scaled, _) = history.reached(SharedMark::Scaled)?;
        let until = history.waited_for(SCALED_IN)?;
        let lost = scaling::lost(history, SET);
        all([
            scaled::highest_go_at_once(history, GROUP, scaled, until),
            cleanup::removed(&history.upto(until), &lost),
            cleanup::removed(history, &lost),
        ])?;
        history.reached(SCALED_IN)?;
        let back = history.waited_for(BACK)?;
        let live = history.before(back);
        all(UNITS.map(|unit| binding::exactly(&live, unit, 1)))?;
        history.reached(BACK)?;
        let wing = Scope::GroupReplica { group: GROUP.into(), index: 0 };
        termination::times(history, &replica(history, SET, 0)?, &wing, 1)
    })]
}
