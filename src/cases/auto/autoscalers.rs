//! No nodes: no pod has to be bound. A clique and a scaling group have an autoscaler configuration, another
//! clique has none. The case scales the PodCliqueSet to 2 replicas and back to 1. Then it changes the limits
//! of the clique's autoscaler, and removes the configuration of the group's autoscaler.

use conformance_check::lifecycle::autoscalers;

use crate::prelude::*;

marks! {
    AS_CONFIGURED = "autoscalers as configured";
    OVER = "every step taken";
}

const SET: &str = "tuned";

pub(crate) const CASE: Case = case!("Each replica has the configured autoscalers").clauses(&[AUTO_01]);

const CHANGES: &[Attempt] = &[
    admitted("autoscaler limits changed", |pcs| {
        let config = &mut pcs["spec"]["template"]["cliques"][0]["spec"]["autoScalingConfig"];
        config["minReplicas"] = 3.into();
        config["maxReplicas"] = 9.into();
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
            test.attempt_updates(SET, &CHANGES[changed..changes]).await?;
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
        // The step that timed out, or the last step.
        let reached = history.marks(AS_CONFIGURED).count().min(STEPS.len() - 1);
        let (replicas, changes) = STEPS[reached];
        history.at(OVER, |place| {
            let wanted = with_changes(sent, replicas, changes);
            autoscalers::as_configured(&history.before(place), &wanted, &[])
        })?;
        answers(history, CHANGES)
    })]
}
