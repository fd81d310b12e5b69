//! 4 nodes x 8 GPUs; a gang of 4 pods x 8 GPUs runs and loses one, four times, each in another way: only the lost pod's node
//! has room.

use conformance_contract::ruling::{Broken, Finding};
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Awaited, Loss, Stop, TestContext};
use conformance_driver::limits;
use conformance_expect::Expected;
use conformance_history::{History, SharedMark};
use conformance_judge::{binding, finding};

/// AON-11.
pub(crate) const CASE: Case = Case::new(
    "A lost pod of a running gang is replaced in the gang, and the others stay where they are",
    |test| Box::pin(drive(test)),
    judge,
)
.clauses(&["AON-11"])
.nodes(&[nodes(4).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit("steady").await?;
    test.until_bound(4).await?;
    for loss in Loss::ALL {
        let first =
            test.look(|live| live.pods().next().map(|pod| (pod.name().to_owned(), pod.uid().to_owned())));
        let (lost, uid) = first.unwrap_or_default();
        test.lose_pod_by(loss, &lost).await?;
        let replaced = Awaited::demanded_by("AON-11", format!("{lost}, {}, replaced", loss.name()));
        test.until(replaced, limits::SCHEDULING, |live| {
            live.pods().all(|pod| pod.uid() != uid) && live.bound() == 4
        })
        .await?;
    }
    Ok(())
}

fn judge(history: &History) -> Vec<Finding> {
    vec![finding("AON-11", || {
        history.reached(SharedMark::PodLost)?;
        let losses: Vec<_> = history.marks(SharedMark::PodLost).collect();
        for (number, (since, mark)) in losses.iter().enumerate() {
            let next = losses.get(number + 1).map_or(history.entries.len(), |(index, _)| *index);
            let part = history.upto(next);
            let lost = mark.detail["name"].as_str().unwrap_or_default();
            binding::replaced(&part, *since, lost)?;
            binding::others_untouched(&part, *since, &[lost])?;
        }
        binding::whole(&history.end(), &history.units("steady")?)?;
        match losses.len() {
            4.. => Ok(()),
            lost => Err(Broken::NotReached(format!("pods were lost in {lost} of 4 ways"))),
        }
    })]
}
