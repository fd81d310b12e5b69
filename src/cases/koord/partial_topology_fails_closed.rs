//! Two PodGangs without a PodCliqueSet. `grouped` requires a rack for one of its two podgroups; `plain` has
//! no topology constraint. Once `plain` has its PodGroups, the backend has processed both.

use conformance_check::fail_closed::failed_closed;
use conformance_check::gang_groups;

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A PodGang with topology for only some of its podgroups fails closed")
    .clauses(&[KOORD_05])
    .needs(&[Need::PodGangsByHand]);

const GROUPED: &str = "grouped";
const PLAIN: &str = "plain";
const CONFIG: &str = "grouped-model-0";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for name in [GROUPED, PLAIN] {
        test.create("PodGang", &test.manifest(name)?).await?;
    }
    test.until_warned(&Gang::named_only(GROUPED), CONFIG).await?;
    let created = Awaited::demanded_by(KOORD_01, "the PodGroups of the PodGang without topology");
    test.until(created, REACTION, |live| gang_groups::complete(live, PLAIN).is_ok()).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KOORD_05, || {
        failed_closed(history, &Gang::named_only(GROUPED), CONFIG)?;
        // Without these PodGroups, the operator may not have processed the other PodGang yet.
        precondition(KOORD_01, gang_groups::complete(&history.end(), PLAIN))
    })]
}
