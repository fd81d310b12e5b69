//! 1 node x 8 GPUs; a PodCliqueSet of a clique of 3 pods (minimum 2) and a scaling group of 4 replicas
//! (minimum 1), and a control PodCliqueSet. Each pod requests 1 GPU. An update to 64 GPUs makes new pods too
//! large. Then the group, which lacks a replica, is scaled in 4 -> 2. Finally, the case reverts the update.

use conformance_driver::updates::resize;
use conformance_facts::health::awaits_binding;

use super::at_any_time;
use crate::prelude::*;

marks! {
    OUTLASTED = "a later update has finished";
    SCALED_IN = "the group is scaled in";
    REPAIRED = "every pod is as it was at first";
}

const SET: &str = "broken";
const CONTROL: &str = "control-fits";
const CLIQUE: &str = "broken-0-front";
const GROUP: &str = "broken-0-pool";

pub(crate) const CASE: Case =
    case!("A failing update stops after one step, and reverting repairs only that step")
        .clauses(&[UPD_04, UPD_11, UPD_12, UPD_14, UPD_30, UPD_32])
        .nodes(&[nodes(1).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for set in [SET, CONTROL] {
        test.submit_and_converge(set).await?;
    }
    if !test.change_templates(SET, |clique| resize(clique, "2", 64)).await? {
        return Ok(());
    }
    let waits = |live: &Live, clique: &str| {
        let is_of_clique = |pod: &Pod<'_>| pod.pod_clique().is_some_and(|name| name.starts_with(clique));
        live.pods().any(|pod| is_of_clique(&pod) && awaits_binding(pod))
    };
    // An operator may update the clique and the group one after the other.
    let started = Awaited::demanded_by(UPD_01, "the first update step started");
    test.until(started, limits::SCHEDULING, |live| waits(live, CLIQUE) || waits(live, GROUP)).await?;
    test.revise(CONTROL, "2").await?;
    test.until_updated(CONTROL, UPD_02).await?;
    test.mark(OUTLASTED, Value::Null);
    test.scale_as_an_autoscaler("PodCliqueScalingGroup", GROUP, 2).await?;
    let deleted = Awaited::demanded_by(UPD_14, "the pods of the removed replicas deleted");
    test.until(deleted, limits::CLEANUP, |live| scaled::removed_replicas_deleted(live, GROUP).is_ok())
        .await?;
    test.mark(SCALED_IN, Value::Null);
    test.change_templates(SET, |clique| resize(clique, "1", 1)).await?;
    test.until_updated(SET, UPD_32).await?;
    test.mark(REPAIRED, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(UPD_04, || at_any_time(history, REPAIRED, || updates::steps_do_not_overlap(history, SET))),
        update_finding(history, UPD_11, || {
            // The templates change back right after this mark.
            let (scaled_in, _) = history.reached(SCALED_IN)?;
            all([
                updates::updater_deletes_only_old_since(history, SET, scaled_in),
                history.reached(REPAIRED).map(drop),
            ])
        }),
        update_finding(history, UPD_12, || {
            history.at(OUTLASTED, |outlasted| updates::stopped_after_first_step(history, SET, outlasted))
        }),
        update_finding(history, UPD_14, || {
            let (scaled, _) = history.reached(SharedMark::Scaled)?;
            history
                .at(SCALED_IN, |until| scaled::highest_replicas_stay_deleted(history, GROUP, scaled, until))
        }),
        finding(UPD_30, || at_any_time(history, REPAIRED, || updates::minimum_stays(history, SET))),
        update_finding(history, UPD_32, || {
            history.reached(SCALED_IN)?;
            history.at(REPAIRED, |repaired| updates::is_complete(history, repaired, SET))
        }),
    ]
}
