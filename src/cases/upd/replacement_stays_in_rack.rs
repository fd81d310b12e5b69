//! Rack `home` has 2 nodes x 8 GPUs; rack `away` has one node x 8. A gang of 2 pods x 8 GPUs, both required,
//! requires one rack. While `home` is cordoned, the first replacement fits only in `away`.

use conformance_facts::updates::is_of_revision;

use crate::prelude::*;

marks! {
    TRIED = "the replacement was tried";
    UPDATED = "every pod is new";
}

const SET: &str = "in-rack";
/// Number of nodes in rack `home`; the others are in `away`.
const HOME: usize = 2;

pub(crate) const CASE: Case = Case::new(
    "A pod replaced by an update waits for room in its gang's rack",
    |test| Box::pin(drive(test, SET)),
    |history| check(history, SET, RACK),
)
.clauses(&[UPD_19])
.nodes(&[nodes(2).gpus(8).rack("home"), nodes(1).gpus(8).rack("away")]);

pub(super) async fn drive(test: &mut TestContext, set: &str) -> Result<(), Stop> {
    only_home_is_open(test, true).await?;
    test.submit(set).await?;
    test.until_converged(set).await?;
    only_home_is_open(test, false).await?;
    if !test.revise(set, "2").await? {
        return Ok(());
    }
    let clique = format!("{set}-0-worker");
    let released = Awaited::demanded_by(UPD_08, "the first replacement released to the scheduler");
    test.until(released, SCHEDULING, |live| {
        let mut pods = live.pods().filter(|pod| pod.pod_clique() == Some(&clique));
        pods.any(|pod| is_of_revision(pod, "2") && pod.gates().is_empty())
    })
    .await?;
    test.canaries().await?;
    test.mark(TRIED, Value::Null);
    only_home_is_open(test, true).await?;
    test.until_updated(set, UPD_19).await?;
    test.mark(UPDATED, Value::Null);
    Ok(())
}

async fn only_home_is_open(test: &TestContext, is_open: bool) -> Result<(), Stop> {
    for (index, node) in test.nodes.iter().enumerate() {
        test.cordon(&node.name, (index < HOME) != is_open).await?;
    }
    Ok(())
}

pub(super) fn check(history: &History, set: &str, level: &str) -> Vec<Finding> {
    vec![finding(UPD_19, || {
        updates::are_admitted(history)?;
        history.at(UPDATED, |updated| {
            let live = history.before(updated);
            all([
                placement::gang_in_one_domain(history, &history.base(set)?.name, level),
                updates::one_step_at_a_time(history, set),
                updates::is_complete(history, updated, set),
                binding::whole(&live, &history.units(set)?),
            ])?;
            history.reached(TRIED).map(drop)
        })
    })]
}
