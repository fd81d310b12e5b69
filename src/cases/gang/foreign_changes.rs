//! A PodGang of 2 pods gets a foreign annotation and a foreign status; another PodCliqueSet that comes after is whole
//! when the backend is past them. Then the clique grows to 3, a change of generation that it has to react to.

use conformance_contract::ruling::{Broken, Finding};
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_expect::scaling;
use conformance_history::{History, MarkName, SharedMark};
use conformance_judge::{finding, gang_resources, gangs, idle_writes};
use serde_json::json;

const POKED: MarkName = MarkName::of_case("poked");

/// GANG-09.
pub(crate) const CASE: Case = Case::new(
    "A foreign annotation and a foreign status on a PodGang cause no write to its gang resources",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["GANG-09"])
.nodes(&[nodes(1)]);

const SET: &str = "poked";
const POD_GANG: &str = "poked-0";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_converged(SET).await?;
    test.mark(POKED, json!({"name": POD_GANG}));
    test.patch(
        "PodGang",
        POD_GANG,
        json!({"metadata": {"annotations": {"example.com/note": "not for you"}}}),
    )
    .await?;
    test.patch_sub("PodGang", POD_GANG, "status", json!({"status": {"phase": "Running"}})).await?;
    test.submit("beside").await?;
    test.until_converged("beside").await?;
    test.scale("PodClique", "poked-0-worker", 3).await?;
    test.until_converged(SET).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("GANG-09", || {
        let (poked, _) = history.reached(POKED)?;
        let (scaled, _) = history.reached(SharedMark::Scaled)?;
        idle_writes::no_gang_resource_written_of(history, POD_GANG, poked, scaled)?;
        let gangs = scaling::gangs(history, history.submitted(SET)?, history.entries.len());
        gangs::references_are_the_pods(&history.end(), &gangs)?;
        gang_resources::owned(history, &history.end(), &gangs)?;
        match history.marks(SharedMark::Converged).count() {
            3.. => Ok(()),
            _ => Err(Broken::NotReached("the backend has not dealt with the new generation".into())),
        }
    })]
}
