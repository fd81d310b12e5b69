//! A base PodGang of 3 podgroups, one with surplus (hard gang of 2 + 1 + 2 pods), and a scaled one. Then Volcano's own
//! fields of the base's PodGroup are written, and the backend is made to write it anew.

use conformance_contract::ruling::Finding;
use conformance_contract::target::Target;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_expect::Expected;
use conformance_expect::schedulers::volcano::POD_GROUP;
use conformance_history::{History, SharedMark};
use conformance_judge::{finding, foreign_fields, gang_resources, pods};
use serde_json::json;

/// VOL-01, VOL-02.
pub(crate) const CASE: Case = Case::new(
    "A PodGang becomes a PodGroup that pods name twice, and what is Volcano's in it stays",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["VOL-01", "VOL-02"])
.nodes(&[nodes(1)])
.only(&[Target::VOLCANO]);

const SET: &str = "mapped";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_converged(SET).await?;
    let own = json!({
        "metadata": {"annotations": {"volcano.sh/job-allocated-hypernode": "somewhere"}},
        "spec": {"minResources": {"cpu": "10m"}},
    });
    let gang = test.base_gang(SET)?;
    test.patch_as_others(POD_GROUP, &gang.name, own).await?;
    test.provoke_repair(POD_GROUP, &gang.name, "minMember", json!(1)).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("VOL-01", || {
            history.waited_for(SharedMark::Converged)?;
            let (end, gangs) = (history.end(), history.gangs(SET)?);
            gang_resources::owned(history, &end, &gangs)?;
            gang_resources::as_the_pod_gangs_say(history, &end, &gangs)?;
            foreign_fields::kept(history)
        }),
        finding("VOL-02", || pods::as_they_should_be(history, SET, &history.gangs(SET)?)),
    ]
}
