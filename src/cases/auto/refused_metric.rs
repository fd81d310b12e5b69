//! No nodes: no pod has to be bound. A clique has an autoscaler with a metric, and a scaling group has an
//! autoscaler. The case changes the metric to an invalid one and scales the PodCliqueSet to 2 replicas.

use conformance_check::admission::was_refused;
use conformance_check::lifecycle::autoscalers;
use conformance_driver::admission_attempts::clique;
use conformance_history::{event_about, event_note};

use crate::prelude::*;

const BLOCKED: Code = Code::new("blocked-by-refused-autoscaler");
const NOT_REPORTED: Code = Code::new("refused-autoscaler-not-reported");

marks! {
    SECOND_REPLICA = "second replica created";
    REPORTED = "invalid metric reported";
}

const SET: &str = "mistuned";
/// The pods of two PodCliqueSet replicas, each a clique of 2 pods and a scaling group of 1 pod.
const PODS: usize = 6;

pub(crate) const CASE: Case =
    case!("An invalid autoscaler metric is refused or reported, and blocks nothing else")
        .clauses(&[AUTO_12, AUTO_13]);

/// Admission may refuse the metric, with any message.
const METRIC: Attempt = refused("a resource metric without a resource", &[], |pcs| {
    clique(pcs, 0)["spec"]["autoScalingConfig"]["metrics"] = json!([{"type": "Resource"}]);
});

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    let pcs = test.manifest(SET)?;
    let configured = Awaited::demanded_by(AUTO_01, "autoscalers as configured");
    test.until(configured, REACTION, |live| autoscalers::faults(live, &pcs, &[]).is_empty()).await?;
    test.attempt_updates(SET, &[METRIC]).await?;
    test.scale("PodCliqueSet", SET, 2).await?;
    let is_refused = was_refused(&test.history(), &METRIC);
    let created = Awaited::demanded_by(AUTO_13, "the second PodCliqueSet replica created");
    test.until(created, REACTION, |live| missing_part(live).is_none()).await?;
    test.mark(SECOND_REPLICA, Value::Null);
    let reported = Awaited::demanded_by(AUTO_12, "the invalid metric reported");
    test.until(reported, REACTION, |live| is_refused || is_reported(live)).await?;
    test.mark(REPORTED, Value::Null);
    Ok(())
}

fn missing_part(live: &Live) -> Option<String> {
    let pods =
        live.pods().filter(|pod| pod.label(names::PART_OF) == Some(SET) && !pod.is_terminating()).count();
    let group = format!("{SET}-1-pool");
    match live.get(autoscalers::KIND, &group) {
        None => Some(format!("{} {group}", autoscalers::KIND)),
        Some(_) => (pods != PODS).then(|| format!("{} of {PODS} pods", PODS.saturating_sub(pods))),
    }
}

fn is_reported(live: &Live) -> bool {
    let names_it = |text: &str| text.contains("metric");
    // Kubernetes' autoscaler controller also emits warnings, about the HorizontalPodAutoscaler.
    let is_about_grove = |event: &Value| {
        ["PodCliqueSet", "PodCliqueScalingGroup", "PodClique"].contains(&text(&event_about(event)["kind"]))
    };
    let is_warning = |event: &&Value| event["type"] == "Warning" && is_about_grove(event);
    let warned = live.of("Event").filter(is_warning).any(|event| names_it(event_note(event)));
    warned || live.get("PodCliqueSet", SET).is_some_and(|pcs| names_it(&pcs["status"].to_string()))
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(AUTO_12, || {
            history.reached(SECOND_REPLICA)?;
            history.at(REPORTED, |place| {
                ensure(was_refused(history, &METRIC) || is_reported(&history.before(place)), || {
                    violation(
                        NOT_REPORTED,
                        format!("PodCliqueSet {SET}: no event or status reports the invalid metric"),
                    )
                })
            })
        }),
        finding(AUTO_13, || {
            history.reached(SharedMark::Attempt)?;
            history.at(SECOND_REPLICA, |place| {
                let live = history.before(place);
                if let Some(part) = missing_part(&live) {
                    let message =
                        format!("PodCliqueSet {SET}: {part} missing while one of its autoscalers is invalid");
                    return Err(violation(BLOCKED, message).into());
                }
                Ok(())
            })
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruling(code: u16, message: &str, observed: Option<Value>) -> Ruling {
        let reply = json!({"name": SET, "verb": "update", "code": code, "message": message, "warnings": []});
        let story = Story::flat().mark(SharedMark::Attempt, json!({"title": METRIC.title, "reply": reply}));
        let story = story.mark(SECOND_REPLICA, Value::Null).all_added(observed).mark(REPORTED, Value::Null);
        check(&story.end()).remove(0).ruling
    }

    fn warning(kind: &str, note: &str) -> Option<Value> {
        let mut event = object("Event", "e");
        event["type"] = json!("Warning");
        event["involvedObject"] = json!({"kind": kind, "name": SET});
        event["message"] = json!(note);
        Some(event)
    }

    fn status(error: &str) -> Option<Value> {
        let mut pcs = object("PodCliqueSet", SET);
        pcs["status"] = json!({"lastErrors": [{"description": error}]});
        Some(pcs)
    }

    #[rstest]
    #[case::event(warning("PodCliqueSet", "metrics[0]: resource is missing"), &[])]
    #[case::status(status("metrics[0]: resource is missing"), &[])]
    #[case::nothing(None, &["refused-autoscaler-not-reported"])]
    #[case::other_event(warning("PodCliqueSet", "a pod is missing"), &["refused-autoscaler-not-reported"])]
    #[case::of_an_autoscaler(
        warning("HorizontalPodAutoscaler", "no metric"), &["refused-autoscaler-not-reported"]
    )]
    #[case::other_status(status("a pod is missing"), &["refused-autoscaler-not-reported"])]
    fn an_admitted_metric_that_is_invalid_is_reported(
        #[case] observed: Option<Value>,
        #[case] wanted: &[&str],
    ) {
        assert_eq!(codes(ruling(200, "", observed)), wanted);
    }

    #[test]
    fn a_refused_metric_needs_no_report() {
        assert_eq!(ruling(422, "in words of its own", None), Ok(()));
    }
}
