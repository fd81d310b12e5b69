//! 1 node; in startup order a clique of 1 pod and one of 2, all of them required, and a separate canary, a
//! clique of 3. All templates change, the first clique's to one that never starts. Once the canary, which
//! changed later, is updated, the harness lets the first clique be Ready.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, Need, nodes};
use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits::SCHEDULING;
use conformance_driver::pod_health::{Containers, UNSTARTED};
use conformance_driver::updates::set_revision;
use conformance_history::{History, MarkName, Pod};
use conformance_judge::finding;
use conformance_judge::life::updates::{self, is_of_revision};
use serde_json::{Value, json};

/// Mark: a later update has ended, and the first clique is not Ready.
const OUTLASTED: MarkName = MarkName::of_case("an update that began later is over");
const UPDATED: MarkName = MarkName::of_case("every pod is new");

const SET: &str = "parade";
const CANARY: &str = "bystander";
const FIRST: &str = "parade-0-band";

pub(crate) const CASE: Case = Case::new(
    "An update in startup order deletes no pod while an earlier clique is unready",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["START-08"])
.nodes(&[nodes(1)])
.needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for set in [SET, CANARY] {
        test.submit(set).await?;
        test.until_converged(set).await?;
    }
    let change = |clique: &mut Value| {
        set_revision(clique, "2");
        if clique["name"] == "band" {
            clique["labels"] = json!({UNSTARTED: "true"});
        }
    };
    if !test.change_templates(SET, change).await? {
        return Ok(());
    }
    let is_new =
        |pod: &Pod<'_>| pod.pod_clique() == Some(FIRST) && is_of_revision(*pod, "2") && pod.node().is_some();
    let begun = Awaited::demanded_by("START-08", format!("a new pod of PodClique {FIRST} bound"));
    test.until(begun, SCHEDULING, |live| live.pods().any(|pod| is_new(&pod))).await?;
    test.revise(CANARY, "2").await?;
    test.until_updated(CANARY, "UPD-02").await?;
    test.mark(OUTLASTED, Value::Null);
    for pod in test.pods_of(FIRST) {
        test.pod_becomes(&pod, Containers::Ready).await?;
    }
    test.until_updated(SET, "START-08").await?;
    test.mark(UPDATED, Value::Null);
    Ok(())
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("START-08", || {
        updates::are_admitted(history)?;
        updates::parents_stand(history, SET)?;
        let updated = history.waited_for(UPDATED)?;
        updates::through(&history.before(updated), SET)?;
        history.reached(OUTLASTED)?;
        history.reached(UPDATED).map(drop)
    })]
}
