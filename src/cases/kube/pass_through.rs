//! The profile has `gangScheduling: false`. `loose`, 1 + 1 pods, runs without gangs; `brought`, whose pods
//! name a PodGroup of their own, is refused.

use conformance_cluster::local::ControllerSpec;
use conformance_contract::ruling::Finding;
use conformance_contract::target::KUBE;
use conformance_driver::case::{Case, Isolation, Need, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::control_plane;
use conformance_expect::Expected;
use conformance_history::{History, SharedMark};
use conformance_judge::admission::{Attempt, answers, refused};
use conformance_judge::{binding, finding};
use serde_json::json;

use super::hands_off;

pub(crate) const CASE: Case = Case::new(
    "Without gangScheduling, pods get only the schedulerName and no gang resources",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["KUBE-13", "KUBE-21"])
.nodes(&[nodes(1)])
.needs(&[Need::ReferenceController])
.isolation(Isolation::Dedicated)
.only(KUBE);

const BROUGHT: &[Attempt] =
    &[refused("a scheduling group without gangScheduling", &["schedulingGroup"], |_| {})];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    control_plane::restored(test, |test| Box::pin(without_gangs(test))).await
}

async fn without_gangs(test: &mut TestContext) -> Result<(), Stop> {
    test.restart_controller(ControllerSpec::with_profile(json!({"gangScheduling": false}))).await?;
    test.creates(&test.manifest("brought")?, BROUGHT).await?;
    test.submit("loose").await?;
    test.until_bound(2).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("KUBE-13", || {
            // The restored controller schedules gangs again.
            let (until, _) = history.reached(SharedMark::PutBack)?;
            let without_gangs = history.upto(until);
            hands_off::pods_are_in(&without_gangs, None)?;
            hands_off::no_gang_resources(&without_gangs, &[])?;
            binding::whole(&without_gangs.end(), &without_gangs.units("loose")?)
        }),
        finding("KUBE-21", || answers(history, BROUGHT)),
    ]
}
