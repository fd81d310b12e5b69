//! 2 nodes with 1 device each; a gang of 1 pod with 1 device runs, and another of 2 pods with 1 device each
//! waits: one short. Each pod has a claim of its own. The first gang is deleted, and its claim with it.

use conformance_check::invariants;
use conformance_check::lifecycle::claims;

use super::Reason;
use crate::prelude::*;

const SET: &str = "claimant";
const HOLDER: &str = "device-holder";

pub(crate) const CASE: Case = case!("A waiting gang is bound soon after a device is free again")
    .clauses(&[WAKE_10, GANG_30])
    .needs(&[Need::Devices])
    .nodes(&[nodes(2)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.publish_devices(1).await?;
    super::drive(test, SET, Reason::HeldBy(HOLDER)).await
}

fn check(history: &History) -> Vec<Finding> {
    let mut findings = super::check(history, WAKE_10, SET);
    findings.push(finding(GANG_30, || {
        invariants::claims_are_added(history)?;
        claims::as_shared(&history.end(), history.submitted(SET)?)
    }));
    findings
}
