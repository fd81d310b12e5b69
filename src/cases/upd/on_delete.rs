//! 1 node x 8 GPUs; a clique of 3 pods (minimum 2) with the strategy OnDelete, and a control of 2 pods
//! without it. Both change. One pod of the first is deleted by hand, one is evicted and one is added, and
//! then the first is scaled in by one. The strategy changes to RollingRecreate, and back during another
//! update. Finally two of its pods crash, and it is terminated and created again.

use conformance_check::lifecycle::scaled;
use conformance_driver::context::Loss;
use conformance_facts::health::is_ready;
use conformance_facts::updates::is_of_revision;

use crate::prelude::*;

marks! {
    OUTLASTED = "an update that began later is over";
    BACK = "the deleted pod is back";
    GROWN = "one pod more";
    /// The PodCliqueSet has one pod less, and its clique counts the new pods.
    SHRUNK = "one pod less";
    ROLLED = "what was old was rolled";
    /// The strategy changed back during an update, and a later update has ended.
    HALTED = "halted";
    RECYCLED = "recycled";
}

const SET: &str = "on-delete";
const CLIQUE: &str = "on-delete-0-worker";
const CONTROL: &str = "control-rolling";

pub(crate) const CASE: Case =
    case!("With OnDelete nothing is deleted, and only new pods use the new template")
        .clauses(&[UPD_21, UPD_22, UPD_23, UPD_24, UPD_34, UPD_35, UPD_37])
        .nodes(&[nodes(1).gpus(8)])
        .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for set in [SET, CONTROL] {
        test.submit(set).await?;
        test.until_converged(set).await?;
    }
    if !test.revise(SET, "2").await? {
        return Ok(());
    }
    until_ended(test, UPD_35).await?;
    outlasted(test, "2").await?;
    test.mark(OUTLASTED, Value::Null);

    let pods = test.pods_of(CLIQUE);
    let mut pods = pods.iter();
    let deleted = pods.next().map_or("", String::as_str);
    lose(test, Loss::WithGrace, deleted).await?;
    test.mark(BACK, json!({"name": deleted}));
    lose(test, Loss::Evicted, pods.next().map_or("", String::as_str)).await?;
    test.scale("PodClique", CLIQUE, 4).await?;
    until_ready(test, 4, UPD_34).await?;
    test.until_ready_are_counted(CLIQUE, 4).await?;
    test.mark(GROWN, Value::Null);

    test.scale("PodClique", CLIQUE, 3).await?;
    until_ready(test, 3, UPD_23).await?;
    let counted = Awaited::demanded_by(UPD_37, format!("the new pods of PodClique {CLIQUE} counted"));
    test.until(counted, limits::REACTION, |live| updates::counts_the_new(live, CLIQUE).is_ok()).await?;
    test.mark(SHRUNK, Value::Null);

    strategy(test, "RollingRecreate").await?;
    test.until_updated(SET, UPD_24).await?;
    test.mark(ROLLED, Value::Null);
    test.revise(SET, "3").await?;
    let begun = Awaited::demanded_by(UPD_24, "the update to the third revision started");
    test.until(begun, limits::SCHEDULING, |live| live.pods().any(|pod| is_third(&pod))).await?;
    strategy(test, "OnDelete").await?;
    until_ended(test, UPD_24).await?;
    outlasted(test, "3").await?;
    test.mark(HALTED, Value::Null);
    let halted = test.pods_of(CLIQUE);
    for pod in halted.iter().take(2) {
        test.pod_becomes(pod, Containers::Crashing).await?;
    }
    test.until_recycled(SET, TERM_02, &[CLIQUE], &halted, true).await?;
    test.mark(RECYCLED, Value::Null);
    Ok(())
}

async fn lose(test: &TestContext, by: Loss, pod: &str) -> Result<(), Stop> {
    test.lose_pod_by(by, pod).await?;
    let back = Awaited::demanded_by(UPD_22, format!("Pod {pod} replaced"));
    test.until(back, limits::SCHEDULING, |live| live.get("Pod", pod).is_none() && live.bound_of(SET) == 3)
        .await
}

