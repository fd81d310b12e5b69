//! 2 nodes x 8 GPUs; a gang of a leader and 2 workers, each x 8 GPUs: one pod short until a node joins.

use super::by_hand;
use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Deleted gang resources of a pending gang are restored, and it is bound later")
        .clauses(&[GANG_12, GANG_26])
        .nodes(&[nodes(2).gpus(8), nodes(1).gpus(8).joining(1)])
        .with(&[Property::ResizableResources, Property::OwnScheduler]);

const SET: &str = "restored";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gangs = test.submit(SET).await?;
    test.scheduler_passes_over(&gangs[0]).await?;
    by_hand::delete_all(test, &test.base_gang(SET)?).await?;
    test.add_nodes(1).await?;
    test.until_bound(3).await
}

fn check(history: &History) -> Vec<Finding> {
    by_hand::restored_and_bound(history, SET, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: &str = "PodGroup.scheduling.volcano.sh";

    fn ruling(resources: &[Value], bound: usize) -> Ruling {
        let sent = Story::on(Target::VOLCANO).submitted(one_clique(SET, 3)).added(one_clique_gang(SET, 3));
        let with_resources = sent.all_added(resources.iter().cloned());
        let passed = with_resources.workers(SET, 3, bound).mark(SharedMark::SchedulerPassed, Value::Null);
        let deleted = passed.mark(SharedMark::Deleted, json!({"kind": KIND, "name": "restored-0"}));
        let story = if resources.is_empty() { deleted } else { deleted.deleted(object(KIND, "restored-0")) };
        check(&story.end()).remove(0).ruling
    }

    #[test]
    fn a_gang_resource_that_is_not_restored_is_a_violation() {
        let ruling = ruling(&[object(KIND, "restored-0")], 0);
        assert!(matches!(ruling, Err(Broken::Violated(_))), "{ruling:?}");
    }

    #[test]
    fn a_restored_gang_that_stays_pending_breaks_one_clause_only() {
        let sent = Story::on(Target::VOLCANO).submitted(one_clique(SET, 3)).added(one_clique_gang(SET, 3));
        let with_resources = sent.added(object(KIND, "restored-0")).workers(SET, 3, 0);
        let passed = with_resources.mark(SharedMark::SchedulerPassed, Value::Null);
        let deleted = passed.mark(SharedMark::Deleted, json!({"kind": KIND, "name": "restored-0"}));
        let mut recreated = object(KIND, "restored-0");
        recreated["metadata"]["uid"] = json!("again");
        let found = check(&deleted.deleted(object(KIND, "restored-0")).added(recreated).end());
        assert_eq!(found[0].ruling, Ok(()), "GANG-12");
        assert!(matches!(found[1].ruling, Err(Broken::Violated(_))), "GANG-26");
    }

    #[test]
    fn missing_resources_and_early_bindings_break_the_precondition() {
        let missing = ruling(&[], 0);
        assert!(matches!(missing, Err(Broken::Precondition { clause: "GANG-08", .. })), "{missing:?}");
        let bound = ruling(&[object(KIND, "restored-0")], 2);
        assert!(matches!(bound, Err(Broken::Precondition { clause: "AON-02", .. })), "{bound:?}");
    }
}
