//! 1 node x 4 GPUs; a scaling group of 4 replicas of one pod x 1 GPU (minimum 1). The pod of the first
//! replica stays Terminating, so its replacement does not fit. Meanwhile the group is scaled in 4 -> 2.

use crate::prelude::*;

marks! {
    SCALED_IN = "the group is scaled in";
    BACK = "the terminated replica is bound again";
}

const SET: &str = "slow-replica";
const GROUP: &str = "slow-replica-0-pool";
const WORKER: &str = "slow-replica-0-pool-0-worker";

pub(crate) const CASE: Case = case!("Scaling in during gang termination removes the highest replicas only")
    .clauses(&[UPD_14])
    .nodes(&[nodes(1).gpus(4)])
    .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_start(SET).await?;
    let hanging = test.pods_of(WORKER).into_iter().next().unwrap_or_default();
    test.hold_pod(&hanging).await?;
    test.set_pod_status(&hanging, Containers::Crashing).await?;
    let terminated = Awaited::demanded_by(TERM_04, "the first replica terminated");
    test.until(terminated, limits::SCHEDULING, |live| {
        live.get("Pod", &hanging).is_none_or(|pod| Pod(pod).is_terminating())
    })
    .await?;
    test.scale_as_an_autoscaler("PodCliqueScalingGroup", GROUP, 2).await?;
    let deleted = Awaited::demanded_by(UPD_14, "the pods of the removed replicas deleted");
    test.until(deleted, limits::CLEANUP, |live| scaled::removed_replicas_deleted(live, GROUP).is_ok())
        .await?;
    test.mark(SCALED_IN, Value::Null);
    test.release_pod_and_wait(&hanging).await?;
    test.until_converged(SET).await?;
    test.mark(BACK, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(UPD_14, || {
        let (scaled, _) = history.reached(SharedMark::Scaled)?;
        history
            .at(SCALED_IN, |until| scaled::highest_replicas_stay_deleted(history, GROUP, scaled, until))?;
        history.reached(BACK).map(drop)
    })]
}
