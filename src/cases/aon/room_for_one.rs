//! 4 nodes x 8 GPUs; two gangs of 3 pods x 8 GPUs, from one PodCliqueSet and so at the same time: room for one of
//! them, and half for each. A third gang of 1 pod finds the node that the loser must not hold.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, Lane, nodes};
use conformance_driver::context::{Stop, Trial};
use conformance_expect::Expected;
use conformance_history::History;
use conformance_judge::{binding, finding};

/// AON-04.
pub(super) const CASE: Case = Case {
    id: "aon/room-for-one",
    title: "Of two gangs with room for one, one is bound whole and the other neither bound nor in the way",
    clauses: &["AON-04"],
    nodes: &[nodes(4).gpus(8)],
    manifest: include_str!("room_for_one.yaml"),
    lane: Lane::Shared,
    only: &[],
    drive: |trial| Box::pin(drive(trial)),
    judge,
};

async fn drive(trial: &mut Trial) -> Result<(), Stop> {
    for gang in trial.submit("rival").await? {
        trial.until_released(&gang).await?;
    }
    trial.scheduler_passes().await?;
    trial.submit("tiny").await?;
    trial.until_bound(4).await?;
    trial.canaries().await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("AON-04", || {
        history.reached("scheduler passed")?;
        let rivals: Vec<_> =
            history.gangs("rival")?.iter().map(|gang| gang.units(history.header.target)).collect();
        binding::some_whole_others_never(history, &rivals, 1, None)?;
        binding::whole(&history.end(), &history.units("tiny")?)
    })]
}
