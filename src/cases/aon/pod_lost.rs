//! 4 nodes x 8 GPUs; a gang of 4 pods x 8 GPUs runs and loses one: only the lost pod's node has room.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, Lane, nodes};
use conformance_driver::context::{Stop, Trial};
use conformance_driver::limits;
use conformance_expect::Expected;
use conformance_history::History;
use conformance_judge::{binding, finding};

/// AON-11.
pub(super) const CASE: Case = Case {
    id: "aon/pod-lost",
    title: "A lost pod of a running gang is replaced in the gang, and the others stay where they are",
    clauses: &["AON-11"],
    nodes: &[nodes(4).gpus(8)],
    manifest: include_str!("pod_lost.yaml"),
    lane: Lane::Shared,
    only: &[],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    trial.submit("steady").await?;
    trial.until_bound(4).await?;
    let lost = trial.look(|live| live.pods().map(|pod| pod.name().to_owned()).next()).unwrap_or_default();
    trial.lose_pod(&lost).await?;
    let replaced = format!("{lost} replaced");
    trial
        .until(&replaced, limits::SCHEDULING, |live| live.get("Pod", &lost).is_none() && live.bound() == 4)
        .await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("AON-11", || {
        let (since, mark) = history.reached("pod lost")?;
        let lost = mark.detail["name"].as_str().unwrap_or_default();
        binding::replaced(history, since, lost)?;
        binding::others_untouched(history, since, &[lost])?;
        binding::whole(&history.end(), &history.units("steady")?)
    })]
}
