//! 2 nodes x 8 GPUs; 2 replicas of a PodCliqueSet. Each has a clique of 3 pods (minimum 2), and a scaling
//! group of 2 replicas of 2 pods (minimum 1). Each pod requests 1 GPU, so 14 of 16 GPUs are used. In the
//! first replica's clique, one pod is Ready after a crash, and another crashes. Then all templates change.

use conformance_facts::pod_gangs::reference_mismatch;

use super::at_any_time;
use crate::prelude::*;

marks! {
    UPDATED = "every pod is new";
    REPORTED = "end of the update reported";
}

const SET: &str = "rolling";
const CLIQUE: &str = "rolling-0-front";

pub(crate) const CASE: Case =
    case!("An update replaces every pod in single steps and reports its progress correctly")
        .clauses(&[
            UPD_02, UPD_03, UPD_04, UPD_07, UPD_08, UPD_18, UPD_27, UPD_28, UPD_29, UPD_30, UPD_31, UPD_38,
        ])
        .nodes(&[nodes(2).gpus(8)])
        .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    let front = test.pods_of(CLIQUE);
    for pod in front.iter().take(2) {
        test.set_pod_status(pod, Containers::Crashing).await?;
    }
    if let Some(recovered) = front.first() {
        test.set_pod_status(recovered, Containers::Recovered).await?;
    }
    // Two pods are Ready: the recovered pod and the third pod.
    test.until_ready_replicas(CLIQUE, 2).await?;
    if test.revise(SET, "2").await? {
        test.until_updated(SET, UPD_02).await?;
        let named = Awaited::demanded_by(UPD_31, "PodGangs that reference exactly the existing pods");
        test.until(named, limits::REACTION, |live| reference_mismatch(live, SET).is_none()).await?;
        test.caught_up().await?;
        test.mark(UPDATED, Value::Null);
        let pcs = test.manifest(SET)?;
        let reported = Awaited::demanded_by(UPD_38, "statuses that report everything as updated");
        test.until(reported, REACTION, |live| updates::end_is_reported(live, &pcs).is_ok()).await?;
        test.mark(REPORTED, Value::Null);
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        update_finding(history, UPD_02, || {
            history.at(UPDATED, |updated| updates::ended(&history.upto(updated), SET))
        }),
        finding(UPD_03, || at_any_time(history, UPDATED, || updates::one_replica_at_a_time(history, SET))),
        finding(UPD_04, || at_any_time(history, UPDATED, || updates::steps_do_not_overlap(history, SET))),
        finding(UPD_07, || at_any_time(history, UPDATED, || updates::gangs_stay(history, SET))),
        finding(UPD_08, || at_any_time(history, UPDATED, || updates::replacements_are_members(history, SET))),
        finding(UPD_18, || at_any_time(history, UPDATED, || updates::progress_is_correct(history, SET))),
        finding(UPD_27, || at_any_time(history, UPDATED, || updates::never_ended_early(history, SET))),
        finding(UPD_28, || at_any_time(history, UPDATED, || updates::lowest_is_updated_first(history, SET))),
        finding(UPD_29, || at_any_time(history, UPDATED, || updates::status_names_the_replica(history, SET))),
        finding(UPD_30, || at_any_time(history, UPDATED, || updates::minimum_stays(history, SET))),
        finding(UPD_31, || {
            at_any_time(history, UPDATED, || updates::references_follow_the_pods(history, SET))?;
            updates::references_match_pods(&history.end(), SET)
        }),
        update_finding(history, UPD_38, || {
            history.at(REPORTED, |reported| {
                precondition(UPD_02, updates::ended(&history.upto(reported), SET))?;
                updates::end_is_reported(&history.before(reported), history.submitted(SET)?)
            })
        }),
    ]
}
