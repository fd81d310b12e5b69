//! 4 nodes x 8 GPUs; two cliques of 2 pods x 8 GPUs: room for exactly 4 pods.

use conformance_check::invariants;

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A gang that exactly fills its nodes is bound whole")
    .clauses(&[AON_01, AON_14])
    .nodes(&[nodes(4).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("fits").await?;
    test.until_bound(4).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(AON_01, || binding::whole(&history.end(), &history.units("fits")?)),
        finding(AON_14, || {
            // The capacity check proves nothing unless the pods are bound.
            let is_full = precondition(AON_01, binding::whole(&history.end(), &history.units("fits")?));
            all([invariants::within_capacity(history), is_full])
        }),
    ]
}
