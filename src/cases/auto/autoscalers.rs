//! No nodes: no pod has to be bound. A clique and a scaling group have an autoscaler configuration, another
//! clique has none. The case scales the PodCliqueSet to 2 replicas and back to 1. Then it changes the limits
//! of both autoscalers and a metric, and removes the configuration of the group's autoscaler.

use conformance_check::admission::was_refused;
use conformance_check::lifecycle::autoscalers;

use crate::prelude::*;

marks! {
    AS_CONFIGURED = "autoscalers as configured";
    OVER = "every step taken";
}

const SET: &str = "tuned";

pub(crate) const CASE: Case = case!("Each replica has the configured autoscalers").clauses(&[AUTO_01]);

const CHANGES: &[Attempt] = &[
    admitted("autoscaler limits and a metric changed", |pcs| {
        let config = &mut pcs["spec"]["template"]["cliques"][0]["spec"]["autoScalingConfig"];
        config["minReplicas"] = 3.into();
        config["maxReplicas"] = 9.into();
        config["metrics"][1]["pods"]["target"]["averageValue"] = 20.into();
        pcs["spec"]["template"]["podCliqueScalingGroups"][0]["scaleConfig"]["maxReplicas"] = 7.into();
    }),
    admitted("autoscaler of the scaling group removed", |pcs| {
        if let Some(group) = pcs["spec"]["template"]["podCliqueScalingGroups"][0].as_object_mut() {
            group.remove("scaleConfig");
        }
    }),
];

fn with_changes(sent: &Value, replicas: usize, changes: usize) -> Value {
    let mut pcs = sent.clone();
    pcs["spec"]["replicas"] = replicas.into();
    CHANGES.iter().take(changes).for_each(|change| change.edit.apply(&mut pcs));
    pcs
}

const STEPS: [(usize, usize); 5] = [(1, 0), (2, 0), (1, 0), (1, 1), (1, 2)];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    let sent = test.manifest(SET)?;
    let (mut current, mut changed) = (1, 0);
    for (replicas, changes) in STEPS {
        if replicas != current {
            test.scale("PodCliqueSet", SET, u32::try_from(replicas).unwrap_or(0)).await?;
            current = replicas;
        }
        if changes != changed {
            let attempts = &CHANGES[changed..changes];
            test.attempt_updates(SET, attempts).await?;
            let history = test.history();
            // No clause demands that scale configurations can be changed.
            if attempts.iter().any(|change| was_refused(&history, change)) {
                break;
            }
            changed = changes;
        }
        let pcs = with_changes(&sent, replicas, changes);
        let what = format!("autoscalers of {replicas} replicas after {changes} changes");
        test.until(Awaited::demanded_by(AUTO_01, what), REACTION, |live| {
            autoscalers::faults(live, &pcs, &[]).is_empty()
        })
        .await?;
        test.mark(AS_CONFIGURED, json!({"replicas": replicas, "changes": changes}));
    }
    test.mark(OVER, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(AUTO_01, || {
        let sent = history.submitted(SET)?;
        let done = history.marks(AS_CONFIGURED).count();
        let is_refused = CHANGES.iter().any(|change| was_refused(history, change));
        // The step that timed out, or the last step. After a refused change, the step before it counts.
        let step = if is_refused { done.saturating_sub(1) } else { done.min(STEPS.len() - 1) };
        let (replicas, changes) = STEPS[step];
        history.at(OVER, |place| {
            let wanted = with_changes(sent, replicas, changes);
            autoscalers::as_configured(&history.before(place), &wanted, &[])
        })
    })]
}

#[cfg(test)]
mod tests {
    use conformance_check::codes;
    use conformance_history::testing::{Story, object};

    use super::*;

    fn autoscaler(of: &str, kind: &str, config: &Value) -> Value {
        let mut found = object(autoscalers::KIND, of);
        found["spec"] = config.clone();
        found["spec"]["scaleTargetRef"] =
            json!({"apiVersion": "grove.io/v1alpha1", "kind": kind, "name": of});
        found
    }

    /// The check after `steps` steps. The autoscalers follow the first `changes` changes, and `code` is the
    /// response to the last one.
    fn ruling(code: u16, steps: usize, changes: usize) -> Ruling {
        let sent = grove_yaml::documents(crate::manifest("auto/autoscalers")).unwrap().remove(0);
        let with = with_changes(&sent, 1, changes);
        let template = &with["spec"]["template"];
        let group = &template["podCliqueScalingGroups"][0]["scaleConfig"];
        let of_group = group.is_object().then(|| autoscaler("tuned-0-pool", "PodCliqueScalingGroup", group));
        let of_clique =
            autoscaler("tuned-0-front", "PodClique", &template["cliques"][0]["spec"]["autoScalingConfig"]);
        let story = Story::flat().submitted(sent.clone()).added(of_clique).all_added(of_group);
        let reply = json!({"name": SET, "verb": "update", "code": code, "message": "no", "warnings": []});
        let attempt = json!({"title": CHANGES[1].title, "reply": reply});
        let story = story.mark(SharedMark::Attempt, attempt);
        let story = (0..steps).fold(story, |story, _| story.mark(AS_CONFIGURED, Value::Null));
        check(&story.mark(OVER, Value::Null).end()).remove(0).ruling
    }

    #[rstest::rstest]
    #[case::every_step(200, 5, 2, &[])]
    #[case::kept_after_the_removal(200, 5, 1, &["autoscaler-missing-or-different"])]
    #[case::the_removal_is_refused(422, 4, 1, &[])]
    #[case::changed_although_refused(422, 4, 2, &["autoscaler-missing-or-different"])]
    fn autoscalers_follow_the_changes_that_are_admitted(
        #[case] code: u16,
        #[case] steps: usize,
        #[case] changes: usize,
        #[case] wanted: &[&str],
    ) {
        assert_eq!(codes(ruling(code, steps, changes)), wanted);
    }
}
