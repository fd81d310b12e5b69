//! 3 racks of 2 nodes x 8 GPUs, with interleaved node names; a base gang and two scaled gangs of 2 pods x 8
//! GPUs each. Their clique requires one rack, and the PodCliqueSet has no constraint.

use super::three_racks;
use crate::prelude::*;

pub(crate) const CASE: Case = case!("Scaled gangs satisfy the constraints of their cliques")
    .clauses(&[TOPO_06, KUBE_11])
    .nodes(&three_racks(8))
    .with_feature(Feature::TopologyPerClique);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("clique-packed").await?;
    test.until_bound(6).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TOPO_06, || {
        let gangs = history.gangs("clique-packed")?;
        placement::replicas_in_one_domain(history, &gangs, RACK)?;
        binding::all(&history.end(), &gangs)
    })]
}
