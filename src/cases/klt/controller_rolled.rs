//! 1 node x 1 GPU, and a second node like it that joins later. PodCliqueSet `growing` has 1 pod without GPUs
//! and is scaled to 3 pods. `waiting`, a gang of 2 pods x 1 GPU, is one pod short until that node joins.
//!
//! Meanwhile, the case rolls out the operator's Deployment. The last scaling follows once the first leader
//! has stopped, so the next leader must handle it. Two leaders at a time would create two pods of one index.

use conformance_check::{gangs, kubelets, leadership, none};
use conformance_driver::lease_watch::LeaseWatch;
use conformance_facts::convergence;

use crate::prelude::*;

const NOT_CONVERGED: Code = Code::new("not-converged");

pub(crate) const CASE: Case = case!("Rolling the controller keeps one leader at a time and loses no change")
    .clauses(&[KLT_07, KLT_08])
    .nodes(&[nodes(1).gpus(1), nodes(1).gpus(1).joining(1)])
    .isolation(Isolation::Exclusive)
    .needs(&[Need::Kubelets]);

const GROWING: &str = "growing";
const GROUP: &str = "growing-0-model";
const PENDING: &str = "waiting";

marks! {
    ROLL = "controller rolled";
    SCALED = "scaled meanwhile";
    GROWN = "grown";
    JOIN = "node joins";
    BOUND = "the waiting gang runs";
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let mut lease = test.watch_lease().await?;
    test.submit_and_converge(GROWING).await?;
    let pending = test.submit(PENDING).await?;
    for gang in &pending {
        test.scheduler_passes_over(gang).await?;
    }
    test.mark(ROLL, Value::Null);
    let (rolled, scaled) = tokio::join!(roll(test), scale_meanwhile(test, &mut lease));
    rolled?;
    scaled?;
    test.until_converged(GROWING).await?;
    test.mark(GROWN, Value::Null);
    // Once the canaries are bound, the scheduler has seen the new leader's changes to the waiting gang.
    test.canaries().await?;
    test.mark(JOIN, Value::Null);
    test.add_nodes(1).await?;
    test.until_converged(PENDING).await?;
    test.mark(BOUND, Value::Null);
    Ok(())
}

async fn roll(test: &TestContext) -> Result<(), Stop> {
    Ok(test.kind()?.roll_controller().await?)
}

async fn scale_meanwhile(test: &TestContext, lease: &mut LeaseWatch) -> Result<(), Stop> {
    let first = lease.holder();
    test.scale("PodCliqueSet", GROWING, 2).await?;
    let has_changed = |holder: Option<&str>| holder != first.as_deref();
    lease.until(test, "the first leader stopped", limits::ROLLOUT, has_changed).await?;
    test.scale("PodCliqueScalingGroup", GROUP, 2).await?;
    test.mark(SCALED, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(KLT_07, || {
            let (rolled, _) = history.reached(ROLL)?;
            // Without a second leader, the case proves nothing.
            if let Err(why @ Broken::NotReached(_)) = leadership::one_leader_at_a_time(history) {
                return Err(why);
            }
            history.reached(SCALED)?;
            history.at(GROWN, |grown| {
                kubelets::kept_running(history, rolled, grown)?;
                has_converged(history, grown, GROWING)
            })?;
            let (joining, _) = history.reached(JOIN)?;
            precondition(AON_02, binding::never(history, &history.units(PENDING)?, Some(joining)))?;
            history.at(BOUND, |bound| has_converged(history, bound, PENDING))
        }),
        // Two leaders may prevent the case from reaching the rollout. KLT-08 is violated even then.
        finding(KLT_08, || leadership::one_leader_at_a_time(history)),
    ]
}

fn has_converged(history: &History, until: usize, set: &str) -> Ruling {
    let live = history.before(until);
    let all = scaling::gangs(history, history.submitted(set)?, until);
    gangs::base(&live, set, &all)?;
    gangs::scaled(history, &live, &all)?;
    gang_resources::owned(history, &live, &all)?;
    binding::all(&live, &all)?;
    nothing_is_missing(&live, set, &all)
}

fn nothing_is_missing(live: &Live, set: &str, all: &[Gang]) -> Ruling {
    none(
        convergence::lacks(live, set, all).map(|lack| {
            violation(NOT_CONVERGED, format!("PodCliqueSet {set} has not converged, want {lack}"))
        }),
    )
}

