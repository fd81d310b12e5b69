//! A base and a scaled PodGang with a priority class of the case's own. A gang resource may have no room for one:
//! kube-scheduler's depends on a gate of the API server (WorkloadAwarePreemption), Koordinator's has no such field. The
//! API server drops what it does not know: a gang resource of the harness asks.

use std::time::{Duration, Instant};

use conformance_cluster::{ClusterError, deploy};
use conformance_contract::names;
use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Answer, Stop, TestContext};
use conformance_driver::limits::REACTION;
use conformance_expect::{Expected, schedulers};
use conformance_history::{History, MarkName, SharedMark};
use conformance_judge::{finding, gang_resources};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::Api;
use kube::api::DeleteParams;
use serde_json::{Value, json};

/// GANG-13.
pub(crate) const CASE: Case = Case::new(
    "The priority class of a PodCliqueSet reaches its PodGangs and what stands for them in the backend",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["GANG-13"])
.nodes(&[nodes(1)]);

const SET: &str = "urgent";
const ASKED: MarkName = MarkName::of_case("asked for the field of a PodGroup");

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    // Priority classes are the cluster's, so this one has the case's name and goes with it.
    let class = format!("{}-high", test.namespace);
    let client = test.test_cluster.client.clone();
    let object = json!({
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": class},
        "value": 1000, "preemptionPolicy": "Never",
    });
    deploy::create_unless_there(&client, &object).await?;
    let driven = with_class(test, &class).await;
    let gone = Api::<PriorityClass>::all(client).delete(&class, &DeleteParams::default()).await;
    gone.map_err(|source| ClusterError::api(format!("delete PriorityClass {class}"), source))?;
    driven
}

async fn with_class(test: &mut TestContext, class: &str) -> Result<(), Stop> {
    let kept = keeps_the_field(test, class).await?;
    test.mark(ASKED, json!({"class": class, "kept": kept}));
    let mut pcs = test.manifest(SET)?;
    pcs["spec"]["template"]["priorityClassName"] = class.into();
    test.submit_value(pcs).await?;
    test.until_converged(SET).await
}

/// Whether the API server keeps the priority class of the target's gang resources.
async fn keeps_the_field(test: &TestContext, class: &str) -> Result<bool, Stop> {
    for (kind, mut probe) in schedulers::of(test.target).canary("probe") {
        if kind != "Pod" {
            probe["metadata"]["labels"][names::CANARY] = "true".into();
            probe["spec"]["priorityClassName"] = class.into();
            return Ok(create_once_known(test, kind, &probe).await?["spec"]["priorityClassName"] == class);
        }
    }
    // A backend that makes none leaves it to the PodGang.
    Ok(true)
}

/// The API server looks a class up in a cache that may be a little late.
async fn create_once_known(test: &TestContext, kind: &str, probe: &Value) -> Result<Value, Stop> {
    let begin = Instant::now();
    loop {
        let answer = test.attempt(http::Method::POST, kind, "probe", probe).await?;
        let unknown =
            matches!(&answer, Answer::Refused { message, .. } if message.contains("no PriorityClass"));
        if !unknown || begin.elapsed() > test.length(REACTION) {
            return answer.accepted(format!("create {kind} probe"));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("GANG-13", || {
        let (_, asked) = history.reached(ASKED)?;
        let class = asked.detail["class"].as_str().unwrap_or_default();
        history.waited_for(SharedMark::Converged)?;
        let (end, gangs) = (history.end(), history.gangs(SET)?);
        gang_resources::have_priority(history, &end, &gangs, class, asked.detail["kept"] == true)?;
        history.reached(SharedMark::Converged).map(drop)
    })]
}
