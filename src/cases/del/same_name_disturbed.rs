//! 4 nodes x 64 GPUs; eight gangs of 4 pods x 8 GPUs, which fit all. Each runs, is deleted, and is created again under the
//! same name at once, while another kind of failure comes between the operator and the API server.

use std::collections::BTreeSet;

use conformance_contract::ruling::Finding;
use conformance_driver::case::{Case, Isolation, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::control_plane::restored;
use conformance_driver::limits;
use conformance_expect::Expected;
use conformance_history::{History, SharedMark};
use conformance_judge::{binding, finding};

use super::same_name_again::nothing_survived;
use crate::before_put_back::before_put_back;
use crate::disturbances::{self, Disturbed};

/// DEL-08, with late watches, refusals and lost answers.
pub(crate) const CASE: Case = Case::new(
    "A PodCliqueSet of a deleted one's name is scheduled as if it were the first, whatever fails on the operator's way",
    |test| Box::pin(restored(test, |test| Box::pin(drive(test)))),
    judge,
)
.clauses(&["DEL-08"])
.nodes(&[nodes(4).gpus(64)])
.isolation(Isolation::Dedicated);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let mut disturbed = Disturbed::begin(test).await?;
    let mut before = 0;
    while disturbed.next(test).await? {
        let mut pcs = test.manifest("disturbed")?;
        let name = format!("disturbed-{before}");
        pcs["metadata"]["name"] = name.as_str().into();
        test.submit_value(pcs.clone()).await?;
        test.until_bound(before + 4).await?;
        let old: BTreeSet<_> = test.look(|live| live.pods().map(|pod| pod.uid().to_owned()).collect());
        let earlier = before;
        test.delete("PodCliqueSet", &name).await?;
        test.until(&format!("the first {name} gone"), limits::CLEANUP, |live| {
            live.get("PodCliqueSet", &name).is_none()
        })
        .await?;
        test.submit_value(pcs).await?;
        before += 4;
        test.until(&format!("the second {name} bound"), limits::RECOVERY, |live| {
            let kept = live.pods().filter(|pod| old.contains(pod.uid())).count();
            live.bound() == before && kept == earlier
        })
        .await?;
    }
    Ok(())
}

fn judge(history: &History) -> Vec<Finding> {
    let history = &before_put_back(history);
    vec![finding("DEL-08", || {
        history.reached(SharedMark::Deleted)?;
        let end = history.end();
        for (deleted, mark) in history.marks(SharedMark::Deleted) {
            let set = mark.detail["name"].as_str().unwrap_or_default();
            binding::whole(&end, &history.units(set)?)?;
            nothing_survived(history, deleted, set)?;
        }
        disturbances::took_place(history)
    })]
}
