//! 2 racks of 2 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs that must be in one rack: 4 nodes have room, but no rack has
//! more than 2. The same gang without its constraint, on the same nodes, is the control.

use crate::suite::case::{Case, Lane, nodes};
use crate::suite::history::History;
use crate::suite::judge::{Broken, Finding, binding, finding};
use crate::suite::limits;
use crate::suite::trial::{Stop, Trial};

/// TOPO-02, TOPO-04.
pub const CASE: Case = Case {
    id: "topo/no-rack-has-room",
    title: "A gang that fits the cluster but no rack is not bound; without the constraint it is",
    clauses: &["TOPO-02", "TOPO-04", "KUBE-11"],
    nodes: &[nodes(2).gpus(8).rack("a"), nodes(2).gpus(8).rack("b")],
    manifest: include_str!("no_rack_has_room.yaml"),
    lane: Lane::Shared,
    only: &[],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    for gang in trial.submit("constrained").await? {
        trial.scheduler_passes_over(&gang).await?;
    }
    trial.submit("unconstrained").await?;
    trial
        .until("the control bound", limits::SCHEDULING, |live| {
            live.pods()
                .filter(|pod| pod.pod_gang() == Some("unconstrained-0") && pod.node().is_some())
                .count()
                == 3
        })
        .await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("TOPO-02", || {
            history.reached("scheduler passed")?;
            binding::never(history, &history.units("constrained")?, None)
        }),
        finding("TOPO-04", || {
            // A constrained gang that is bound holds the control's room: that is TOPO-02's to say.
            binding::never(history, &history.units("constrained")?, None)
                .map_err(|_| Broken::NotReached("the constrained gang is bound".into()))?;
            binding::whole(&history.end(), &history.units("unconstrained")?)
        }),
    ]
}
