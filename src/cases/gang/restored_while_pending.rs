//! 2 nodes x 8 GPUs; a gang of a leader and 2 workers, each x 8 GPUs: one pod short. Its gang resources are
//! deleted while it is pending; then a third node joins.

use super::by_hand;
use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Deleted gang resources of a pending gang are restored, and it is bound later")
        .clauses(&[GANG_12, GANG_26])
        .nodes(&[nodes(2).gpus(8), nodes(1).gpus(8).joining(1)])
        // Without the programs of KAI, pods are bound one by one and no gang is pending.
        .only(&[Target::VOLCANO, Target::KOORDINATOR]);

const SET: &str = "restored";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gangs = test.submit(SET).await?;
    test.scheduler_passes_over(&gangs[0]).await?;
    by_hand::delete_all(test, &test.base_gang(SET)?).await?;
    test.nodes_join(1).await?;
    test.until_bound(3).await
}

fn restored(history: &History) -> Ruling {
    let units = history.units(SET)?;
    history.waited_for(SharedMark::SchedulerPassed)?;
    gang_resources::were_made(history, &history.gangs(SET)?)?;
    let deleted: Vec<_> = history.marks(SharedMark::Deleted).collect();
    let Some((first, _)) = deleted.first() else {
        return Err(Broken::NotReached("no gang resource was deleted".into()));
    };
    binding::was_pending(history, &units, *first)?;
    for (index, mark) in deleted {
        let text = |key: &str| mark.detail[key].as_str().unwrap_or_default();
        gang_resources::restored(history, index, text("kind"), text("name"))?;
    }
    Ok(())
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding(GANG_12, || restored(history)),
        finding(GANG_26, || {
            premise(GANG_12, restored(history))?;
            binding::whole(&history.end(), &history.units(SET)?)
        }),
    ]
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, its_gang, object, one_clique};
    use serde_json::{Value, json};

    use super::*;

    const KIND: &str = "PodGroup.scheduling.volcano.sh";

    /// The ruling on a gang of one clique with this many bound pods when its gang resources are deleted and
    /// not restored.
    fn ruling(resources: &[Value], bound: usize) -> Ruling {
        let sent = Story::on(Target::VOLCANO).submitted(one_clique(SET, 3)).added(its_gang(SET, 3));
        let made = sent.all_added(resources.iter().cloned());
        let passed = made.workers(SET, 3, bound).mark(SharedMark::SchedulerPassed, Value::Null);
        let deleted = passed.mark(SharedMark::Deleted, json!({"kind": KIND, "name": "restored-0"}));
        let lost = if resources.is_empty() { deleted } else { deleted.deleted(object(KIND, "restored-0")) };
        judge(&lost.end()).remove(0).ruling
    }

    #[test]
    fn what_is_not_restored_is_a_violation() {
        let ruling = ruling(&[object(KIND, "restored-0")], 0);
        assert!(matches!(ruling, Err(Broken::Violated(_))), "{ruling:?}");
    }

    #[test]
    fn a_gang_that_stays_pending_was_restored_all_the_same() {
        let sent = Story::on(Target::VOLCANO).submitted(one_clique(SET, 3)).added(its_gang(SET, 3));
        let made = sent.added(object(KIND, "restored-0")).workers(SET, 3, 0);
        let passed = made.mark(SharedMark::SchedulerPassed, Value::Null);
        let deleted = passed.mark(SharedMark::Deleted, json!({"kind": KIND, "name": "restored-0"}));
        let mut again = object(KIND, "restored-0");
        again["metadata"]["uid"] = json!("again");
        let found = judge(&deleted.deleted(object(KIND, "restored-0")).added(again).end());
        assert_eq!(found[0].ruling, Ok(()), "GANG-12");
        assert!(matches!(found[1].ruling, Err(Broken::Violated(_))), "GANG-26");
    }

    #[test]
    fn a_gang_without_gang_resources_or_that_is_bound_in_part_is_none_that_waits() {
        let unmade = ruling(&[], 0);
        assert!(matches!(unmade, Err(Broken::Premise { clause: "GANG-08", .. })), "{unmade:?}");
        let bound = ruling(&[object(KIND, "restored-0")], 2);
        assert!(matches!(bound, Err(Broken::Premise { clause: "AON-02", .. })), "{bound:?}");
    }
}
