//! 2 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs: one pod short until a node joins.

use super::by_hand;
use crate::prelude::*;

pub(crate) const CASE: Case = case!("The deleted Workload and PodGroup of a pending gang are restored")
    .clauses(&[GANG_12, GANG_26])
    .nodes(&[nodes(2).gpus(8), nodes(1).gpus(8).joining(1)])
    .on(Scheduler::KUBE);

const SET: &str = "healed";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gangs = test.submit(SET).await?;
    test.scheduler_passes_over(&gangs[0]).await?;
    let gang = test.base_gang(SET)?;
    let group = by_hand::pod_group(test, &gang);

    by_hand::delete_until_restored(test, "Workload", &gang.name).await?;
    let deleted_uid = by_hand::uid(test, "PodGroup", &group);
    test.delete("PodGroup", &group).await?;
    by_hand::release(test, &group).await?;
    by_hand::until_restored(test, "PodGroup", &group, deleted_uid).await?;

    test.add_nodes(1).await?;
    test.until_bound(3).await
}

fn check(history: &History) -> Vec<Finding> {
    by_hand::restored_and_bound(history, SET, 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD_GANG: &str = "healed-0";

    fn ruling(resources: &[(&str, &str)], bound: usize) -> Ruling {
        let sent = Story::flat().submitted(one_clique(SET, 3)).added(one_clique_gang(SET, 3));
        let with_resources = sent.all_added(resources.iter().map(|(kind, name)| object(kind, name)));
        let passed = with_resources.workers(SET, 3, bound).mark(SharedMark::SchedulerPassed, json!(null));
        let deleted = passed.mark(SharedMark::Deleted, json!({"kind": "Workload", "name": POD_GANG}));
        check(&deleted.deleted(object("Workload", POD_GANG)).end()).remove(0).ruling
    }

    const RESOURCES: &[(&str, &str)] = &[("Workload", POD_GANG), ("PodGroup", "healed-0-healed-0-worker")];

    #[test]
    fn a_gang_resource_that_is_not_restored_is_a_violation() {
        assert!(matches!(ruling(RESOURCES, 0), Err(Broken::Violated(_))));
    }

    #[test]
    fn missing_gang_resources_break_the_precondition() {
        for bound in [0, 2] {
            let ruling = ruling(&[], bound);
            assert!(matches!(ruling, Err(Broken::Precondition { clause: "GANG-08", .. })), "{ruling:?}");
        }
    }

    #[test]
    fn a_partly_bound_gang_breaks_the_precondition() {
        let ruling = ruling(RESOURCES, 2);
        assert!(matches!(ruling, Err(Broken::Precondition { clause: "AON-02", .. })), "{ruling:?}");
    }
}