async fn until_ready(test: &TestContext, count: usize, clause: &'static str) -> Result<(), Stop> {
    let awaited =
        Awaited::demanded_by(clause, format!("{count} pods of PodClique {CLIQUE}, all of them Ready"));
    test.until(awaited, limits::SCHEDULING, |live| {
        let own: Vec<_> = live.pods().filter(|pod| pod.pod_clique() == Some(CLIQUE)).collect();
        own.len() == count && own.iter().all(|pod| is_ready(*pod))
    })
    .await
}

fn is_third(pod: &Pod<'_>) -> bool {
    pod.pod_clique() == Some(CLIQUE) && is_of_revision(*pod, "3")
}

async fn strategy(test: &TestContext, strategy: &str) -> Result<(), Stop> {
    test.patch("PodCliqueSet", SET, json!({"spec": {"updateStrategy": {"type": strategy}}})).await?;
    test.caught_up().await
}

async fn until_ended(test: &TestContext, clause: &'static str) -> Result<(), Stop> {
    let ended = Awaited::demanded_by(clause, "updateEndedAt of PodCliqueSet on-delete");
    test.until(ended, limits::REACTION, |live| {
        let pcs = live.get("PodCliqueSet", SET);
        pcs.is_some_and(|pcs| !pcs["status"]["updateProgress"]["updateEndedAt"].is_null())
    })
    .await
}

async fn outlasted(test: &TestContext, revision: &str) -> Result<(), Stop> {
    test.revise(CONTROL, revision).await?;
    test.until_updated(CONTROL, UPD_02).await
}

/// The point up to which the last strategy is watched; later deletions are a gang termination.
fn until_halted(history: &History) -> usize {
    history.marks(HALTED).next().map_or(history.entries.len(), |(place, _)| place)
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding(UPD_21, || {
            updates::are_admitted(history)?;
            history.at(GROWN, |grown| {
                updates::nothing_is_taken(&history.upto(grown), SET)?;
                history.reached(OUTLASTED).map(drop)
            })
        }),
        finding(UPD_22, || {
            updates::are_admitted(history)?;
            let (lost, mark) = history.reached(SharedMark::PodLost)?;
            let name = mark.detail["name"].as_str().unwrap_or_default();
            history.at(BACK, |place| {
                let part = history.upto(place);
                binding::replaced(&part, lost, name)?;
                binding::others_untouched(&part, lost, &[name])
            })
        }),
        finding(UPD_23, || {
            updates::are_admitted(history)?;
            history.reached(GROWN)?;
            history.at(SHRUNK, |shrunk| scaled::least_dear_go(&history.upto(shrunk), CLIQUE))
        }),
        finding(UPD_24, || {
            updates::are_admitted(history)?;
            history.reached(GROWN)?;
            history.at(ROLLED, |rolled| updates::through(&history.before(rolled), SET))?;
            let halted = until_halted(history);
            updates::nothing_is_taken_on_delete(&history.upto(halted), SET)?;
            history.reached(HALTED)?;
            let live = history.before(halted);
            let left = live.pods().filter(|pod| pod.pod_clique() == Some(CLIQUE) && !is_third(pod)).count();
            match left {
                0 => Err(Broken::NotReached("every pod was replaced before the strategy changed".into())),
                _ => Ok(()),
            }
        }),
        finding(UPD_34, || {
            updates::are_admitted(history)?;
            history.at(GROWN, |grown| updates::made_later_is_new(&history.upto(grown), SET))?;
            history.reached(HALTED)?;
            history.at(RECYCLED, |recycled| {
                let halted = until_halted(history);
                updates::made_since_is_new(&history.upto(recycled), SET, halted, |_| true)
            })
        }),
        finding(UPD_35, || {
            updates::are_admitted(history)?;
            history.at(OUTLASTED, |outlasted| updates::ended_at_once(&history.upto(outlasted), SET))
        }),
        finding(UPD_37, || {
            updates::are_admitted(history)?;
            history.reached(GROWN)?;
            history.at(SHRUNK, |shrunk| updates::counts_the_new(&history.before(shrunk), CLIQUE))
        }),
    ]
}
