//! 3 racks of 2 nodes x 16 GPUs, with interleaved node names; a base gang with 2 replicas of a scaling group,
//! 2 + 2 pods x 8 GPUs each. A replica fills a rack, so the replicas can only be bound in different racks.

use super::three_racks;
use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Each scaling group replica is bound in one rack, different replicas in different racks")
        .clauses(&[TOPO_05, KUBE_11])
        .nodes(&three_racks(16));

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("replicated").await?;
    test.until_bound(8).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TOPO_05, || {
        let gangs = history.gangs("replicated")?;
        placement::replicas_in_one_domain(history, &gangs, RACK)?;
        binding::all(&history.end(), &gangs)
    })]
}
