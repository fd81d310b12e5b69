//! No nodes: nothing has to be bound. A clique and a scaling group with a scale configuration, and a clique
//! without one. Another object already has the name of the autoscaler of the second replica's clique. The
//! PodCliqueSet is scaled to 1, 2 and 1 replicas. Then the limits change, and the group's scale configuration
//! is removed.

use conformance_contract::ruling::Finding;
use conformance_driver::case::Case;
use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits::REACTION;
use conformance_history::{History, MarkName};
use conformance_judge::admission::{Attempt, admitted, answers};
use conformance_judge::finding;
use conformance_judge::life::autoscalers::{self, KIND};
use serde_json::{Value, json};

const AS_CONFIGURED: MarkName = MarkName::of_case("autoscalers as configured");

const OVER: MarkName = MarkName::of_case("every step taken");

const SET: &str = "tuned";
const TAKEN: &str = "tuned-1-front";

pub(crate) const CASE: Case = Case::new(
    "Each replica has the configured autoscalers, and foreign autoscalers are not changed",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["AUTO-01", "AUTO-11"]);

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

/// The PodCliqueSet with this many replicas, after the first `changes` changes.
fn as_of(sent: &Value, replicas: usize, changes: usize) -> Value {
    let mut pcs = sent.clone();
    pcs["spec"]["replicas"] = replicas.into();
    CHANGES.iter().take(changes).for_each(|change| change.edit.apply(&mut pcs));
    pcs
}

/// The replicas and the changes at each mark.
const STEPS: [(usize, usize); 5] = [(1, 0), (2, 0), (1, 0), (1, 1), (1, 2)];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "of-somebody-else"});
    let foreign = json!({
        "apiVersion": "autoscaling/v2", "kind": KIND, "metadata": {"name": TAKEN},
        "spec": {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 2},
    });
    test.create(KIND, &foreign).await?;
    test.submit(SET).await?;
    let sent = test.manifest(SET)?;
    let (mut is, mut changed) = (1, 0);
    for (replicas, changes) in STEPS {
        if replicas != is {
            test.scale("PodCliqueSet", SET, u32::try_from(replicas).unwrap_or(0)).await?;
            is = replicas;
        }
        if changes != changed {
            test.updates(SET, &CHANGES[changed..changes]).await?;
            changed = changes;
        }
        let pcs = as_of(&sent, replicas, changes);
        let what = format!("autoscalers of {replicas} replicas after {changes} changes");
        test.until(Awaited::demanded_by("AUTO-01", what), REACTION, |live| {
            autoscalers::faults(live, &pcs, &[TAKEN]).is_empty()
        })
        .await?;
        test.mark(AS_CONFIGURED, json!({"replicas": replicas, "changes": changes}));
    }
    test.mark(OVER, Value::Null);
    Ok(())
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("AUTO-01", || {
            let sent = history.submitted(SET)?;
            // The step that timed out, or the last.
            let reached = history.marks(AS_CONFIGURED).count().min(STEPS.len() - 1);
            let (replicas, changes) = STEPS[reached];
            let live = history.before(history.waited_for(OVER)?);
            autoscalers::as_configured(&live, &as_of(sent, replicas, changes), &[TAKEN])?;
            history.reached(OVER)?;
            answers(history, CHANGES)
        }),
        finding("AUTO-11", || {
            autoscalers::left_alone(history, TAKEN)?;
            history.reached(OVER).map(drop)
        }),
    ]
}