#[cfg(test)]
mod tests {
    use conformance_expect::Group;

    use super::*;

    fn submitted() -> Story {
        let manifests =
            grove_yaml::documents(crate::manifest("klt/controller-rolled")).expect("the manifest");
        manifests.into_iter().fold(Story::on(Target::EXTERNAL), Story::submitted)
    }

    fn lease(story: Story, holder: Option<&str>) -> Story {
        let spec = json!({
            "holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z",
        });
        story.mark(SharedMark::Lease, json!({"spec": spec}))
    }

    fn scaled(story: Story, kind: &str, name: &str) -> Story {
        story.mark(SharedMark::Scaled, json!({"kind": kind, "name": name, "replicas": 2}))
    }

    fn final_gangs(set: &str) -> Vec<Gang> {
        let story = scaled(submitted(), "PodCliqueSet", GROWING);
        let history = scaled(story, "PodCliqueScalingGroup", GROUP).end();
        let mut gangs = scaling::gangs(&history, history.submitted(set).expect("submitted"), usize::MAX);
        gangs.iter_mut().enumerate().for_each(|(number, gang)| gang.name = format!("{set}-gang-{number}"));
        gangs
    }

    fn pod(gang: &Gang, group: &Group, index: usize) -> Value {
        let mut pod = running(&format!("{}-{index}", group.clique), &gang.name, &group.clique, "n");
        pod["metadata"]["labels"][names::POD_INDEX] = index.to_string().into();
        pod
    }

    fn pods(set: &str) -> Vec<Value> {
        let of_gang = |gang: &Gang| -> Vec<Value> {
            let mut pods = Vec::new();
            for group in &gang.groups {
                pods.extend((0..group.replicas).map(|index| pod(gang, group, index)));
            }
            pods
        };
        final_gangs(set).iter().flat_map(of_gang).collect()
    }

    fn whole(set: &str) -> Vec<Value> {
        let all = final_gangs(set);
        let replicas = all.iter().filter(|gang| gang.is_base).count();
        let sized = |kind: &str, name: &str, size: usize, counts: &[&str]| {
            let mut object = json!({"kind": kind, "metadata": {"name": name, "generation": 1},
                "spec": {"replicas": size}, "status": {"observedGeneration": 1}});
            counts.iter().for_each(|count| object["status"][*count] = size.into());
            object
        };
        let mut objects =
            vec![sized("PodCliqueSet", set, replicas, &["availableReplicas", "updatedReplicas"])];
        for gang in &all {
            let podgroup = |group: &Group| {
                let references: Vec<_> = (0..group.replicas)
                    .map(|index| json!({"name": format!("{}-{index}", group.clique)}))
                    .collect();
                json!({"name": group.clique, "minReplicas": group.min, "podReferences": references})
            };
            let podgroups: Vec<_> = gang.groups.iter().map(podgroup).collect();
            let pod_gang = json!({"kind": "PodGang", "metadata": {"name": gang.name},
                "spec": {"podgroups": podgroups},
                "status": {"conditions": [{"type": "Initialized", "status": "True"}]}});
            objects.push(owned(pod_gang, "PodCliqueSet", set));
            for group in &gang.groups {
                let counts = ["readyReplicas", "scheduledReplicas", "updatedReplicas"];
                let mut clique = sized("PodClique", &group.clique, group.replicas, &counts);
                clique["metadata"]["labels"] = json!({names::POD_GANG: gang.name});
                clique["status"]["conditions"] = json!([
                    {"type": "PodCliqueScheduled", "status": "True"},
                    {"type": "MinAvailableBreached", "status": "False"},
                ]);
                objects.push(clique);
            }
        }
        objects.extend(pods(set));
        objects
    }

    fn rolled() -> Story {
        let unbound = pods(PENDING).into_iter().map(|mut pod| {
            pod["spec"]["nodeName"] = Value::Null;
            pod
        });
        let story = submitted().all_added(pods(GROWING).into_iter().take(1)).all_added(unbound);
        let story = lease(story, Some("first")).mark(ROLL, Value::Null);
        let story = lease(scaled(story, "PodCliqueSet", GROWING), None);
        let story = lease(story, Some("second"));
        scaled(story, "PodCliqueScalingGroup", GROUP).mark(SCALED, Value::Null)
    }

