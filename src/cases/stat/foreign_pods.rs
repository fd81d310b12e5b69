//! 1 node; a gang of 2 pods, and two foreign pods with the labels of its clique. One has no owner, an
//! autoscaler owns the other. Both have the label of canaries, so the suite's recounts exclude them.

use conformance_check::gangs;
use conformance_facts::health::is_ready;
use conformance_history::{Change, list};

use super::rests::{self, at_every_rest};
use crate::prelude::*;

const FOREIGN_POD_TOUCHED: Code = Code::new("foreign-pod-touched");

marks! {
    /// The foreign pods are Ready, or the operator has deleted them.
    PRESENT = "the foreign pods exist";
    REPLACED = "the lost pod is replaced";
    RESTED = "nothing is left to do";
}

const SET: &str = "imitated";
const CLIQUE: &str = "imitated-0-worker";
const PODS: usize = 2;
/// The owner of one foreign pod: an autoscaler whose target does not exist.
const HOLDER: &str = "imitator";
const AUTOSCALER: &str = "HorizontalPodAutoscaler";
const FOREIGN: [&str; 2] = ["foreign-without-owner", "foreign-with-owner"];
/// Prefixes of Grove's labels. Other labels may make a pod a member of a scheduler's gang.
const LABELS: [&str; 2] = ["grove.io/", "app.kubernetes.io/"];

pub(crate) const CASE: Case = case!("Foreign pods with the labels of a clique do not count as its pods")
    .clauses(&[STAT_01, STAT_19, AON_11, GANG_20])
    .nodes(&[nodes(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    let lost = test.pods_of(CLIQUE).into_iter().next().unwrap_or_default();
    let copied = test.look(|live| live.get("Pod", &lost).cloned()).unwrap_or_default();
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "of-somebody-else"});
    let holder = json!({
        "apiVersion": "autoscaling/v2", "kind": AUTOSCALER, "metadata": {"name": HOLDER},
        "spec": {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 2},
    });
    let holder = test.create(AUTOSCALER, &holder).await?;
    let owner = json!({
        "apiVersion": "autoscaling/v2", "kind": AUTOSCALER, "name": HOLDER, "uid": holder["metadata"]["uid"],
        "controller": true,
    });
    for (name, owners) in FOREIGN.into_iter().zip([json!([]), json!([owner])]) {
        test.create("Pod", &foreign_pod(name, &copied, &owners)).await?;
    }
    let present = Awaited::of_harness("the foreign pods Ready or deleted");
    let case: &TestContext = test;
    case.poll_until(present, limits::CONTAINERS, || async { Ok(are_present(&case.history()).then_some(())) })
        .await?;
    test.mark(PRESENT, Value::Null);
    test.force_delete_pod(&lost).await?;
    let uid = text(&copied["metadata"]["uid"]);
    let replaced = Awaited::demanded_by(AON_11, format!("Pod {lost} replaced"));
    test.until(replaced, SCHEDULING, |live| live.pods().all(|pod| pod.uid() != uid) && live.bound() == PODS)
        .await?;
    test.mark(REPLACED, Value::Null);
    test.until_converged(SET).await?;
    rests::rest(test, SET, STAT_01, "a pod is replaced next to foreign pods").await?;
    test.mark(RESTED, Value::Null);
    Ok(())
}

fn foreign_pod(name: &str, copied: &Value, owners: &Value) -> Value {
    let mut labels = copied["metadata"]["labels"].as_object().cloned().unwrap_or_default();
    labels.retain(|key, _| LABELS.iter().any(|prefix| key.starts_with(prefix)));
    labels.insert(names::CANARY.into(), "true".into());
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "labels": labels, "ownerReferences": owners},
        "spec": {
            "nodeName": copied["spec"]["nodeName"],
            "terminationGracePeriodSeconds": 0,
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "foreign", "image": "registry.k8s.io/pause:3.10"}],
        },
    })
}

fn are_present(history: &History) -> bool {
    FOREIGN.into_iter().all(|name| {
        let mut versions = history.named("Pod", name);
        versions.any(|version| version.change == Change::Deleted || is_ready(version.pod()))
    })
}

