//! 4 nodes x 8 GPUs; two cliques of 2 pods x 8 GPUs: room for exactly 4 pods.

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_expect::Expected;
use conformance_history::History;
use conformance_judge::{all, binding, finding, invariants, premise};

pub(crate) const CASE: Case =
    Case::new("A gang that exactly fills its nodes is bound whole", |test| Box::pin(drive(test)), judge)
        .clauses(&["AON-01", "AON-14"])
        .nodes(&[nodes(4).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("fits").await?;
    test.until_bound(4).await
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding("AON-01", || binding::whole(&history.end(), &history.units("fits")?)),
        finding("AON-14", || {
            // The capacity check proves nothing unless the pods are bound.
            let is_full = premise("AON-01", binding::whole(&history.end(), &history.units("fits")?));
            all([invariants::within_capacity(history), is_full])
        }),
    ]
}
