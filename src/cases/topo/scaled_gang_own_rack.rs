//! 3 racks of 2 nodes x 16 GPUs, with interleaved node names; a base gang and two scaled gangs of 4 pods x 8
//! GPUs each. Every gang fills a rack, so a gang that is spread takes the room of another gang.

use super::three_racks;
use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Each scaled gang satisfies the PodCliqueSet's constraint in its own rack")
        .clauses(&[TOPO_10, KUBE_11])
        .nodes(&three_racks(16));

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("scattered").await?;
    test.until_bound(12).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TOPO_10, || {
        let gangs = history.gangs("scattered")?;
        gangs
            .iter()
            .filter(|gang| !gang.is_base)
            .try_for_each(|gang| placement::gang_in_one_domain(history, &gang.name, RACK))?;
        binding::all(&history.end(), &gangs)
    })]
}
