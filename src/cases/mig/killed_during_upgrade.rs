//! 4 nodes x 8 GPUs. The old operator creates a PodCliqueSet that runs, and a gang of 5 pods x 8 GPUs that is
//! one pod short until a node joins. The new operator is killed after 0, 1 and 3 writes of the upgrade.

use conformance_check::migration;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("An operator killed during an upgrade reaches the same end state after restart")
        .clauses(&[MIG_05, MIG_01, MIG_02, MIG_03, MIG_07])
        .nodes(&[nodes(4).gpus(8), nodes(1).gpus(8).joining(1)])
        .needs(&[Need::Upgrade])
        .isolation(Isolation::Upgrade);

const RUNNING: &str = "steady";
const PENDING: &str = "short";
const STOPS: [usize; 3] = [0, 1, 3];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(RUNNING).await?;
    test.until_composed(RUNNING).await?;
    test.submit(PENDING).await?;
    test.scheduler_passes_over_set(PENDING).await?;
    test.begin_upgrade().await?;
    for writes in STOPS {
        test.kill_operator_after_writes(writes).await?;
    }
    test.end_upgrade().await?;
    test.scheduler_passes_over_set(PENDING).await?;
    test.add_nodes(1).await?;
    test.try_until_bound(PENDING).await
}

fn check(history: &History) -> Vec<Finding> {
    let since_upgrade =
        || history.reached(SharedMark::UpgradeStarted).map(|(start, _)| start..history.entries.len());
    vec![
        finding(MIG_05, || {
            let stops = history.marks(SharedMark::UpgradeStopped).count();
            if stops < STOPS.len() {
                return Err(Broken::NotReached(format!(
                    "the new operator was stopped {stops} times, which is too few"
                )));
            }
            let end = history.before(history.reached(SharedMark::UpgradeEnded)?.0);
            migration::one_scheme(history, &end)?;
            migration::migrated(&end)?;
            migration::composed(&end, RUNNING, &history.gangs(RUNNING)?)
        }),
        finding(MIG_01, || migration::untouched(history, since_upgrade()?)),
        finding(MIG_02, || migration::joins_what_exists(history, since_upgrade()?)),
        finding(MIG_03, || {
            migration::pending_throughout(history, since_upgrade()?.start, &history.units(PENDING)?)
        }),
        finding(MIG_07, || {
            migration::bound_after_upgrade(history, since_upgrade()?.start, &history.units(PENDING)?)
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIQUE: &str = "steady-0-worker";

    fn gang(name: &str) -> Value {
        let mut gang = owned(object("PodGang", name), "PodCliqueSet", RUNNING);
        let references = json!([{"name": "p"}]);
        gang["spec"] =
            json!({"podgroups": [{"name": CLIQUE, "minReplicas": 1, "podReferences": references}]});
        gang
    }

    fn pod(gang: &str) -> Value {
        let labels = json!({names::PART_OF: RUNNING, names::POD_CLIQUE: CLIQUE, names::POD_GANG: gang});
        json!({"kind": "Pod", "metadata": {"name": "p", "labels": labels}, "spec": {"nodeName": "n"},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    }

    fn set(migrating: &str) -> Value {
        let mut set = one_clique(RUNNING, 1);
        set["status"] = json!({"conditions": [{"type": "PodGangMigrationInProgress", "status": migrating}]});
        set
    }

    fn story(stops: usize, afterwards: fn(Story) -> Story) -> Story {
        let pending = pending_objects(PENDING);
        let existing = [
            set("False"),
            owned(object("PodClique", CLIQUE), "PodCliqueSet", RUNNING),
            gang("steady-0"),
            pod("steady-0"),
        ];
        let story = Story::flat().submitted(one_clique(RUNNING, 1)).submitted(one_clique(PENDING, 2));
        let story = story.all_added(existing).all_added(pending).workers(PENDING, 2, 0);
        let story = story.mark(SharedMark::SchedulerPassed, Value::Null);
        let story = story.mark(SharedMark::UpgradeStarted, Value::Null).modified(set("True"));
        let story = (0..stops)
            .fold(story, |story, writes| story.mark(SharedMark::UpgradeStopped, json!({"writes": writes})));
        afterwards(story)
    }

    fn pending_objects(set: &str) -> Vec<Value> {
        let clique = format!("{set}-0-worker");
        let references: Vec<_> = (0..2).map(|index| json!({"name": format!("{clique}-{index}")})).collect();
        let mut gang = owned(object("PodGang", &format!("{set}-0")), "PodCliqueSet", set);
        gang["spec"] =
            json!({"podgroups": [{"name": clique, "minReplicas": 2, "podReferences": references}]});
        vec![one_clique(set, 2), owned(object("PodClique", &clique), "PodCliqueSet", set), gang]
    }

    fn migrates(story: Story) -> Story {
        story.added(gang("steady-0-7")).modified(pod("steady-0-7")).deleted(gang("steady-0"))
    }

    fn ended(story: Story) -> Story {
        let story = story.mark(SharedMark::UpgradeEnded, Value::Null);
        story.mark(SharedMark::SchedulerPassed, Value::Null).workers(PENDING, 2, 2)
    }

    #[rstest]
    #[case::condition_stays("MIG-05", 3, |story| ended(migrates(story)), "condition \"PodGangMigrationInProgress\" is still True")]
    #[case::both_schemes(
        "MIG-05",
        3,
        |story: Story| ended(story.added(gang("steady-0-7")).modified(set("False"))),
        "is in two PodGangs: steady-0 and steady-0-7"
    )]
    #[case::another_set(
        "MIG-05",
        3,
        |story: Story| ended(migrates(story).deleted(pod("steady-0-7")).modified(set("False"))),
        "PodClique steady-0-worker has 0 pods, 0 of them bound and Ready, want 1"
    )]
    #[case::stopped_too_rarely(
        "MIG-05",
        2,
        |story| ended(migrates(story).modified(set("False"))),
        "was stopped 2 times"
    )]
    #[case::never_ended("MIG-05", 3, |story| migrates(story).modified(set("False")), "upgrade ended")]
    #[case::a_bound_pod_deleted(
        "MIG-01",
        3,
        |story: Story| ended(migrates(story.deleted(pod("steady-0")).added(pod("steady-0")))),
        "Pod p was bound before the upgrade, but it was deleted"
    )]
    #[case::pod_moved_too_early(
        "MIG-02",
        3,
        |story: Story| ended(story.modified(pod("steady-0-7")).added(gang("steady-0-7"))),
        "which did not exist yet"
    )]
    #[case::a_part_of_the_pending_one_bound(
        "MIG-03",
        3,
        |story: Story| ended(migrates(story.workers(PENDING, 2, 1))),
        "bound, want 0 because the pods did not all fit"
    )]
    fn each_fault_breaks_its_clause(
        #[case] clause: &str,
        #[case] stops: usize,
        #[case] afterwards: fn(Story) -> Story,
        #[case] expected: &str,
    ) {
        let mut findings = check(&story(stops, afterwards).end()).into_iter();
        match findings.find(|finding| finding.clause == clause).unwrap().ruling {
            Err(Broken::Violated(found)) => assert!(found[0].message.contains(expected), "{found:?}"),
            Err(Broken::NotReached(reason)) => assert!(reason.contains(expected), "{reason}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_upgrade_that_completes_after_stops_passes() {
        let findings = check(&story(3, |story| ended(migrates(story).modified(set("False")))).end());
        for finding in findings {
            assert_eq!(finding.ruling, Ok(()), "{}", finding.clause);
        }
    }
}