fn foreign_pods_stay(history: &History) -> Ruling {
    none(FOREIGN.into_iter().filter_map(|name| {
        let first = history.named("Pod", name).next()?;
        let identity = |object: &Value| {
            let metadata = &object["metadata"];
            (metadata["labels"].clone(), list(&metadata["ownerReferences"]).to_vec())
        };
        let touched = history.named("Pod", name).find(|version| {
            version.change == Change::Deleted
                || version.pod().is_terminating()
                || identity(version.object) != identity(first.object)
        })?;
        let message =
            format!("Pod {name}, which PodClique {CLIQUE} does not control, was changed or deleted");
        let found = violation(FOREIGN_POD_TOUCHED, message);
        Some(found.shown_by("created", first).shown_by("changed or deleted", touched))
    }))
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(STAT_01, || at_every_rest(history, SET, 1, rests::cliques)),
        finding(STAT_19, || {
            history.reached(PRESENT)?;
            foreign_pods_stay(history)?;
            history.reached(REPLACED).map(drop)
        }),
        finding(AON_11, || {
            let (lost, mark) = history.reached(SharedMark::PodLost)?;
            history.at(REPLACED, |place| {
                binding::replaced_in_gang(&history.upto(place), lost, text(&mark.detail["name"]))
            })
        }),
        finding(GANG_20, || {
            let (rested, _) = history.reached(RESTED)?;
            gangs::references_are_the_pods(&history.before(rested), &history.gangs(SET)?)
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruling(clause: &str, change: fn(Story, Value) -> Story) -> Ruling {
        let (lost, pods) = (worker(SET, 0, Some("n")), [0, 1].map(|index| worker(SET, index, Some("n"))));
        let foreign = foreign_pod(FOREIGN[0], &lost, &json!([]));
        let present = Story::flat().submitted(one_clique(SET, 2)).all_added(pods).added(foreign.clone());
        let present = present.mark(PRESENT, Value::Null);
        let gone = present.mark(SharedMark::PodLost, json!({"name": lost["metadata"]["name"]})).deleted(lost);
        let history = change(gone, foreign).mark(REPLACED, Value::Null).mark(RESTED, Value::Null).end();
        check(&history).into_iter().find(|finding| finding.clause == clause).expect("a finding").ruling
    }

    fn replacement(story: Story, _: Value) -> Story {
        let mut pod = worker(SET, 0, Some("n"));
        pod["metadata"]["name"] = "replacement".into();
        pod["metadata"]["uid"] = "replacement".into();
        story.added(pod)
    }

    #[rstest]
    #[case::untouched(|story: Story, _: Value| story, &[])]
    #[case::deleted(|story: Story, pod: Value| story.deleted(pod), &["foreign-pod-touched"])]
    #[case::adopted(|story: Story, mut pod: Value| {
        pod["metadata"]["ownerReferences"] = json!([{"kind": "PodClique", "name": CLIQUE}]);
        story.modified(pod)
    }, &["foreign-pod-touched"])]
    #[case::running(|story: Story, mut pod: Value| {
        pod["status"] = json!({"phase": "Running"});
        story.modified(pod)
    }, &[])]
    fn a_foreign_pod_must_stay_as_it_is(#[case] change: fn(Story, Value) -> Story, #[case] wanted: &[&str]) {
        assert_eq!(codes(ruling(STAT_19, change)), wanted);
    }

    #[test]
    fn a_foreign_pod_is_no_replacement() {
        assert_eq!(ruling(AON_11, replacement), Ok(()));
        assert_eq!(codes(ruling(AON_11, |story, _| story)), ["not-replaced"]);
    }

    #[test]
    fn a_foreign_pod_has_the_labels_of_grove_only() {
        let mut copied = worker(SET, 0, Some("n"));
        copied["metadata"]["labels"]["pod-group.scheduling.sigs.k8s.io"] = "g".into();
        let labels = &foreign_pod("foreign", &copied, &json!([]))["metadata"]["labels"];
        assert_eq!(labels[names::POD_CLIQUE], CLIQUE);
        assert!(labels["pod-group.scheduling.sigs.k8s.io"].is_null());
    }
}
