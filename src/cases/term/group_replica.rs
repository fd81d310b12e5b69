//! 1 node x 8 GPUs and 1 node without GPUs; a clique of one pod x 8 GPUs, and a scaling group of 3 replicas
//! of 2 pods without GPUs (minimum 2). Two replicas are breached one after the other, and then two at once.
//! Before that, the node x 8 GPUs is cordoned, so there is room for the scaled PodGang but not for the base
//! PodGang. The delay of 9 s is longer than the base PodGang stays partially bound, because some backends
//! terminate such a gang too (TERM-17).

use conformance_expect::scopes::{Scope, SetReplica};

use super::replica;
use crate::prelude::*;

marks! { HANDLED = "every breach handled"; }

const SET: &str = "breached-group";
const LEADER: &str = "breached-group-0-leader";
const WORKERS: [&str; 3] =
    ["breached-group-0-pool-0-worker", "breached-group-0-pool-1-worker", "breached-group-0-pool-2-worker"];

pub(crate) const CASE: Case =
    case!("A scaling group replica is terminated alone unless too few other replicas remain")
        .clauses(&[TERM_04, TERM_10, TERM_19, TERM_31])
        .nodes(&[nodes(1).gpus(8), nodes(1)])
        .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gangs = test.submit(SET).await?;
    test.until_started(SET).await?;
    for worker in [WORKERS[2], WORKERS[0]] {
        let old = test.pods_of(worker);
        test.set_first_pod_status(worker, Containers::Crashing).await?;
        test.until_recreated(worker, TERM_04, &[worker], &old, true).await?;
        test.until_converged(SET).await?;
    }
    let all = [LEADER, WORKERS[0], WORKERS[1], WORKERS[2]];
    let old: Vec<_> = all.iter().flat_map(|clique| test.pods_of(clique)).collect();
    let room = test.look(|live| {
        let of_leader = live.pods().find(|pod| pod.pod_clique() == Some(LEADER));
        of_leader.and_then(|pod| pod.node().map(str::to_owned)).unwrap_or_default()
    });
    test.cordon(&room, true).await?;
    for worker in [WORKERS[1], WORKERS[2]] {
        test.set_first_pod_status(worker, Containers::Crashing).await?;
    }
    test.until_recreated("replica 0 of PodCliqueSet breached-group", TERM_04, &all, &old, false).await?;
    // On a slow machine, the partially bound gang would otherwise be terminated (TERM-17).
    test.delay_termination(SET, "1h").await?;
    for base in gangs.iter().filter(|gang| gang.is_base) {
        test.scheduler_passes_over(base).await?;
    }
    // Without this wait, the pod might be bound again before the status reports 0 scheduled pods.
    let counted = Awaited::demanded_by(STAT_02, format!("no pod of PodClique {LEADER} counted as scheduled"));
    test.until(counted, REACTION, |live| {
        live.get("PodClique", LEADER)
            .is_some_and(|leader| leader["status"]["scheduledReplicas"].as_u64().unwrap_or(0) == 0)
    })
    .await?;
    test.cordon(&room, false).await?;
    test.until_converged(SET).await?;
    test.mark(HANDLED, Value::Null);
    Ok(())
}

fn pool(index: usize) -> Scope {
    Scope::GroupReplica { group: "breached-group-0-pool".into(), index }
}

fn each_once(history: &History, replica: &SetReplica) -> Ruling {
    for scope in [pool(2), pool(0), replica.scope()] {
        termination::recreated(history, replica, &scope)?;
        termination::times(history, replica, &scope, 1)?;
    }
    // This replica is breached only together with another one.
    termination::times(history, replica, &pool(1), 0)
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(TERM_04, || {
            let replica = replica(history, SET, 0)?;
            history.reached(HANDLED)?;
            each_once(history, &replica)
        }),
        finding(TERM_10, || {
            let replica = replica(history, SET, 0)?;
            let recreated = generations::only_generation(history, &replica.scope(), 1);
            binding::base_first(&recreated, &history.gangs(SET)?)?;
            history.reached(HANDLED).map(drop)
        }),
        finding(TERM_19, || {
            let replica = replica(history, SET, 0)?;
            termination::shown_in_statuses(history, &replica)?;
            history.reached(HANDLED).map(drop)
        }),
        finding(TERM_31, || {
            let replica = replica(history, SET, 0)?;
            termination::reported_by_events(history, &replica)?;
            // The recreated leader has no room while its node is cordoned, so its clique has lost all pods.
            termination::loss_of_all_pods_reported(history, LEADER)?;
            history.reached(HANDLED).map(drop)
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::tests::pod_of;
    use super::*;

    /// A pod of this replica of the group, or the pod of the leader.
    fn pod(replica: Option<usize>, generation: usize) -> Value {
        let Some(index) = replica else {
            return pod_of(SET, LEADER, &format!("leader-{generation}"), Some("n"));
        };
        let mut pod = pod_of(SET, WORKERS[index], &format!("worker-{index}-{generation}"), Some("n"));
        pod["metadata"]["labels"][names::SCALING_GROUP] = json!("breached-group-0-pool");
        pod["metadata"]["labels"][names::SCALING_GROUP_REPLICA_INDEX] = json!(index.to_string());
        pod
    }

    /// These replicas are recreated alone, one after the other, and then everything.
    fn ruling(alone: &[usize]) -> Ruling {
        let pcs = grove_yaml::documents(crate::manifest("term/group-replica")).unwrap().remove(0);
        let parts = [None, Some(0), Some(1), Some(2)];
        let running = Story::flat().submitted(pcs).all_added(parts.map(|part| pod(part, 0)));
        let story = alone.iter().fold(running, |story, &index| {
            story.later(1).deleted(pod(Some(index), 0)).added(pod(Some(index), 1))
        });
        let generation = |part: Option<usize>| usize::from(part.is_some_and(|index| alone.contains(&index)));
        let deleted =
            parts.iter().fold(story.later(1), |story, &part| story.deleted(pod(part, generation(part))));
        let history = deleted.all_added(parts.map(|part| pod(part, 2))).mark(HANDLED, Value::Null).end();
        check(&history).remove(0).ruling
    }

    #[rstest]
    #[case::each_breached_one(&[2, 0], &[])]
    #[case::not_the_second(&[2], &["wrong-number-of-gang-terminations"])]
    #[case::one_that_is_not_breached_alone(&[2, 0, 1], &["wrong-number-of-gang-terminations"])]
    fn only_breached_replicas_are_recreated_alone(#[case] alone: &[usize], #[case] wanted: &[&str]) {
        assert_eq!(codes(ruling(alone)), wanted);
    }
}
