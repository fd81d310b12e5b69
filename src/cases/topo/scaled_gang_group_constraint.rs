//! A block of 3 racks of 2 nodes x 16 GPUs; a base gang and two scaled gangs of 4 pods x 8 GPUs each. The
//! PodCliqueSet requires a block, which any placement satisfies here. For scaled gangs, the scaling group's
//! required rack replaces the block.

use super::three_racks;
use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Scaled gangs use the scaling group's constraint, not the wider PodCliqueSet constraint")
        .clauses(&[TOPO_05, KUBE_11])
        .nodes(&three_racks(16))
        .with_feature(Feature::TopologyPerGroup);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("group-packed").await?;
    test.until_bound(12).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TOPO_05, || {
        let gangs = history.gangs("group-packed")?;
        placement::replicas_in_one_domain(history, &gangs, RACK)?;
        binding::all(&history.end(), &gangs)
    })]
}
