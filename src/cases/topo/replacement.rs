//! Rack `small` of one node x 8 GPUs, rack `middle` of one node x 16 GPUs, rack `large` of 2 nodes x 16 GPUs.
//! A gang of 3 pods x 8 GPUs that must be in one rack fits only in `large`, with room for one more pod. One
//! of its pods is lost. The replacement fits in every rack, and the other racks offer an empty node.

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("The replacement of a lost pod is bound in its gang's rack").clauses(&[TOPO_01, KUBE_11]).nodes(&[
        nodes(1).gpus(8).rack("small"),
        nodes(1).gpus(16).rack("middle"),
        nodes(2).gpus(16).rack("large"),
    ]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("replaced").await?;
    test.until_bound(3).await?;
    let first = test.look(|live| live.pods().next().map(|pod| (pod.name().to_owned(), pod.uid().to_owned())));
    let (lost, uid) = first.unwrap_or_default();
    test.force_delete_pod(&lost).await?;
    test.until(&format!("Pod {lost} replaced"), limits::SCHEDULING, |live| {
        live.pods().all(|pod| pod.uid() != uid) && live.bound() == 3
    })
    .await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TOPO_01, || {
        let placed = placement::gang_in_one_domain(history, &history.base("replaced")?.name, RACK);
        all([placed, history.reached(SharedMark::PodLost).map(drop)])?;
        binding::all(&history.end(), &history.gangs("replaced")?)
    })]
}
