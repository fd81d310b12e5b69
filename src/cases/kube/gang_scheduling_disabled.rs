//! The operator's profile has `gangScheduling: false`. PodCliqueSet `loose`, 1 + 1 pods, runs without gangs.
//! PodCliqueSet `brought`, whose pods name a PodGroup of the user, is refused.

use conformance_install::cluster_spec::ControllerSpec;

use super::unmanaged_gangs;
use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Without gangScheduling, pods get only the schedulerName and no gang resources")
        .clauses(&[KUBE_13, KUBE_21])
        .nodes(&[nodes(1)])
        .needs(&[Need::ReferenceController])
        .isolation(Isolation::Dedicated);

const BROUGHT: &[Attempt] = &[refused("a scheduling group without gangScheduling", &[], |_| {})];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    restored(test, |test| Box::pin(without_gangs(test))).await
}

async fn without_gangs(test: &mut TestContext) -> Result<(), Stop> {
    test.restart_controller(ControllerSpec::with_profile(json!({"gangScheduling": false}))).await?;
    test.attempt_creates(&test.manifest("brought")?, BROUGHT).await?;
    test.submit("loose").await?;
    test.until_bound(2).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(KUBE_13, || {
            // The restored operator uses gangs again, so the checks end at the restore.
            let (until, _) = history.reached(SharedMark::Restored)?;
            let without_gangs = history.upto(until);
            unmanaged_gangs::pods_are_in(&without_gangs, None)?;
            unmanaged_gangs::no_gang_resources(&without_gangs, &[])
        }),
        finding(KUBE_21, || answers(history, BROUGHT)),
    ]
}
