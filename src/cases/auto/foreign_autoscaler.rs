//! No nodes: no pod has to be bound. A clique and a scaling group have an autoscaler configuration. A third
//! party's autoscaler already has the name that the second PodCliqueSet replica needs for its clique.

use conformance_check::lifecycle::autoscalers::{self, KIND};

use crate::prelude::*;

const HELD_UP: Code = Code::new("held-up-by-foreign-autoscaler");

marks! {
    SECOND_REPLICA = "the second replica created";
    OVER = "every step taken";
}

const SET: &str = "contested";
const TAKEN: &str = "contested-1-front";
/// The pods of two PodCliqueSet replicas, each a clique of 2 pods and a scaling group of 1 pod.
const PODS: usize = 6;

pub(crate) const CASE: Case =
    case!("A foreign autoscaler with the name of a needed one is not changed, and holds up nothing else")
        .clauses(&[AUTO_11, AUTO_13]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "of-somebody-else"});
    let foreign = json!({
        "apiVersion": "autoscaling/v2", "kind": KIND, "metadata": {"name": TAKEN},
        "spec": {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 2},
    });
    test.create(KIND, &foreign).await?;
    test.submit(SET).await?;
    let sent = test.manifest(SET)?;
    let configured = Awaited::demanded_by(AUTO_01, "autoscalers as configured");
    test.until(configured, REACTION, |live| autoscalers::faults(live, &sent, &[]).is_empty()).await?;
    test.scale("PodCliqueSet", SET, 2).await?;
    let created = Awaited::demanded_by(AUTO_13, "all other objects of the second PodCliqueSet replica");
    // After a timeout, the case continues, so that the foreign autoscaler is still checked.
    match test.until(created, REACTION, |live| missing_part(live, &sent).is_none()).await {
        Ok(()) => test.mark(SECOND_REPLICA, Value::Null),
        Err(Stop::Timeout(_)) => test.mark(SharedMark::ContinuedAfterTimeout, Value::Null),
        Err(stop) => return Err(stop),
    }
    test.scale("PodCliqueSet", SET, 1).await?;
    let removed = Awaited::demanded_by(AUTO_01, "no autoscalers of the second PodCliqueSet replica");
    test.until(removed, REACTION, |live| autoscalers::faults(live, &sent, &[]).is_empty()).await?;
    test.mark(OVER, Value::Null);
    Ok(())
}

fn missing_part(live: &Live, sent: &Value) -> Option<String> {
    let mut grown = sent.clone();
    grown["spec"]["replicas"] = 2.into();
    let pods = live.pods().filter(|pod| pod.label(names::PART_OF) == Some(SET) && !pod.is_terminating());
    let pods = pods.count();
    let short = (pods != PODS).then(|| format!("{pods} of {PODS} pods exist"));
    autoscalers::faults(live, &grown, &[TAKEN]).into_iter().chain(short).next()
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(AUTO_11, || {
            autoscalers::left_alone(history, TAKEN)?;
            history.reached(OVER).map(drop)
        }),
        finding(AUTO_13, || {
            history.at(SECOND_REPLICA, |place| {
                let part = missing_part(&history.before(place), history.submitted(SET)?);
                part.map_or(Ok(()), |part| {
                    let message =
                        format!("PodCliqueSet {SET}: {part}, while {KIND} {TAKEN} belongs to a third party");
                    Err(violation(HELD_UP, message).into())
                })
            })
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent() -> Value {
        grove_yaml::documents(crate::manifest("auto/foreign-autoscaler")).unwrap().remove(0)
    }

    fn autoscaler(name: &str, kind: &str, limits: [usize; 2]) -> Value {
        let mut found = owned(object(KIND, name), "PodCliqueSet", SET);
        let target = json!({"apiVersion": "grove.io/v1alpha1", "kind": kind, "name": name});
        found["spec"] = json!({"scaleTargetRef": target, "minReplicas": limits[0],
            "maxReplicas": limits[1]});
        found
    }

    fn rulings(pods: usize, own: &[Value]) -> [Ruling; 2] {
        let mut foreign = object(KIND, TAKEN);
        foreign["spec"] = json!({"maxReplicas": 2});
        let pods = (0..pods).map(|index| {
            let labels = json!({names::PART_OF: SET});
            json!({"kind": "Pod", "metadata": {"name": format!("p{index}"), "labels": labels}})
        });
        let first = [
            autoscaler("contested-0-front", "PodClique", [2, 6]),
            autoscaler("contested-0-pool", "PodCliqueScalingGroup", [1, 5]),
        ];
        let story = Story::flat().submitted(sent()).added(foreign).added(sent()).all_added(first);
        let story = story.all_added(own.iter().cloned()).all_added(pods);
        let history = story.mark(SECOND_REPLICA, Value::Null).mark(OVER, Value::Null).end();
        let found: Vec<_> = check(&history).into_iter().map(|finding| finding.ruling).collect();
        found.try_into().unwrap()
    }

    #[test]
    fn a_replica_without_its_other_objects_is_a_violation() {
        let own = || autoscaler("contested-1-pool", "PodCliqueScalingGroup", [1, 5]);
        assert_eq!(rulings(PODS, &[own()]), [Ok(()), Ok(())]);
        for [left_alone, held_up] in [rulings(PODS, &[]), rulings(PODS - 1, &[own()])] {
            assert_eq!(left_alone, Ok(()));
            assert!(matches!(held_up, Err(Broken::Violated(_))), "{held_up:?}");
        }
    }

    #[test]
    fn a_changed_foreign_autoscaler_is_a_violation() {
        let taken_over = autoscaler(TAKEN, "PodClique", [2, 6]);
        let own = autoscaler("contested-1-pool", "PodCliqueScalingGroup", [1, 5]);
        let [left_alone, _] = rulings(PODS, &[own, taken_over]);
        assert!(matches!(left_alone, Err(Broken::Violated(_))), "{left_alone:?}");
    }
}
