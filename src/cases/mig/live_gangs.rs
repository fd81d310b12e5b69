//! 4 nodes x 8 GPUs. The old operator makes a set that runs, one that was scaled out (a clique 1 -> 2, a scaling group
//! 1 -> 3), one that was scaled to zero, and a gang of 5 pods x 8 GPUs that is one pod short. The new one takes over; the
//! fifth node joins.

use conformance_contract::ruling::{Broken, Finding, Ruling};
use conformance_driver::case::{Case, Isolation, Need, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_expect::Expected;
use conformance_history::{History, SharedMark};
use conformance_judge::{binding, finding, migration};

/// MIG-01, MIG-02, MIG-03.
pub(crate) const CASE: Case = Case::new(
    "An upgrade of the operator touches no bound pod, moves gangs only into what exists, and binds no part of a pending one",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["MIG-01", "MIG-02", "MIG-03"])
.nodes(&[nodes(4).gpus(8), nodes(1).gpus(8).joining(1)])
.needs(&[Need::Upgrade])
.isolation(Isolation::Upgrade);

const PENDING: &str = "short";
/// Scaled by the old operator: the set, and what of it.
const SCALED: [(&str, &str, &str, u32); 3] = [
    ("grown", "PodClique", "grown-0-router", 2),
    ("grown", "PodCliqueScalingGroup", "grown-0-model", 3),
    ("idle", "PodCliqueSet", "idle", 0),
];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for set in ["steady", "grown", "idle"] {
        test.submit(set).await?;
        test.until_composed(set).await?;
    }
    for (set, kind, name, replicas) in SCALED {
        test.scale(kind, name, replicas).await?;
        test.until_composed(set).await?;
    }
    test.submit(PENDING).await?;
    test.set_is_passed_over(PENDING).await?;
    test.begin_upgrade().await?;
    test.end_upgrade().await?;
    test.set_is_passed_over(PENDING).await?;
    test.nodes_join(1).await?;
    test.bound_whole_at_last(PENDING).await
}

fn judge(history: &History) -> Vec<Finding> {
    let began = || history.reached(SharedMark::UpgradeBegan).map(|(began, _)| began..history.entries.len());
    vec![
        finding("MIG-01", || {
            migration::untouched(history, began()?)?;
            history.reached(SharedMark::UpgradeEnded).map(drop)
        }),
        finding("MIG-02", || {
            migration::joins_what_exists(history, began()?)?;
            let (ended, _) = history.reached(SharedMark::UpgradeEnded)?;
            migration::one_scheme(history, &history.before(ended))
        }),
        finding("MIG-03", || pending_throughout(history, began()?.start)),
    ]
}

/// Nothing of the pending gang is bound until the scheduler has passed over it after the upgrade; then there is room.
fn pending_throughout(history: &History, began: usize) -> Ruling {
    let units = history.units(PENDING)?;
    binding::was_pending(history, &units, began)?;
    let ended = history.reached(SharedMark::UpgradeEnded).map(|(ended, _)| ended);
    let mut passes = history.marks(SharedMark::SchedulerPassed).map(|(passed, _)| passed);
    let passed = passes.find(|passed| ended.as_ref().is_ok_and(|ended| passed > ended));
    binding::never(history, &units, passed)?;
    ended?;
    match passed {
        Some(_) => binding::whole(&history.end(), &units),
        None => Err(Broken::NotReached("the scheduler had not had its pass after the upgrade".into())),
    }
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::{Story, one_clique};
    use rstest::rstest;
    use serde_json::Value;

    use super::*;

    fn pending() -> Story {
        let story = Story::flat().submitted(one_clique(PENDING, 2)).workers(PENDING, 2, 0);
        story.mark(SharedMark::SchedulerPassed, Value::Null).mark(SharedMark::UpgradeBegan, Value::Null)
    }

    fn upgraded(story: Story) -> Story {
        story.mark(SharedMark::UpgradeEnded, Value::Null).mark(SharedMark::SchedulerPassed, Value::Null)
    }

    fn holds(story: Story) -> Option<bool> {
        let history = story.end();
        let (began, _) = history.reached(SharedMark::UpgradeBegan).unwrap();
        match pending_throughout(&history, began) {
            Ok(()) => Some(true),
            Err(Broken::Violated(_)) => Some(false),
            Err(_) => None,
        }
    }

    #[rstest]
    #[case::bound_whole_when_there_is_room(upgraded(pending()).workers(PENDING, 2, 2), Some(true))]
    #[case::never_bound(upgraded(pending()), Some(false))]
    #[case::bound_in_part_meanwhile(upgraded(pending().workers(PENDING, 2, 1)).workers(PENDING, 2, 2), Some(false))]
    #[case::bound_in_part_by_an_upgrade_that_never_ended(pending().workers(PENDING, 2, 1), Some(false))]
    #[case::not_ended(pending(), None)]
    #[case::bound_before_by_the_old_one(
        upgraded(Story::flat().submitted(one_clique(PENDING, 2)).workers(PENDING, 2, 1)
            .mark(SharedMark::SchedulerPassed, Value::Null).mark(SharedMark::UpgradeBegan, Value::Null)),
        None
    )]
    fn a_gang_that_is_pending_throughout(#[case] story: Story, #[case] wanted: Option<bool>) {
        assert_eq!(holds(story), wanted);
    }
}
