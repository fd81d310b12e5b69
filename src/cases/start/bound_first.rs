//! 5 nodes x 8 GPUs. A gang, in startup order: a leader of 2 pods, a scaling group of 2 replicas of 1 worker,
//! another clique of 1 pod. Each pod requests 8 GPUs: room for exactly all. One replica of the group is in
//! the base. Simulated nodes do not start containers, so the harness makes the leader's pods Ready, one after
//! the other. Then one of them crashes.

use conformance_check::startup_wait;
use conformance_expect::scopes::replicas;
use conformance_facts::health::is_ready;

use crate::prelude::*;

marks! {
    BOUND = "bound before anything starts";
    /// Each PodClique has reported its wait, and stopped reporting it once it was over.
    REPORTED = "waits told and taken back";
    RECYCLED = "recycled with what waits";
}

const SET: &str = "ordered";
/// The clique that the next one in the order waits for.
const FIRST: &str = "ordered-0-leader";
const ALL: [&str; 4] = [FIRST, "ordered-0-pool-0-worker", "ordered-0-pool-1-worker", "ordered-0-last"];

pub(crate) const CASE: Case =
    case!("A gang in startup order is bound before containers start, and reports its waits")
        .clauses(&[START_05, START_09, START_11])
        .nodes(&[nodes(5).gpus(8)])
        .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    let bound = Awaited::demanded_by(START_05, "all pods bound while none is Ready");
    test.until(bound, SCHEDULING, |live| live.bound() == 5).await?;
    test.mark(BOUND, Value::Null);
    let reported = Awaited::demanded_by(
        START_09,
        "a report of the PodCliques that pods wait for, and of their Ready pods",
    );
    test.until(reported, REACTION, |live| startup_wait::reports_are_current(live, SET, &[])).await?;
    test.set_first_pod_status(FIRST, Containers::Ready).await?;
    let reported =
        Awaited::demanded_by(START_09, format!("a report that 1 of 2 pods of PodClique {FIRST} is Ready"));
    test.until(reported, REACTION, |live| {
        let ready = live.pods().filter(|pod| pod.pod_clique() == Some(FIRST) && is_ready(*pod)).count();
        ready == 1 && startup_wait::reports_are_current(live, SET, &[])
    })
    .await?;
    let before = test.look(|live| startup_wait::reported(live, SET));
    for pod in test.pods_of(FIRST) {
        test.set_pod_status(&pod, Containers::Ready).await?;
    }
    let over =
        Awaited::demanded_by(START_09, format!("no report any more that pods wait for PodClique {FIRST}"));
    test.until(over, REACTION, |live| {
        let is_over = !startup_wait::reported(live, SET).iter().any(|(wait, _)| wait.parent == FIRST);
        is_over && startup_wait::reports_are_current(live, SET, &before)
    })
    .await?;
    test.mark(REPORTED, Value::Null);
    let old: Vec<_> = ALL.iter().flat_map(|clique| test.pods_of(clique)).collect();
    // The clique requires both pods, so one crash breaches the gang.
    test.set_first_pod_status(FIRST, Containers::Crashing).await?;
    test.until_recreated(
        "the waiting cliques and the clique that they wait for",
        START_11,
        &ALL,
        &old,
        false,
    )
    .await?;
    test.mark(RECYCLED, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(START_05, || {
            history.at(BOUND, |bound| {
                let gangs = history.gangs(SET)?;
                binding::base_first(history, &gangs)?;
                binding::whole(&history.before(bound), &history.units(SET)?)
            })
        }),
        finding(START_09, || {
            startup_wait::waits_are_reported(history, SET)?;
            history.reached(REPORTED).map(drop)
        }),
        finding(START_11, || {
            history.reached(REPORTED)?;
            history.at(RECYCLED, |_| {
                let all = replicas(history.submitted(SET)?);
                for replica in &all {
                    termination::times(history, replica, &replica.scope(), 1)?;
                }
                Ok(())
            })
        }),
    ]
}
