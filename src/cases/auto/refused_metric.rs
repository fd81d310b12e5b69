//! No nodes: nothing has to be bound. A clique whose autoscaler uses a metric, and a scaling group with an
//! autoscaler. The metric is changed to an invalid one, and the PodCliqueSet is scaled to two replicas.

use conformance_contract::names;
use conformance_contract::ruling::Finding;
use conformance_contract::violation::Code;
use conformance_driver::admission_attempts::clique;
use conformance_driver::case::Case;
use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits::REACTION;
use conformance_history::{History, Live, MarkName, SharedMark, event_about, event_note, text};
use conformance_judge::admission::{Attempt, refusals_say, refused, was_refused};
use conformance_judge::life::autoscalers;
use conformance_judge::{ensure, finding, violation};
use serde_json::{Value, json};

const HELD_UP: Code = Code::new("held-up-by-a-refused-autoscaler");
const UNTOLD: Code = Code::new("refused-autoscaler-untold");

const THERE: MarkName = MarkName::of_case("the second replica there");
const TOLD: MarkName = MarkName::of_case("the refused metric told");

const SET: &str = "mistuned";
/// The pods of two replicas: a clique of 2, and a scaling group of one.
const PODS: usize = 6;

pub(crate) const CASE: Case = Case::new(
    "An invalid autoscaler metric is refused or reported, and blocks nothing else",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["AUTO-12", "AUTO-13"]);

/// Admission may refuse the metric; then it must name it.
const METRIC: Attempt = refused("a resource metric without a resource", &["metric"], |pcs| {
    clique(pcs, 0)["spec"]["autoScalingConfig"]["metrics"] = json!([{"type": "Resource"}]);
});

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    let pcs = test.manifest(SET)?;
    let configured = Awaited::demanded_by("AUTO-01", "autoscalers as configured");
    test.until(configured, REACTION, |live| autoscalers::faults(live, &pcs, &[]).is_empty()).await?;
    test.updates(SET, &[METRIC]).await?;
    test.scale("PodCliqueSet", SET, 2).await?;
    let is_refused = was_refused(&test.history(), &METRIC);
    let others = Awaited::demanded_by("AUTO-13", "the second PodCliqueSet replica created");
    test.until(others, REACTION, |live| lacks(live).is_none()).await?;
    test.mark(THERE, Value::Null);
    let told = Awaited::demanded_by("AUTO-12", "the invalid metric reported");
    test.until(told, REACTION, |live| is_refused || is_told(live)).await?;
    test.mark(TOLD, Value::Null);
    Ok(())
}

fn lacks(live: &Live) -> Option<String> {
    let pods =
        live.pods().filter(|pod| pod.label(names::PART_OF) == Some(SET) && !pod.is_terminating()).count();
    let group = format!("{SET}-1-pool");
    match live.get(autoscalers::KIND, &group) {
        None => Some(format!("{} {group}", autoscalers::KIND)),
        Some(_) => (pods != PODS).then(|| format!("{} of {PODS} pods", PODS.saturating_sub(pods))),
    }
}

fn is_told(live: &Live) -> bool {
    let names_it = |text: &str| text.contains("metric");
    // Kubernetes' own autoscaler controller also emits warnings, about the autoscaler.
    let is_groves = |event: &Value| {
        ["PodCliqueSet", "PodCliqueScalingGroup", "PodClique"].contains(&text(&event_about(event)["kind"]))
    };
    let is_warning = |event: &&Value| event["type"] == "Warning" && is_groves(event);
    let warned = live.of("Event").filter(is_warning).any(|event| names_it(event_note(event)));
    warned || live.get("PodCliqueSet", SET).is_some_and(|pcs| names_it(&pcs["status"].to_string()))
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("AUTO-12", || {
            refusals_say(history, &[METRIC])?;
            history.reached(THERE)?;
            let live = history.before(history.waited_for(TOLD)?);
            ensure(was_refused(history, &METRIC) || is_told(&live), || {
                violation(
                    UNTOLD,
                    format!("PodCliqueSet {SET}: no event or status reports the invalid metric"),
                )
            })?;
            history.reached(TOLD).map(drop)
        }),
        finding("AUTO-13", || {
            history.reached(SharedMark::Attempt)?;
            let live = history.before(history.waited_for(THERE)?);
            if let Some(lack) = lacks(&live) {
                let message =
                    format!("PodCliqueSet {SET}: {lack} missing while one of its autoscalers is invalid");
                return Err(violation(HELD_UP, message).into());
            }
            history.reached(THERE).map(drop)
        }),
    ]
}
