//! 1 node; a clique of 3 pods (minimum 2), a scaling group of 3 replicas (minimum 1), and a canary. The
//! templates change to pods whose containers never start, as with a missing image. Once the canary, which
//! changed later, is updated, they change back.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, Need, nodes};
use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits;
use conformance_driver::pod_health::UNSTARTED;
use conformance_driver::updates::set_revision;
use conformance_history::{History, Live, MarkName, Pod};
use conformance_judge::life::health::is_bound;
use conformance_judge::life::updates::{self, is_of_revision};
use conformance_judge::{all, finding};
use serde_json::{Value, json};

const OUTLASTED: MarkName = MarkName::of_case("an update that began later is over");
const REPAIRED: MarkName = MarkName::of_case("every pod is as it was at first");

const SET: &str = "mute";
const CANARY: &str = "linnet";
const CLIQUE: &str = "mute-0-front";
const GROUP: &str = "mute-0-pool";

pub(crate) const CASE: Case = Case::new(
    "An update whose pods never start stops after one step until it is repaired",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["UPD-04", "UPD-12", "UPD-30", "UPD-32"])
.nodes(&[nodes(1)])
.needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for set in [SET, CANARY] {
        test.submit(set).await?;
        test.until_converged(set).await?;
    }
    if !test.change_templates(SET, |clique| made_to("2", json!({UNSTARTED: "true"}), clique)).await? {
        return Ok(());
    }
    let runs = |live: &Live, clique: &str| {
        let its = |pod: &Pod<'_>| pod.pod_clique().is_some_and(|its| its.starts_with(clique));
        live.pods().any(|pod| its(&pod) && is_of_revision(pod, "2") && is_bound(pod))
    };
    let begun = Awaited::demanded_by("UPD-12", "the first update step started");
    test.until(begun, limits::SCHEDULING, |live| runs(live, CLIQUE) && runs(live, GROUP)).await?;
    test.revise(CANARY, "2").await?;
    test.until_updated(CANARY, "UPD-02").await?;
    test.mark(OUTLASTED, Value::Null);
    test.change_templates(SET, |clique| made_to("1", json!({}), clique)).await?;
    test.until_updated(SET, "UPD-32").await?;
    test.mark(REPAIRED, Value::Null);
    Ok(())
}

fn made_to(revision: &str, labels: Value, clique: &mut Value) {
    set_revision(clique, revision);
    clique["labels"] = labels;
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("UPD-04", || {
            updates::are_admitted(history)?;
            all([updates::steps_do_not_overlap(history, SET), history.reached(REPAIRED).map(drop)])
        }),
        finding("UPD-12", || {
            updates::are_admitted(history)?;
            let outlasted = history.waited_for(OUTLASTED)?;
            updates::stopped_after_the_first_turn(history, SET, outlasted)?;
            history.reached(OUTLASTED).map(drop)
        }),
        finding("UPD-30", || {
            updates::are_admitted(history)?;
            all([updates::minimum_stays(history, SET), history.reached(REPAIRED).map(drop)])
        }),
        finding("UPD-32", || {
            updates::are_admitted(history)?;
            history.reached(OUTLASTED)?;
            let repaired = history.waited_for(REPAIRED)?;
            updates::through(&history.before(repaired), SET)?;
            history.reached(REPAIRED).map(drop)
        }),
    ]
}
