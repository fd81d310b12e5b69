//! 1 node; a base PodGang of 3 pods and a scaled PodGang of 2, with a priority class that only this case
//! uses. Not every gang resource has a field for the class: kube-scheduler's PodGroup needs the gate
//! WorkloadAwarePreemption, and Koordinator's has no such field. The API server drops unknown fields, so the
//! harness creates a gang resource and reads the field back.

use std::time::{Duration, Instant};

use conformance_cluster::{ClusterError, deploy};
use conformance_driver::context::Answer;
use conformance_expect as expect;
use conformance_expect::resolver::resolved;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::Api;
use kube::api::DeleteParams;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("The priority class reaches the gang resources; a change is followed or refused")
        .clauses(&[GANG_13, PRE_16, UPD_20])
        .nodes(&[nodes(1)]);

const SET: &str = "urgent";

marks! {
    ASKED = "asked for the field of a PodGroup";
    CHANGED = "another priority class";
    FOLLOWED = "gangs have followed";
}

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    // Priority classes are cluster-scoped: their names contain the namespace, and the case deletes them.
    let classes = ["high", "higher"].map(|class| format!("{}-{class}", test.namespace));
    let client = test.test_cluster.client.clone();
    for class in &classes {
        let object = json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": class},
            "value": 1000, "preemptionPolicy": "Never",
        });
        deploy::create_unless_exists(&client, &object).await?;
    }
    let outcome = with_classes(test, &classes).await;
    for class in &classes {
        let deleted = Api::<PriorityClass>::all(client.clone()).delete(class, &DeleteParams::default()).await;
        deleted.map_err(ClusterError::during(format!("delete PriorityClass {class}")))?;
    }
    outcome
}

async fn with_classes(test: &mut TestContext, [class, next]: &[String; 2]) -> Result<(), Stop> {
    let kept = keeps_the_field(test, class).await?;
    test.mark(ASKED, json!({"class": class, "kept": kept}));
    let mut pcs = test.manifest(SET)?;
    pcs["spec"]["template"]["priorityClassName"] = class.clone().into();
    test.submit_value(pcs).await?;
    test.until_converged(SET).await?;
    let change = json!({"spec": {"template": {"priorityClassName": next}}});
    let refusal = match test.attempt(http::Method::PATCH, "PodCliqueSet", SET, &change).await? {
        Answer::Accepted(_) => Value::Null,
        Answer::Refused { message, .. } => message.into(),
    };
    let follows = refusal.is_null() && schedulers::of(test.target).follows_priority();
    test.mark(CHANGED, json!({"class": next, "refusal": refusal}));
    if follows {
        let gangs = expect::gangs(&test.manifest(SET)?);
        let history = test.history();
        let followed = Awaited::demanded_by(
            UPD_20,
            format!("gang resources of PodCliqueSet {SET} with the new priority class"),
        );
        test.until(followed, REACTION, |live| {
            gang_resources::with_priority(&history, live, &resolved(live, gangs.clone()), next, kept).is_ok()
        })
        .await?;
    }
    test.mark(FOLLOWED, Value::Null);
    Ok(())
}

async fn keeps_the_field(test: &TestContext, class: &str) -> Result<bool, Stop> {
    if schedulers::of(test.target).kinds().is_empty() {
        return Ok(true);
    }
    for (kind, mut probe) in schedulers::of(test.target).canary("probe") {
        if kind != "Pod" {
            probe["metadata"]["labels"][names::CANARY] = "true".into();
            probe["spec"]["priorityClassName"] = class.into();
            return Ok(create_once_known(test, kind, &probe).await?["spec"]["priorityClassName"] == class);
        }
    }
    // Without gang resources, the class stays on the PodGang.
    Ok(true)
}

/// Retries, because the API server's cache of priority classes may lag.
async fn create_once_known(test: &TestContext, kind: &str, probe: &Value) -> Result<Value, Stop> {
    let begin = Instant::now();
    loop {
        let answer = test.attempt(http::Method::POST, kind, "probe", probe).await?;
        let is_unknown =
            matches!(&answer, Answer::Refused { message, .. } if message.contains("no PriorityClass"));
        if !is_unknown || begin.elapsed() > test.length(REACTION) {
            return answer.accepted(format!("create {kind} probe"));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(GANG_13, || {
            let (class, kept) = asked(history)?;
            history.at(SharedMark::Converged, |converged| {
                let (live, gangs) = (history.before(converged), history.gangs(SET)?);
                gang_resources::have_priority(history, &live, &gangs, class, kept)
            })
        }),
        finding(PRE_16, || {
            let (class, kept) = asked(history)?;
            history.at(SharedMark::Converged, |converged| {
                let (live, gangs) = (history.before(converged), history.gangs(SET)?);
                gang_resources::priority_reaches_scheduler(history, &live, &gangs, class, kept)
            })
        }),
        finding(UPD_20, || {
            let (changed, mark) = history.reached(CHANGED)?;
            let class = text(&mark.detail["class"]);
            history.at(FOLLOWED, |followed| {
                let gangs = history.gangs(SET)?;
                match mark.detail["refusal"].as_str() {
                    Some(refusal) => gang_resources::priority_is_refused(history.header.target, refusal),
                    None => {
                        let (_, kept) = asked(history)?;
                        let until = history.upto(followed);
                        gang_resources::priority_follows(&until, &gangs, class, kept, changed)
                    }
                }
            })
        }),
    ]
}

fn asked(history: &History) -> Result<(&str, bool), Broken> {
    let (_, asked) = history.reached(ASKED)?;
    Ok((text(&asked.detail["class"]), asked.detail["kept"] == true))
}
