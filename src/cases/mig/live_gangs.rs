//! 4 nodes x 8 GPUs. The old operator creates four PodCliqueSets. One runs, one was scaled out (a clique 1 ->
//! 2, a scaling group 1 -> 3), one was scaled to zero. A gang of 5 pods x 8 GPUs is one pod short.
//!
//! Then the new operator replaces the old one, and the fifth node joins. In an upgrade of Kubernetes, the
//! next version takes over the etcd instead. The harness first deletes gang resources that it cannot read.

use conformance_check::migration;

use crate::prelude::*;

pub(crate) const CASE: Case = case!("An upgrade keeps bound pods and binds no part of a pending gang")
    .clauses(&[MIG_01, MIG_02, MIG_03, MIG_06, MIG_07, MIG_08])
    .nodes(&[nodes(4).gpus(8), nodes(1).gpus(8).joining(1)])
    .needs(&[Need::Upgrade])
    .isolation(Isolation::Upgrade);

const RUNNING: [&str; 3] = ["steady", "grown", "idle"];
const PENDING: &str = "short";
const SCALED: [(&str, &str, &str, u32); 3] = [
    ("grown", "PodClique", "grown-0-router", 2),
    ("grown", "PodCliqueScalingGroup", "grown-0-model", 3),
    ("idle", "PodCliqueSet", "idle", 0),
];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for set in RUNNING {
        test.submit(set).await?;
        test.until_composed(set).await?;
    }
    for (set, kind, name, replicas) in SCALED {
        test.scale(kind, name, replicas).await?;
        test.until_composed(set).await?;
    }
    test.submit(PENDING).await?;
    test.scheduler_passes_over_set(PENDING).await?;
    test.begin_upgrade().await?;
    test.end_upgrade().await?;
    test.scheduler_passes_over_set(PENDING).await?;
    test.add_nodes(1).await?;
    test.try_until_bound(PENDING).await
}

fn check(history: &History) -> Vec<Finding> {
    let since_upgrade =
        || history.reached(SharedMark::UpgradeStarted).map(|(start, _)| start..history.entries.len());
    vec![
        finding(MIG_01, || {
            migration::untouched(history, since_upgrade()?)?;
            history.reached(SharedMark::UpgradeEnded).map(drop)
        }),
        finding(MIG_06, || {
            of_upgrade(history, "operator")?;
            let (ended, _) = history.reached(SharedMark::UpgradeEnded)?;
            migration::one_scheme(history, &history.before(ended))
        }),
        finding(MIG_08, || {
            of_upgrade(history, "kubernetes")?;
            let (ended, _) = history.reached(SharedMark::UpgradeEnded)?;
            let end = history.before(ended);
            migration::one_scheme(history, &end)?;
            all(RUNNING.map(|set| {
                migration::composed(&end, set, &scaling::gangs(history, history.submitted(set)?, ended))
            }))
        }),
        finding(MIG_02, || migration::joins_what_exists(history, since_upgrade()?)),
        finding(MIG_03, || {
            migration::pending_throughout(history, since_upgrade()?.start, &history.units(PENDING)?)
        }),
        finding(MIG_07, || {
            migration::bound_after_upgrade(history, since_upgrade()?.start, &history.units(PENDING)?)
        }),
    ]
}

