//! 1 node x 2 GPUs; 3 replicas of a pod x 1 GPU: one does not fit. The higher of the other two crashes.

use conformance_facts::health::is_ready;

use crate::prelude::*;

marks! { UPDATED = "every pod is new"; }

const SET: &str = "unavailable";
const CLIQUES: [&str; 3] = ["unavailable-0-worker", "unavailable-1-worker", "unavailable-2-worker"];

pub(crate) const CASE: Case = case!("An update starts with replicas that are unbound or below their minimum")
    .clauses(&[UPD_28])
    .nodes(&[nodes(1).gpus(2), nodes(1).gpus(1).joining(1)])
    .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for gang in test.submit(SET).await? {
        test.until_released(&gang).await?;
    }
    let started = Awaited::demanded_by(AON_01, "two of three replicas bound and Ready");
    test.until(started, limits::SCHEDULING, |live| ready(live).count() == 2).await?;
    let both: Vec<_> = test.look(|live| ready(live).collect());
    // Each clique reports a breach until its pod is known to run.
    for clique in &both {
        test.until_breach_is("False", clique).await?;
    }
    let crashing = both.last().copied().unwrap_or_default();
    test.set_first_pod_status(crashing, Containers::Crashing).await?;
    test.until_breach_is("True", crashing).await?;
    if !test.revise(SET, "2").await? {
        return Ok(());
    }
    let updating = Awaited::demanded_by(UPD_02, "the first pod of revision 2");
    test.until(updating, limits::SCHEDULING, |live| live.pods().any(|pod| is_of_revision(pod, "2"))).await?;
    test.add_nodes(1).await?;
    test.until_updated(SET, UPD_02).await?;
    test.mark(UPDATED, Value::Null);
    Ok(())
}

fn ready(live: &Live) -> impl Iterator<Item = &'static str> {
    let is_ready = |clique: &str| live.pods().any(|pod| pod.pod_clique() == Some(clique) && is_ready(pod));
    CLIQUES.into_iter().filter(move |clique| is_ready(clique))
}

fn check(history: &History) -> Vec<Finding> {
    vec![update_finding(history, UPD_28, || {
        // No clause decides whether the replica without room blocks the others after its update step.
        all([updates::unavailable_are_updated_first(history, SET), history.reached(UPDATED).map(drop)])
    })]
}
