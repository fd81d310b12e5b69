//! `brought`, 2 pods, in a PodGroup of 2 that the user created.

use conformance_contract::ruling::Finding;
use conformance_contract::target::KUBE;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_expect::Expected;
use conformance_history::History;
use conformance_judge::{binding, finding};
use serde_json::json;

use super::hands_off;

pub(crate) const CASE: Case = Case::new(
    "Pods with their own scheduling group keep it and get no gang resources",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["KUBE-15"])
.nodes(&[nodes(1)])
.only(KUBE);

const MINE: &str = "mine";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let group = json!({
        "metadata": {"name": MINE},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    });
    test.create("PodGroup", &group).await?;
    test.submit("brought").await?;
    test.until_bound(2).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("KUBE-15", || {
        hands_off::pods_are_in(history, Some(MINE))?;
        hands_off::no_gang_resources(history, &[MINE])?;
        hands_off::marked_external(history)?;
        binding::whole(&history.end(), &history.units("brought")?)
    })]
}