fn of_upgrade(history: &History, wanted: &str) -> Ruling {
    let (_, started) = history.reached(SharedMark::UpgradeStarted)?;
    let replaced = started.detail["of"].as_str().unwrap_or("operator");
    if replaced != wanted {
        return Err(Broken::NotAsked(format!("the upgrade replaced {replaced}, not {wanted}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::gated;

    use super::*;

    fn gang(set: &str, pods: usize) -> Value {
        let references: Vec<_> =
            (0..pods).map(|index| json!({"name": format!("{set}-0-worker-{index}")})).collect();
        let mut gang = owned(object("PodGang", &format!("{set}-0")), "PodCliqueSet", set);
        gang["spec"] = json!({"podgroups": [
            {"name": format!("{set}-0-worker"), "minReplicas": pods, "podReferences": references}
        ]});
        gang
    }

    fn pod_group(set: &str) -> Value {
        owned(object("PodGroup", &format!("{set}-0-g")), "PodGang", &format!("{set}-0"))
    }

    fn pod(set: &str, index: usize, node: Option<&str>) -> Value {
        let mut pod = worker(set, index, node);
        pod["spec"]["schedulingGroup"] = json!({"podGroupName": format!("{set}-0-g")});
        if node.is_some() {
            pod["status"] = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
        }
        pod
    }

    fn set_of(set: &str, pods: usize, node: Option<&str>) -> Vec<Value> {
        let clique = owned(object("PodClique", &format!("{set}-0-worker")), "PodCliqueSet", set);
        let objects = [one_clique(set, pods), clique, gang(set, pods), pod_group(set)];
        objects.into_iter().chain((0..pods).map(|index| pod(set, index, node))).collect()
    }

    /// Several PodCliqueSets run and one waits. The PodGroups of all of them are deleted for the upgrade.
    fn upgrade_of(replaced: &str) -> Story {
        let story = Story::flat().submitted(one_clique(PENDING, 2)).all_added(set_of(PENDING, 2, None));
        let story = RUNNING.into_iter().fold(story, |story, set| {
            story.submitted(one_clique(set, 1)).all_added(set_of(set, 1, Some("n")))
        });
        let story = story.mark(SharedMark::SchedulerPassed, Value::Null);
        let story = story.mark(SharedMark::UpgradeStarted, json!({"of": replaced}));
        sets().fold(story, |story, set| story.deleted(pod_group(set)))
    }

    fn sets() -> impl Iterator<Item = &'static str> {
        RUNNING.into_iter().chain([PENDING])
    }

    fn recreated(story: Story) -> Story {
        sets().fold(story, |story, set| story.added(pod_group(set)))
    }

    fn ended(story: Story) -> Story {
        let story = story.mark(SharedMark::UpgradeEnded, Value::Null);
        let story = story.mark(SharedMark::SchedulerPassed, Value::Null);
        (0..2).fold(story, |story, index| story.modified(pod(PENDING, index, Some("n"))))
    }

    #[rstest]
    #[case::gang_resources_not_recreated(
        "MIG-08",
        ended,
        "Pod steady-0-worker-0 is a member of PodGroup steady-0-g, which does not exist"
    )]
    #[case::pod_not_replaced(
        "MIG-08",
        |story| ended(recreated(story).deleted(pod(RUNNING[0], 0, Some("n")))),
        "PodClique steady-0-worker has 0 pods, 0 of them bound and Ready, want 1"
    )]
    #[case::pod_deleted(
        "MIG-01",
        |story| ended(recreated(story).deleted(pod(RUNNING[0], 0, Some("n")))),
        "Pod steady-0-worker-0 was bound before the upgrade, but it was deleted"
    )]
    #[case::released_without_pod_group(
        "MIG-02",
        |story: Story| {
            let released = story.added(gated(pod(PENDING, 2, None))).modified(pod(PENDING, 2, None));
            ended(recreated(released))
        },
        "lost its gate for PodGroup short-0-g, which did not exist yet"
    )]
    #[case::bound_in_part(
        "MIG-03",
        |story: Story| ended(recreated(story.modified(pod(PENDING, 0, Some("n"))))),
        "bound, want 0 because the pods did not all fit"
    )]
    #[case::never_bound(
        "MIG-07",
        |story| {
            let story = recreated(story).mark(SharedMark::UpgradeEnded, Value::Null);
            story.mark(SharedMark::SchedulerPassed, Value::Null)
        },
        "short-0"
    )]
    #[case::never_ended("MIG-08", recreated, "upgrade ended")]
    fn each_fault_breaks_its_clause(
        #[case] clause: &str,
        #[case] afterwards: fn(Story) -> Story,
        #[case] expected: &str,
    ) {
        let mut findings = check(&afterwards(upgrade_of("kubernetes")).end()).into_iter();
        match findings.find(|finding| finding.clause == clause).unwrap().ruling {
            Err(Broken::Violated(found)) => {
                assert!(found.iter().any(|violation| violation.message.contains(expected)), "{found:?}");
            }
            Err(Broken::NotReached(reason)) => assert!(reason.contains(expected), "{reason}"),
            other => panic!("{other:?}"),
        }
    }

    #[rstest]
    #[case::of_kubernetes("kubernetes", "MIG-06")]
    #[case::of_the_operator("operator", "MIG-08")]
    fn a_complete_upgrade_satisfies_the_clauses_about_it(#[case] replaced: &str, #[case] other: &str) {
        for finding in check(&ended(recreated(upgrade_of(replaced))).end()) {
            match finding.ruling {
                Err(Broken::NotAsked(_)) => assert_eq!(finding.clause, other),
                ruling => assert_eq!((finding.clause == other, ruling), (false, Ok(()))),
            }
        }
    }
}
