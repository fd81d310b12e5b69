//! 1 node without GPUs. A base gang of a leader x 8 GPUs, which fits nowhere, a side clique of 1 pod, and a
//! scaling group of 1 replica of 2 pods. While the base gang waits, the group is scaled to 3. With a node x 8
//! GPUs, all 8 pods are bound. The side clique is scaled to 2 pods, and the leader crashes for the 5 s delay.

use crate::prelude::*;

marks! {
    BOUND = "all bound";
    RECYCLED = "recycled and whole";
}

const SET: &str = "pending-base";
const GROUP: &str = "pending-base-0-pool";
const SIDE: &str = "pending-base-0-side";
const CLIQUES: [&str; 5] = [
    "pending-base-0-leader",
    SIDE,
    "pending-base-0-pool-0-worker",
    "pending-base-0-pool-1-worker",
    "pending-base-0-pool-2-worker",
];

pub(crate) const CASE: Case =
    case!("A group scaled while its base waits is bound; gang termination keeps its replicas")
        .clauses(&[AUTO_09, AUTO_16])
        .nodes(&[nodes(1), nodes(1).gpus(8).joining(1)])
        .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gangs = test.submit(SET).await?;
    for base in gangs.iter().filter(|gang| gang.is_base) {
        test.until_released(base).await?;
    }
    test.scale_as_an_autoscaler("PodCliqueScalingGroup", GROUP, 3).await?;
    let created = Awaited::demanded_by(GANG_03, "pods of the group's new replicas");
    test.until(created, REACTION, |live| {
        let pods_of = |clique: &str| live.pods().filter(|pod| pod.pod_clique() == Some(clique)).count();
        pods_of(CLIQUES[3]) == 2 && pods_of(CLIQUES[4]) == 2
    })
    .await?;
    test.scheduler_passes().await?;
    test.add_nodes(1).await?;
    test.until_bound(8).await?;
    test.until_converged(SET).await?;
    test.scale_as_an_autoscaler("PodClique", SIDE, 2).await?;
    test.until_converged(SET).await?;
    test.mark(BOUND, Value::Null);
    let old: Vec<_> = CLIQUES.iter().flat_map(|clique| test.pods_of(clique)).collect();
    test.set_first_pod_status(CLIQUES[0], Containers::Crashing).await?;
    test.until_recreated("replica 0 of PodCliqueSet pending-base", AUTO_09, &CLIQUES, &old, true).await?;
    test.until_converged(SET).await?;
    test.mark(RECYCLED, Value::Null);
    Ok(())
}

fn gangs(history: &History) -> Result<Vec<Gang>, Broken> {
    Ok(scaling::gangs(history, history.submitted(SET)?, history.entries.len()))
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(AUTO_09, || {
            history.reached(BOUND)?;
            history.at(RECYCLED, |place| {
                let live = history.before(place);
                scaled::requests_replicas(&live, "PodCliqueScalingGroup", GROUP, 3)?;
                scaled::requests_replicas(&live, "PodClique", SIDE, 2)?;
                binding::all(&live, &gangs(history)?)
            })
        }),
        finding(AUTO_16, || {
            let gangs = gangs(history)?;
            let scaled: Vec<_> = gangs.iter().filter(|gang| !gang.is_base).collect();
            let units: Vec<_> = scaled.iter().flat_map(|gang| gang.units(history.header.target)).collect();
            let bound = history.marks(BOUND).next().map_or(history.entries.len(), |(at, _)| at);
            let first = history.upto(bound);
            // The base gang fits only once the node joins, which never happens if the case stopped early.
            let barrier = history.marks(SharedMark::SchedulerPassed).next().map(|(place, _)| place);
            let never = binding::never(&first, &units, barrier);
            all([never, binding::base_first(&first, &gangs), scheduler_passed(history)])?;
            history.at(BOUND, |place| binding::all(&history.before(place), &gangs))
        }),
    ]
}