    fn ruling(story: Story) -> Ruling {
        check(&story.end()).remove(0).ruling
    }

    fn of_leaders(story: Story) -> Ruling {
        check(&story.end()).remove(1).ruling
    }

    #[test]
    fn a_clean_leader_change_passes() {
        let grown = rolled().all_added(whole(GROWING)).mark(GROWN, Value::Null).mark(JOIN, Value::Null);
        let story = grown.all_added(whole(PENDING)).mark(BOUND, Value::Null);
        assert_eq!(ruling(story), Ok(()));
    }

    #[test]
    fn a_leader_that_takes_the_lease_early_is_a_violation() {
        let story = || {
            let grown = lease(rolled(), Some("third")).all_added(whole(GROWING));
            let grown = grown.mark(GROWN, Value::Null).mark(JOIN, Value::Null);
            grown.all_added(whole(PENDING)).mark(BOUND, Value::Null)
        };
        assert!(message(of_leaders(story())).starts_with("third acquired the Lease"));
        assert_eq!(ruling(story()), Ok(()));
    }

    #[test]
    fn two_leaders_before_the_rollout_are_a_violation() {
        let story = lease(lease(submitted(), Some("first")), Some("second"))
            .mark(SharedMark::WaitTimedOut, Value::Null);
        assert!(message(of_leaders(story)).starts_with("second acquired the Lease"));
        let no_second_leader = lease(submitted(), Some("first")).mark(SharedMark::WaitTimedOut, Value::Null);
        assert_eq!(
            ruling(no_second_leader),
            Err(Broken::NotReached("the case did not reach \"controller rolled\"".into()))
        );
    }

    #[test]
    fn a_waiting_gang_that_is_bound_early_breaks_another_clause() {
        let early = pods(PENDING).into_iter().take(1);
        let grown = rolled().all_added(whole(GROWING)).mark(GROWN, Value::Null);
        let grown = grown.all_added(early).mark(JOIN, Value::Null);
        let found = ruling(grown.all_added(whole(PENDING)).mark(BOUND, Value::Null));
        assert!(matches!(found, Err(Broken::Precondition { clause: AON_02, .. })), "{found:?}");
    }

    #[test]
    fn a_scaling_step_that_the_new_leader_missed_is_a_violation() {
        let base = &final_gangs(GROWING)[2];
        let is_lost =
            |object: &Value| object["kind"] == "PodGang" && object["metadata"]["name"] == base.name.as_str();
        let incomplete = whole(GROWING).into_iter().filter(|object| !is_lost(object));
        let story = rolled().all_added(incomplete).mark(SharedMark::WaitTimedOut, Value::Null);
        assert_eq!(message(ruling(story)), "PodGang <of growing-1-model-0-worker> does not exist");
    }

    #[test]
    fn an_uninitialized_pod_gang_is_a_violation() {
        let incomplete = whole(GROWING).into_iter().map(|mut object| {
            if object["kind"] == "PodGang" {
                object["status"] = Value::Null;
            }
            object
        });
        let story = rolled().all_added(incomplete).mark(SharedMark::WaitTimedOut, Value::Null);
        assert_eq!(codes(ruling(story)), ["not-converged"]);
    }

    #[test]
    fn a_recreated_pod_is_a_violation() {
        let story = rolled().deleted(pods(GROWING)[0].clone()).all_added(whole(GROWING));
        let found = message(ruling(story.mark(GROWN, Value::Null)));
        assert_eq!(found, "Pod growing-0-model-0-worker-0 was deleted, want it to keep running");
    }

    #[test]
    fn a_waiting_gang_that_stays_unbound_is_a_violation() {
        let grown = rolled().all_added(whole(GROWING)).mark(GROWN, Value::Null).mark(JOIN, Value::Null);
        let unbound = whole(PENDING).into_iter().filter(|object| object["kind"] != "Pod");
        let story = grown.all_added(unbound).mark(SharedMark::WaitTimedOut, Value::Null);
        assert_eq!(message(ruling(story)), "0 of 2 pods of PodClique waiting-0-worker are bound, want all");
    }
}
