//! 2 nodes. The old operator creates three PodCliqueSets: one that runs, one that is scaled to zero, and one
//! whose scaling group is scaled to zero, if the old operator admits that.

use conformance_check::migration;
use conformance_driver::context::Answer;
use conformance_facts::migration::differences;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("After an operator upgrade, existing PodCliqueSets scale, recover and are deleted")
        .clauses(&[MIG_04])
        .nodes(&[nodes(2)])
        .needs(&[Need::Upgrade])
        .isolation(Isolation::Upgrade);

const SETS: [&str; 3] = ["steady", "idle", "asleep"];
const GROUP_AT_ZERO: (&str, &str, &str) = ("asleep", "PodCliqueScalingGroup", "asleep-0-model");
const SET_AT_ZERO: (&str, &str, &str) = ("idle", "PodCliqueSet", "idle");
const STEPS: [((&str, &str, &str), u32); 7] = [
    (SET_AT_ZERO, 1),
    (("steady", "PodClique", "steady-0-router"), 3),
    (("steady", "PodClique", "steady-0-router"), 2),
    (("steady", "PodCliqueScalingGroup", "steady-0-model"), 3),
    (("steady", "PodCliqueScalingGroup", "steady-0-model"), 1),
    (("steady", "PodCliqueSet", "steady"), 2),
    (("steady", "PodCliqueSet", "steady"), 1),
];

marks! {
    FOLLOWED = "followed";
    REPLACED = "replaced";
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.take_baseline().await?;
    for set in SETS {
        test.submit(set).await?;
        test.until_composed(set).await?;
    }
    let (idle, kind, name) = SET_AT_ZERO;
    test.scale(kind, name, 0).await?;
    test.until_composed(idle).await?;
    let is_at_zero = scale_group_to_zero(test).await?;
    test.begin_upgrade().await?;
    test.end_upgrade().await?;
    let scale_out = is_at_zero.then_some((GROUP_AT_ZERO, 1));
    for ((set, kind, name), replicas) in scale_out.into_iter().chain(STEPS) {
        test.scale(kind, name, replicas).await?;
        test.until_composed(set).await?;
        test.mark(FOLLOWED, Value::Null);
    }
    let of_steady = |name: &str| name.starts_with("steady-");
    let lost = test.look(|live| {
        let mut pods = live.pods().map(|pod| pod.name().to_owned());
        pods.find(|name| of_steady(name))
    });
    let lost = lost.unwrap_or_default();
    test.force_delete_pod(&lost).await?;
    test.until_composed("steady").await?;
    test.mark(REPLACED, Value::Null);
    for set in SETS {
        test.delete("PodCliqueSet", set).await?;
    }
    test.until_nothing_left().await
}

/// Returns whether the old operator can scale the group to 0. If it cannot, the replicas are restored.
async fn scale_group_to_zero(test: &TestContext) -> Result<bool, Stop> {
    let (set, kind, name) = GROUP_AT_ZERO;
    let zero = json!({"spec": {"replicas": 0}});
    if let Answer::Refused { .. } = test.attempt(http::Method::PATCH, kind, name, &zero).await? {
        return Ok(false);
    }
    test.mark(SharedMark::Scaled, json!({"kind": kind, "name": name, "replicas": 0}));
    let gangs = test.wanted_gangs(set);
    let is_scaled = |live: &Live| differences(live, set, &gangs).is_empty();
    match test.until(&format!("{name} without replicas"), limits::REACTION, is_scaled).await {
        Ok(()) => Ok(true),
        Err(Stop::Timeout { .. }) => {
            test.scale(kind, name, 1).await?;
            test.until_composed(set).await.map(|()| false)
        }
        Err(stop) => Err(stop),
    }
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(MIG_04, || {
        let (ended, _) = history.reached(SharedMark::UpgradeEnded)?;
        let scaled = history.marks(SharedMark::Scaled).filter(|(index, _)| *index > ended);
        for (number, (scaled, mark)) in scaled.enumerate() {
            let followed = history.marks(FOLLOWED).nth(number).map(|(index, _)| index);
            let name = mark.detail["name"].as_str().unwrap_or_default();
            check_step(history, name, scaled, followed.unwrap_or(history.entries.len()))?;
            if followed.is_none() {
                return Err(Broken::NotReached(format!("{name} did not reach the wanted state")));
            }
        }
        let (since, mark) = history.reached(SharedMark::PodLost)?;
        let lost = mark.detail["name"].as_str().unwrap_or_default();
        history.at(REPLACED, |place| binding::replaced_in_gang(&history.upto(place), since, lost))?;
        cleanup::nothing_left(history)
    })]
}

