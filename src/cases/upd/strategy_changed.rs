//! 1 node x 8 GPUs; a clique of 3 pods x 1 GPU (minimum 2) with OnDelete, and a control of 2 with rolling
//! update. The strategy changes to RollingRecreate, and back to OnDelete during another update.

use super::on_delete::until_ended;
use super::until_first_new_pod;
use crate::prelude::*;

marks! {
    ROLLED = "old pods replaced";
    HALTED = "halted";
    RECYCLED = "gang recreated";
}

const SET: &str = "strategy-changed";
const CLIQUE: &str = "strategy-changed-0-worker";
const CONTROL: &str = "control-strategy";

pub(crate) const CASE: Case = case!("A changed update strategy applies to the update that is running")
    .clauses(&[UPD_24, UPD_34])
    .nodes(&[nodes(1).gpus(8)])
    .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for set in [SET, CONTROL] {
        test.submit_and_converge(set).await?;
    }
    if !test.revise(SET, "2").await? {
        return Ok(());
    }
    until_ended(test, SET, UPD_35).await?;
    set_strategy(test, "RollingRecreate").await?;
    let rolled = Awaited::demanded_by(UPD_24, "every pod of revision 2");
    test.until(rolled, limits::SCHEDULING, |live| updates::pods_are_complete(live, SET).is_ok()).await?;
    test.mark(ROLLED, Value::Null);
    test.until_updated(SET, UPD_02).await?;

    test.revise(SET, "3").await?;
    until_first_new_pod(test, UPD_24, CLIQUE, "3").await?;
    set_strategy(test, "OnDelete").await?;
    until_ended(test, SET, UPD_24).await?;
    // Once a later update has ended, the operator has had time to delete another pod.
    test.revise(CONTROL, "2").await?;
    test.until_updated(CONTROL, UPD_02).await?;
    test.mark(HALTED, Value::Null);

    let halted = test.pods_of(CLIQUE);
    for pod in halted.iter().take(2) {
        test.set_pod_status(pod, Containers::Crashing).await?;
    }
    test.until_recreated(SET, TERM_02, &[CLIQUE], &halted, true).await?;
    test.mark(RECYCLED, Value::Null);
    Ok(())
}

async fn set_strategy(test: &TestContext, strategy: &str) -> Result<(), Stop> {
    test.patch("PodCliqueSet", SET, json!({"spec": {"updateStrategy": {"type": strategy}}})).await?;
    test.caught_up().await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        update_finding(history, UPD_24, || {
            history.reached(ROLLED)?;
            // After this mark, gang termination deletes the pods, not the update.
            let halted = history.marks(HALTED).next().map_or(history.entries.len(), |(place, _)| place);
            updates::updater_deletes_none_on_delete(&history.upto(halted), SET)?;
            history.reached(HALTED)?;
            let live = history.before(halted);
            let is_old = |pod: &Pod<'_>| pod.pod_clique() == Some(CLIQUE) && !is_of_revision(*pod, "3");
            match live.pods().filter(is_old).count() {
                0 => Err(Broken::NotReached("every pod was replaced before the strategy changed".into())),
                _ => Ok(()),
            }
        }),
        update_finding(history, UPD_34, || {
            let (halted, _) = history.reached(HALTED)?;
            history.at(RECYCLED, |recycled| {
                updates::pods_created_since_are_new(&history.upto(recycled), SET, halted, |_| true)
            })
        }),
    ]
}
