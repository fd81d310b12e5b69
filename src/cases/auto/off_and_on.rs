//! A gang of two standalone cliques and a scaling group of one replica, one pod each. One clique, and then
//! the group, is scaled to 0 and back to 1 without a pause. An operator may see both changes, or only the
//! last.

use conformance_contract::ruling::{Finding, Ruling};
use conformance_contract::violation::Code;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_expect::scaling;
use conformance_history::{History, Live, MarkName};
use conformance_judge::{all, binding, ensure, finding, gangs, violation};
use serde_json::Value;

const BACK: MarkName = MarkName::of_case("both are back");

const SET: &str = "brief";
const PODCLIQUES: [&str; 3] = ["brief-0-steady", "brief-0-blinking", "brief-0-group-0-member"];

const NOT_READY: Code = Code::new("not-ready-after-it-was-scaled-back");

pub(crate) const CASE: Case = Case::new(
    "A clique and scaling group scaled to 0 and back are bound again",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["AUTO-14"])
.nodes(&[nodes(1)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_converged(SET).await?;
    for (kind, name) in [("PodClique", PODCLIQUES[1]), ("PodCliqueScalingGroup", "brief-0-group")] {
        test.scale_as_an_autoscaler(kind, name, 0).await?;
        test.scale_as_an_autoscaler(kind, name, 1).await?;
        test.until_converged(SET).await?;
    }
    test.mark(BACK, Value::Null);
    Ok(())
}

fn ready(live: &Live, clique: &str) -> Ruling {
    let mut its = live.pods().filter(|pod| pod.pod_clique() == Some(clique) && !pod.is_terminating());
    let is_ready = its.any(|pod| pod.condition("Ready").is_some_and(|ready| ready["status"] == "True"));
    ensure(is_ready, || violation(NOT_READY, format!("PodClique {clique}: no pod is Ready, want at least 1")))
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("AUTO-14", || {
        let back = history.waited_for(BACK)?;
        let live = history.before(back);
        let all_gangs = scaling::gangs(history, history.submitted(SET)?, back);
        gangs::base(&live, SET, &all_gangs)?;
        gangs::references_are_the_pods(&live, &all_gangs)?;
        all(PODCLIQUES.map(|clique| binding::exactly(&live, clique, 1)))?;
        all(PODCLIQUES.map(|clique| ready(&live, clique)))?;
        history.reached(BACK).map(drop)
    })]
}
