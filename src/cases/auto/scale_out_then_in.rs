//! 4 nodes x 8 GPUs; a clique of 2 pods x 8 GPUs, both required, and a scaling group of pods without
//! requests. The clique is scaled 2 -> 5: one pod waits. Three scale-ins must delete the waiting pod, then a
//! pod that is not Ready, then the newest pod.

use conformance_check::gangs;
use conformance_history::counted_pods;

use crate::prelude::*;

marks! {
    SURPLUS_WAITS = "surplus waits";
    BEFORE_GROUP_SCALE_IN = "group about to be scaled in";
    GROUP_SCALED_IN = "group scaled in";
}

const SET: &str = "surplus";
const CLIQUE: &str = "surplus-0-worker";
const GROUP: &str = "surplus-0-pool";

pub(crate) const CASE: Case =
    case!("Scale-out adds surplus to a running gang, and scale-in deletes waiting pods first")
        .clauses(&[AUTO_03, AUTO_07, AUTO_15])
        .nodes(&[nodes(4).gpus(8)])
        .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    test.scale_as_an_autoscaler("PodClique", CLIQUE, 5).await?;
    // Four pods of the clique and one of the group.
    test.until_bound(5).await?;
    let added = Awaited::demanded_by(AUTO_03, format!("5 pods of PodClique {CLIQUE}"));
    test.until(added, REACTION, |live| clique_pods(live).count() == 5).await?;
    let released = Awaited::demanded_by(GANG_07, "the surplus pods released to the scheduler");
    test.until(released, REACTION, |live| clique_pods(live).all(|pod| pod.gates().is_empty())).await?;
    test.canaries().await?;
    test.until_resources_match(SET).await?;
    test.mark(SURPLUS_WAITS, Value::Null);
    scale_in_to(test, 4).await?;
    let crashing = test.look(|live| {
        let surplus = clique_pods(live).filter(|pod| index(*pod) >= 2);
        surplus.min_by_key(|pod| index(*pod)).map(|pod| pod.name().to_owned())
    });
    let crashing = crashing.unwrap_or_default();
    test.set_pod_status(&crashing, Containers::Crashing).await?;
    test.until_ready_replicas(CLIQUE, 3).await?;
    scale_in_to(test, 3).await?;
    test.scale_as_an_autoscaler("PodClique", CLIQUE, 4).await?;
    test.until_converged(SET).await?;
    scale_in_to(test, 3).await?;
    test.until_converged(SET).await?;
    test.scale_as_an_autoscaler("PodCliqueScalingGroup", GROUP, 3).await?;
    test.until_converged(SET).await?;
    test.mark(BEFORE_GROUP_SCALE_IN, Value::Null);
    test.scale_as_an_autoscaler("PodCliqueScalingGroup", GROUP, 2).await?;
    test.until_converged(SET).await?;
    test.mark(GROUP_SCALED_IN, Value::Null);
    Ok(())
}

fn clique_pods(live: &Live) -> impl Iterator<Item = Pod<'_>> {
    pods_of(live, CLIQUE)
}

fn index(pod: Pod<'_>) -> usize {
    pod.label(names::POD_INDEX).and_then(|index| index.parse().ok()).unwrap_or(0)
}

async fn scale_in_to(test: &TestContext, replicas: u32) -> Result<(), Stop> {
    test.caught_up().await?;
    test.scale_as_an_autoscaler("PodClique", CLIQUE, replicas).await?;
    let wanted = usize::try_from(replicas).unwrap_or(0);
    let awaited = Awaited::demanded_by(GANG_10, format!("{} of PodClique {CLIQUE}", counted_pods(wanted)));
    test.until(awaited, REACTION, |live| {
        live.pods().filter(|pod| pod.pod_clique() == Some(CLIQUE)).count() == wanted
    })
    .await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(AUTO_03, || {
            let (scaled, _) = history.reached(SharedMark::Scaled)?;
            history.at(SURPLUS_WAITS, |waits| {
                let until = history.upto(waits);
                binding::others_untouched(&until, scaled, &[])?;
                let all = scaling::gangs(history, history.submitted(SET)?, scaled + 1);
                gangs::minimums_stay(&until, &all, scaled, |podgroup| podgroup == CLIQUE)?;
                let others = gangs::minimums_stay(&until, &all, scaled, |podgroup| podgroup != CLIQUE);
                precondition(GANG_02, others)?;
                let live = until.end();
                binding::exactly(&live, CLIQUE, 4)?;
                precondition(GANG_10, gang_resources::match_pod_gangs(&until, &live, &all))
            })
        }),
        finding(AUTO_07, || {
            history.reached(SURPLUS_WAITS)?;
            scaled::deletion_order_followed(history, CLIQUE)?;
            let (before, _) = history.reached(BEFORE_GROUP_SCALE_IN)?;
            binding::whole(&history.before(before), &history.units(SET)?)
        }),
        finding(AUTO_15, || {
            let (scaled, _) = history.reached(BEFORE_GROUP_SCALE_IN)?;
            history.at(GROUP_SCALED_IN, |until| {
                scaled::highest_replicas_deleted(history, GROUP, scaled, until)?;
                binding::whole(&history.before(until), &history.units(SET)?)
            })
        }),
    ]
}
