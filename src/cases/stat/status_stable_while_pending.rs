//! 1 node x 8 GPUs. A base gang of 3 pods x 8 GPUs waits for room, and a scaled gang of 1 pod waits for the
//! base gang. A running gang of 2 pods is breached, with a termination delay of an hour. The update of 2
//! other pods is stuck. The case changes nothing for 10 s. Then 3 more nodes join.

use conformance_check::lifecycle::reasons::{self, Why};
use conformance_check::lifecycle::{conditions, counts, metrics};
use conformance_driver::limits::QUIET;
use conformance_driver::updates::resize;
use conformance_expect::scopes::replicas;
use conformance_facts::health::awaits_binding;
use conformance_history::count;

use crate::prelude::*;

marks! {
    WAITING = "everything waits";
    BOUND = "all that waited is bound";
    COUNTED = "statuses report what is bound";
}

const WAITS: &str = "waits";
const CRASHING: &str = "crashing-0-worker";
const UPDATING: &str = "updating";

pub(crate) const CASE: Case = case!("A pending gang reports why, without repeated writes, until it is bound")
    .clauses(&[STAT_02, STAT_08, STAT_09, STAT_11, STAT_14, STAT_15])
    .nodes(&[nodes(1).gpus(8), nodes(3).gpus(8).joining(1)])
    .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for set in ["crashing", UPDATING] {
        test.submit_and_converge(set).await?;
    }
    for gang in test.submit(WAITS).await?.iter().filter(|gang| gang.is_base) {
        test.until_released(gang).await?;
    }
    test.set_first_pod_status(CRASHING, Containers::Crashing).await?;
    test.until_breach_is("True", CRASHING).await?;
    // An operator that does not admit updates has no stuck update.
    let is_updated = test.change_templates(UPDATING, |clique| resize(clique, "2", 64)).await?;
    // Reports that occur once must precede the quiet period.
    let history = test.history();
    let gangs = history.gangs(WAITS).unwrap_or_default();
    test.until_settled(|live| {
        let mut whys = gangs.iter().filter_map(|gang| Some((gang, why(gang, &gangs)?)));
        whys.all(|(gang, why)| reasons::is_reported(live, &history, gang, &why))
            && live.get("PodCliqueSet", "crashing").is_some_and(|pcs| pcs["status"]["availableReplicas"] == 0)
            && (!is_updated || live.pods().any(|pod| awaits_binding(pod) && is_of_revision(pod, "2")))
    })
    .await;
    // The scheduler keeps retrying a waiting gang, so a wait for silence would time out.
    test.canaries().await?;
    test.mark(WAITING, Value::Null);
    test.watch_while_idle(QUIET).await?;
    test.read_metrics().await?;
    test.add_nodes(1).await?;
    // The pods are bound but not Ready, because nothing starts their containers.
    let waited = ["waits-0-worker", "waits-0-pool-0-helper", "waits-0-pool-1-helper"];
    let bound = |live: &Live| {
        let is_waiting = |pod: &Pod<'_>| pod.pod_clique().is_some_and(|clique| waited.contains(&clique));
        live.pods().filter(is_waiting).filter(|pod| pod.node().is_some()).count() == 4
    };
    test.until(Awaited::demanded_by(AON_01, "all pods bound"), SCHEDULING, bound).await?;
    test.mark(BOUND, Value::Null);
    test.caught_up().await?;
    let history = test.history();
    let gangs = history.gangs(WAITS).unwrap_or_default();
    let whys: Vec<_> = gangs.iter().filter_map(|gang| Some((gang, why(gang, &gangs)?))).collect();
    test.until(Awaited::demanded_by(STAT_02, "bound pods counted in the statuses"), REACTION, |live| {
        gangs.iter().flat_map(|gang| &gang.groups).all(|group| {
            let found = live.get("PodClique", &group.clique);
            found.is_some_and(|found| count(&found["status"]["scheduledReplicas"]) == Some(group.replicas))
        })
    })
    .await?;
    test.mark(COUNTED, Value::Null);
    test.until(Awaited::demanded_by(STAT_15, "no pending reason left"), REACTION, |live| {
        !whys.iter().any(|(gang, why)| reasons::is_reported(live, &history, gang, why))
    })
    .await?;
    test.read_metrics().await
}

fn why(gang: &Gang, gangs: &[Gang]) -> Option<Why> {
    if gang.is_base {
        Some(Why::Scheduler)
    } else {
        gangs.iter().find(|base| base.is_base).map(|base| Why::Base(base.name.clone()))
    }
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(STAT_02, || {
            let shape = replicas(history.submitted(WAITS)?).into_iter().next();
            let shape = shape.ok_or_else(|| {
                Broken::NotReached("the PodCliqueSet was submitted without replicas".into())
            })?;
            let members = shape.groups.iter().flat_map(|group| {
                (0..group.replicas).flat_map(|index| group.replica(index).collect::<Vec<_>>())
            });
            let cliques: Vec<_> = shape.standalone.iter().cloned().chain(members).collect();
            all(cliques.iter().map(|clique| counts::binding_is_reported(history, clique)))?;
            history.reached(COUNTED).map(drop)
        }),
        finding(STAT_08, || {
            conditions::messages_are_stable(history)?;
            let (waiting, _) = history.reached(WAITING)?;
            let (watched, _) = history.reached(SharedMark::IdlePeriodEnded)?;
            conditions::no_write_loops(history, waiting, watched)
        }),
        finding(STAT_09, || {
            let (waiting, _) = history.reached(SharedMark::IdlePeriodEnded)?;
            let waited = history.upto(waiting);
            let gangs = history.gangs(WAITS)?;
            let whys: Vec<_> = gangs.iter().filter_map(|gang| Some((gang, why(gang, &gangs)?))).collect();
            all(whys.iter().map(|(gang, why)| reasons::reason_reported(&waited, gang, why)))
        }),
        finding(STAT_11, || metrics::match_history(history, 2)),
        finding(STAT_14, || {
            conditions::transitions_are_correct(history)?;
            history.reached(SharedMark::IdlePeriodEnded).map(drop)
        }),
        finding(STAT_15, || {
            let (bound, _) = history.reached(BOUND)?;
            let gangs = history.gangs(WAITS)?;
            let whys: Vec<_> = gangs.iter().filter_map(|gang| Some((gang, why(gang, &gangs)?))).collect();
            all(whys.iter().map(|(gang, why)| reasons::reason_no_longer_reported(history, gang, why, bound)))
        }),
    ]
}
