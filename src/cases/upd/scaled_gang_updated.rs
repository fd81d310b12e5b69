//! 4 nodes x 8 GPUs; a scaling group of 2 replicas of 2 pods x 8 GPUs (minimum 1). A node of the scaled
//! replica is cordoned, so the updated replica is one pod short.

use conformance_expect::Unit;
use conformance_expect::scopes::Scope;

use crate::prelude::*;

marks! {
    ROOM = "room for all again";
    BOUND = "the recreated replica is bound";
}

const SET: &str = "scaled-gang";
const GROUP: &str = "scaled-gang-0-pool";
const SCALED: &str = "scaled-gang-0-pool-1-worker";

pub(crate) const CASE: Case = case!("A scaled gang recreated by an update step is bound whole or waits")
    .clauses(&[UPD_09])
    .nodes(&[nodes(4).gpus(8)]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gangs = test.submit_and_converge(SET).await?;
    let old = test.pods_of(SCALED);
    let node = test.node_of(old.first().map_or("", String::as_str))?;
    test.cordon(&node, true).await?;
    if !test.revise(SET, "2").await? {
        return Ok(());
    }
    test.until_recreated(SCALED, UPD_01, &[SCALED], &old, false).await?;
    for gang in gangs.iter().filter(|gang| !gang.is_base) {
        test.until_released(gang).await?;
    }
    test.scheduler_passes().await?;
    test.mark(ROOM, Value::Null);
    test.cordon(&node, false).await?;
    let units = units_of_scaled(test.target, &gangs);
    let bound = Awaited::demanded_by(UPD_09, "the pods of the recreated replica bound");
    test.until(bound, SCHEDULING, |live| binding::whole(live, &units).is_ok()).await?;
    test.mark(BOUND, Value::Null);
    Ok(())
}

fn units_of_scaled(target: Target, gangs: &[Gang]) -> Vec<Unit> {
    gangs.iter().filter(|gang| !gang.is_base).flat_map(|gang| gang.units(target)).collect()
}

fn check(history: &History) -> Vec<Finding> {
    vec![update_finding(history, UPD_09, || {
        let units = units_of_scaled(history.header.target, &history.gangs(SET)?);
        let replica = Scope::GroupReplica { group: GROUP.into(), index: 1 };
        // No pod of the replica may be bound before there is room, even if the case stopped early.
        let room = history.marks(ROOM).next().map_or(history.entries.len(), |(place, _)| place);
        let never =
            binding::never(&generations::only_generation(&history.upto(room), &replica, 1), &units, None);
        all([never, scheduler_passed(history)])?;
        history.reached(ROOM)?;
        history.at(BOUND, |bound| binding::whole(&history.before(bound), &units))
    })]
}