fn check_step(history: &History, name: &str, scaled: usize, until: usize) -> Ruling {
    let of_name =
        |set: &&str| name == *set || name.strip_prefix(*set).is_some_and(|rest| rest.starts_with('-'));
    let set = SETS.into_iter().find(of_name).unwrap_or_default();
    let pcs = history.submitted(set)?;
    let (before, after) = (scaling::gangs(history, pcs, scaled), scaling::gangs(history, pcs, scaled + 1));
    migration::bystanders_kept(history, scaled..until, &before, &after)?;
    migration::composed(&history.before(until), set, &after)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIQUE: &str = "steady-0-worker";

    fn gang(pods: &[&str]) -> Value {
        let references: Vec<_> = pods.iter().map(|pod| json!({"name": pod})).collect();
        let mut gang = owned(object("PodGang", "steady-0-7"), "PodCliqueSet", "steady");
        gang["spec"] =
            json!({"podgroups": [{"name": CLIQUE, "minReplicas": 1, "podReferences": references}]});
        gang
    }

    fn pod(name: &str) -> Value {
        let labels = json!({names::PART_OF: "steady", names::POD_CLIQUE: CLIQUE, names::POD_GANG: "steady-0-7",
            names::POD_INDEX: "0"});
        json!({"kind": "Pod", "metadata": {"name": name, "namespace": "ns", "labels": labels},
            "spec": {"nodeName": "n", "schedulingGroup": {"podGroupName": "g"}},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    }

    fn scaled() -> Story {
        let story = Story::flat().submitted(one_clique("steady", 1)).added(gang(&["a"])).added(pod("a"));
        let scaled = json!({"kind": "PodClique", "name": CLIQUE, "replicas": 2});
        story.mark(SharedMark::UpgradeEnded, Value::Null).mark(SharedMark::Scaled, scaled)
    }

    fn scaled_out(story: Story) -> Story {
        story.modified(gang(&["a", "b"])).added(pod("b")).mark(FOLLOWED, Value::Null)
    }

    fn lost(story: Story) -> Story {
        story.mark(SharedMark::PodLost, json!({"name": "a"})).deleted(pod("a"))
    }

    fn replaced(story: Story) -> Story {
        story.modified(gang(&["b", "c"])).added(pod("c")).mark(REPLACED, Value::Null)
    }

    fn deleted(story: Story, left: Value) -> Story {
        ["b", "c"]
            .into_iter()
            .fold(story, |story, name| story.deleted(pod(name)))
            .mark(SharedMark::LeftOver, left)
    }

    #[rstest]
    #[case::no_fault(deleted(replaced(lost(scaled_out(scaled()))), json!([])), "")]
    #[case::not_grown(
        scaled().mark(SharedMark::WaitTimedOut, json!({})),
        "PodClique steady-0-worker has 1 pod, 1 of them bound and Ready, want 2"
    )]
    #[case::grown_by_restarting(
        scaled().deleted(pod("a")).modified(gang(&["b", "c"])).added(pod("b")).added(pod("c")).mark(FOLLOWED, Value::Null),
        "0 of 1 bound pods of PodClique steady-0-worker were kept, want 1"
    )]
    #[case::not_replaced(
        lost(scaled_out(scaled())).mark(SharedMark::WaitTimedOut, json!({})),
        "Pod a was not replaced in its gang"
    )]
    #[case::something_left(
        deleted(replaced(lost(scaled_out(scaled()))), json!([{"kind": "PodGangMap", "metadata": {"name": "steady-0"}}])),
        "PodGangMap steady-0 still exists"
    )]
    fn each_fault_after_an_upgrade_is_a_violation(#[case] story: Story, #[case] expected: &str) {
        match check(&story.end()).remove(0).ruling {
            Ok(()) => assert!(expected.is_empty(), "nothing was found wrong"),
            Err(Broken::Violated(found)) => {
                assert!(!expected.is_empty() && found[0].message.contains(expected), "{found:?}")
            }
            Err(other) => panic!("{other:?}"),
        }
    }
}
