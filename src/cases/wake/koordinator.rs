//! koord-scheduler flushes pods at its default age, five minutes. 1 to 3 nodes x 8 GPUs; a gang of 2 pods x 8
//! GPUs per reason. The age in other cases, 5 s, could hide an event that has no effect.

use conformance_install::schedulers::koord_scheduler::FLUSH;

use super::{Reason, drive_value, gang_resource_created, is_bound_soon, waiting};
use crate::prelude::*;

marks! {
    /// `{"set"}`: the PodCliqueSet.
    WAITED = "its pods are bound, or the wait for them has timed out";
}

pub(crate) const CASE: Case =
    case!("A waiting gang of Koordinator is bound soon after its reason ends", restored)
        .clauses(&[WAKE_01, WAKE_02, WAKE_03, WAKE_04, WAKE_05, WAKE_09, WAKE_11, WAKE_14])
        .nodes(&[nodes(1).gpus(8), nodes(1).gpus(8).joining(1), nodes(1).gpus(8).joining(2)])
        .isolation(Isolation::Dedicated)
        .needs(&[Need::SimulatedNodes, Need::Volumes])
        .on(Scheduler::KOORDINATOR);

const VOLUMELESS: &str = "waits-for-a-volume";

/// Only the last row needs the third node; in the other rows, this node would make room.
const ROWS: [(&str, &str, Reason); 7] = [
    (WAKE_01, "waits-for-a-node", Reason::NodeMissing),
    (WAKE_02, "waits-for-an-uncordon", Reason::Cordoned),
    (WAKE_03, "waits-for-a-taint", Reason::Tainted),
    (WAKE_04, "waits-for-a-deletion", Reason::HeldBy("deleted")),
    (WAKE_09, "waits-for-an-end", Reason::Terminating("departing")),
    (WAKE_14, VOLUMELESS, Reason::VolumeMissing(VOLUMELESS)),
    (WAKE_05, "waits-for-a-scale-in", Reason::HeldByReplicaOf("scaled-in")),
];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.restart_scheduler_without(FLUSH).await?;
    for (_, set, reason) in ROWS {
        if matches!(reason, Reason::HeldByReplicaOf(_)) {
            test.add_nodes(2).await?;
        }
        let mut pcs = test.manifest(if set == VOLUMELESS { set } else { "waiting" })?;
        pcs["metadata"]["name"] = set.into();
        match drive_value(test, pcs, reason).await {
            Err(stop) if stop.breach().is_some() => {
                test.mark(SharedMark::ContinuedAfterTimeout, Value::Null);
            }
            driven => driven?,
        }
        test.mark(WAITED, json!({"set": set}));
        test.remove_set(set).await?;
    }
    gang_resource_created::drive(test).await
}

fn check(history: &History) -> Vec<Finding> {
    let history = &history.before_restore();
    let rows = ROWS.map(|(clause, set, _)| finding(clause, || ruling(history, set)));
    rows.into_iter().chain(gang_resource_created::check(history)).collect()
}

fn ruling(history: &History, set: &str) -> Ruling {
    let (units, ended) = waiting(history, set)?;
    let waited = history.marks(WAITED).find(|(_, mark)| mark.detail["set"] == set);
    let not_reached = || Broken::NotReached(format!("the driver stopped while PodCliqueSet {set} waited"));
    let (waited, _) = waited.ok_or_else(not_reached)?;
    is_bound_soon(&history.upto(waited), &units, set, ended)
}

#[cfg(test)]
mod tests {
    use super::super::ENDED;
    use super::*;

    #[test]
    fn each_gang_is_judged_before_the_next_one_waits() {
        let [(_, first, _), (_, second, _), ..] = ROWS;
        let of = |set: &str| json!({"set": set});
        let mut story = Story::on(Target::KOORDINATOR);
        for (set, bound) in [(first, 2), (second, 1)] {
            story = story.submitted(one_clique(set, 2)).workers(set, 2, 0).mark(ENDED, of(set));
            story = story.workers(set, 0, bound).mark(WAITED, of(set)).later(1);
        }
        let history = story.end();
        assert_eq!(ruling(&history, first), Ok(()));
        assert!(matches!(ruling(&history, second), Err(Broken::Violated(_))));
        assert!(matches!(ruling(&history, VOLUMELESS), Err(Broken::NotReached(_))));
    }
}
