//! 1 node x 2 GPUs; 3 replicas of a pod x 1 GPU: one does not fit. Of the other two, the later crashes. Then
//! the template changes, and a node with a GPU joins.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, Need, nodes};
use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits;
use conformance_driver::pod_health::Containers;
use conformance_history::{History, Live, MarkName};
use conformance_judge::life::health::is_ready;
use conformance_judge::life::updates::{self, is_of_revision};
use conformance_judge::{all, finding};
use serde_json::Value;

const UPDATED: MarkName = MarkName::of_case("every pod is new");

const SET: &str = "ladder";
const CLIQUES: [&str; 3] = ["ladder-0-rung", "ladder-1-rung", "ladder-2-rung"];

pub(crate) const CASE: Case = Case::new(
    "An update starts with replicas that are unbound or below their minimum",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["UPD-28"])
.nodes(&[nodes(1).gpus(2), nodes(1).gpus(1).joining(1)])
.needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for gang in test.submit(SET).await? {
        test.until_released(&gang).await?;
    }
    let started = Awaited::demanded_by("AON-01", "two of three replicas bound and Ready");
    test.until(started, limits::SCHEDULING, |live| ready(live).count() == 2).await?;
    let both: Vec<_> = test.look(|live| ready(live).collect());
    // Each reports a breach until it is known to run.
    for clique in &both {
        test.until_breach_is("False", clique).await?;
    }
    let crashing = both.last().copied().unwrap_or_default();
    test.first_pod_becomes(crashing, Containers::Crashing).await?;
    test.until_breach_is("True", crashing).await?;
    if !test.revise(SET, "2").await? {
        return Ok(());
    }
    let begun = Awaited::demanded_by("UPD-02", "the first pod of revision 2");
    test.until(begun, limits::SCHEDULING, |live| live.pods().any(|pod| is_of_revision(pod, "2"))).await?;
    test.nodes_join(1).await?;
    test.until_updated(SET, "UPD-02").await?;
    test.mark(UPDATED, Value::Null);
    Ok(())
}

fn ready(live: &Live) -> impl Iterator<Item = &'static str> {
    let is_ready = |clique: &str| live.pods().any(|pod| pod.pod_clique() == Some(clique) && is_ready(pod));
    CLIQUES.into_iter().filter(move |clique| is_ready(clique))
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("UPD-28", || {
        updates::are_admitted(history)?;
        // No clause decides whether the replica without room blocks the others after its update step.
        all([updates::down_go_first(history, SET), history.reached(UPDATED).map(drop)])
    })]
}
