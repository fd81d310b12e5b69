//! 2 nodes x 4 GPUs; a gang of 4 pods x 2 GPUs fills both. A container's environment lists its GPUs.

use conformance_check::{devices, kubelets};

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Each GPU is allocated to one container, and each container gets its count")
        .clauses(&[KLT_02])
        .nodes(&[nodes(2).gpus(4)])
        .needs(&[Need::Kubelets]);

const SET: &str = "counted";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gangs = test.submit(SET).await?;
    test.until_running(&gangs).await?;
    test.read_allocations().await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(KLT_02, || {
        let (read, _) = history.reached(SharedMark::Allocated)?;
        let live = history.before(read);
        precondition(KLT_01, kubelets::all_run(&live, &history.gangs(SET)?))?;
        devices::at_most_once(history)?;
        devices::as_requested(history)
    })]
}
