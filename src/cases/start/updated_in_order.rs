//! 1 node; a PodCliqueSet in startup order with a clique of 1 pod and a clique of 2 pods, all required, and a
//! control PodCliqueSet of 3 pods. Only the harness makes pods of the first clique's new template Ready.

use conformance_driver::pod_health::UNSTARTED;
use conformance_driver::updates::set_revision;

use crate::prelude::*;

marks! {
    OUTLASTED = "a later update has finished";
    UPDATED = "every pod is new";
}

const SET: &str = "ordered-update";
const CONTROL: &str = "control-any-order";
const FIRST: &str = "ordered-update-0-first";

pub(crate) const CASE: Case =
    case!("An update in startup order deletes no pod while an earlier clique is unready")
        .clauses(&[START_08])
        .nodes(&[nodes(1)])
        .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for set in [SET, CONTROL] {
        test.submit_and_converge(set).await?;
    }
    let change = |clique: &mut Value| {
        set_revision(clique, "2");
        if clique["name"] == "first" {
            clique["labels"] = json!({UNSTARTED: "true"});
        }
    };
    if !test.change_templates(SET, change).await? {
        return Ok(());
    }
    let is_new =
        |pod: &Pod<'_>| pod.pod_clique() == Some(FIRST) && is_of_revision(*pod, "2") && pod.node().is_some();
    let started = Awaited::demanded_by(START_08, format!("a new pod of PodClique {FIRST} bound"));
    test.until(started, SCHEDULING, |live| live.pods().any(|pod| is_new(&pod))).await?;
    test.revise(CONTROL, "2").await?;
    test.until_updated(CONTROL, UPD_02).await?;
    test.mark(OUTLASTED, Value::Null);
    for pod in test.pods_of(FIRST) {
        test.set_pod_status(&pod, Containers::Ready).await?;
    }
    test.until_updated(SET, START_08).await?;
    test.mark(UPDATED, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![update_finding(history, START_08, || {
        updates::parents_stay_ready(history, SET)?;
        history.at(UPDATED, |updated| {
            updates::is_complete(history, updated, SET)?;
            history.reached(OUTLASTED).map(drop)
        })
    })]
}
