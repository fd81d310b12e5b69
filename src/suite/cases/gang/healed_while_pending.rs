//! 2 nodes x 8 GPUs; gang of 3 pods x 8 GPUs: one short. Its Workload and its PodGroup are deleted while it is pending;
//! then a third node comes.

use super::by_hand;
use crate::suite::case::{Case, Lane, nodes};
use crate::suite::history::History;
use crate::suite::judge::{Broken, Finding, binding, finding, gang_resources};
use crate::suite::target::KUBE;
use crate::suite::trial::{Stop, Trial};

/// GANG-12.
pub const CASE: Case = Case {
    id: "gang/healed-while-pending",
    title: "Gang resources deleted under a pending gang are restored, and it is bound whole once there is room",
    clauses: &["GANG-12"],
    nodes: &[nodes(2).gpus(8), nodes(1).gpus(8).joining(1)],
    manifest: include_str!("healed_while_pending.yaml"),
    lane: Lane::Shared,
    only: KUBE,
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

const SET: &str = "healed";
const POD_GANG: &str = "healed-0";

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    let gangs = trial.submit(SET).await?;
    let group = by_hand::pod_group(trial, &gangs[0]);
    trial.scheduler_passes_over(&gangs[0]).await?;

    by_hand::delete_until_restored(trial, "Workload", POD_GANG).await?;
    let lost = by_hand::uid(trial, "PodGroup", &group);
    trial.delete("PodGroup", &group).await?;
    by_hand::release(trial, &group).await?;
    by_hand::until_restored(trial, "PodGroup", &group, lost).await?;

    trial.nodes_join(1).await?;
    trial.until_bound(3).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("GANG-12", || {
        if let Some((first, _)) = history.marks("deleted").next() {
            binding::was_pending(history, first)?;
        }
        for (index, mark) in history.marks("deleted") {
            let text = |key: &str| mark.detail[key].as_str().unwrap_or_default();
            gang_resources::restored(history, index, text("kind"), text("name"))?;
        }
        if history.marks("deleted").count() < 2 {
            return Err(Broken::NotReached("not everything was deleted".into()));
        }
        binding::whole(&history.end(), &history.units(SET)?)
    })]
}
