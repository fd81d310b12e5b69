//! 1 node x 8 GPUs and 1 without; a clique of one pod x 8 GPUs, and a scaling group of 2 replicas of 2 pods
//! without GPUs (minimum 1). First a pod of the scaled replica crashes, then one of the replica in the base
//! PodGang. Then one of each crashes while there is room only for the scaled PodGang, not for the base. Then
//! the room is back.

use std::time::Duration;

use conformance_expect::scopes::{Scope, SetReplica};
use conformance_facts::generations;

use super::replica;
use crate::prelude::*;

marks! { ANSWERED = "every loss answered"; }

/// The termination delay. It is longer than the time for which the base PodGang stays partially bound without
/// room, because some backends terminate such a gang too (TERM-17).
const DELAY: Duration = Duration::from_secs(9);

const SET: &str = "colony";
const LEAD: &str = "colony-0-lead";
const UNITS: [&str; 2] = ["colony-0-wing-0-unit", "colony-0-wing-1-unit"];

pub(crate) const CASE: Case =
    case!("A scaling group replica is terminated alone unless too few other replicas remain")
        .clauses(&[TERM_04, TERM_10, TERM_19, TERM_31])
        .nodes(&[nodes(1).gpus(8), nodes(1)])
        .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gangs = test.submit(SET).await?;
    test.until_started(SET).await?;
    for unit in [UNITS[1], UNITS[0]] {
        let old = test.pods_of(unit);
        test.first_pod_becomes(unit, Containers::Crashing).await?;
        test.until_recycled(unit, TERM_04, &[unit], &old, true).await?;
        test.until_converged(SET).await?;
    }
    let all = [LEAD, UNITS[0], UNITS[1]];
    let old: Vec<_> = all.iter().flat_map(|clique| test.pods_of(clique)).collect();
    let room = test.look(|live| {
        let of_lead = live.pods().find(|pod| pod.pod_clique() == Some(LEAD));
        of_lead.and_then(|pod| pod.node().map(str::to_owned)).unwrap_or_default()
    });
    test.cordon(&room, true).await?;
    for unit in UNITS {
        test.first_pod_becomes(unit, Containers::Crashing).await?;
    }
    test.until_recycled("replica 0 of PodCliqueSet colony", TERM_04, &all, &old, false).await?;
    // On a slow machine, the partially bound gang would otherwise be terminated (TERM-17).
    test.delay_termination(SET, "1h").await?;
    for base in gangs.iter().filter(|gang| gang.is_base) {
        test.scheduler_passes_over(base).await?;
    }
    // Otherwise the pod might be bound again before the status counts none.
    let counted = Awaited::demanded_by(STAT_02, format!("no pod of PodClique {LEAD} counted as scheduled"));
    test.until(counted, REACTION, |live| {
        live.get("PodClique", LEAD)
            .is_some_and(|lead| lead["status"]["scheduledReplicas"].as_u64().unwrap_or(0) == 0)
    })
    .await?;
    test.cordon(&room, false).await?;
    test.until_converged(SET).await?;
    test.mark(ANSWERED, Value::Null);
    Ok(())
}

fn wing(index: usize) -> Scope {
    Scope::GroupReplica { group: "colony-0-wing".into(), index }
}

fn each_once(history: &History, replica: &SetReplica) -> Ruling {
    termination::nothing_else_deleted(history, replica)?;
    for scope in [wing(1), wing(0), replica.scope()] {
        termination::after_the_delay(history, replica, &scope, DELAY)?;
        termination::times(history, replica, &scope, 1)?;
    }
    Ok(())
}

fn judge(history: &History) -> Vec<Finding> {
    vec![
        finding(TERM_04, || {
            let replica = replica(history, SET, 0)?;
            history.at(ANSWERED, |_| each_once(history, &replica))
        }),
        finding(TERM_10, || {
            let replica = replica(history, SET, 0)?;
            let again = generations::only(history, &replica.scope(), 1);
            binding::base_first(&again, &history.gangs(SET)?)?;
            history.reached(ANSWERED)?;
            binding::whole(&again.end(), &history.units(SET)?)
        }),
        finding(TERM_19, || {
            let replica = replica(history, SET, 0)?;
            termination::shown_in_statuses(history, &replica)?;
            history.reached(ANSWERED).map(drop)
        }),
        finding(TERM_31, || {
            let replica = replica(history, SET, 0)?;
            termination::reported_by_events(history, &replica)?;
            // There is no room for the replacement of the lost pod.
            termination::all_lost_told(history, LEAD)?;
            history.reached(ANSWERED).map(drop)
        }),
    ]
}
