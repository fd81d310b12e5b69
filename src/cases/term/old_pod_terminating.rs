//! 3 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs runs. One pod stays Terminating when the gang is terminated:
//! the new generation is one pod short until a node joins.

use conformance_facts::generations;

use super::{replica, requires_recreation};
use crate::prelude::*;

marks! {
    SHORT = "one pod short while the old pod terminates";
    BOUND_ALONGSIDE = "bound while the old pod terminates";
    OLD_POD_DELETED = "the old pod deleted";
}

const SET: &str = "terminating";
const CLIQUE: &str = "terminating-0-worker";

pub(crate) const CASE: Case = case!("A recreated gang is never partially bound while an old pod terminates")
    .clauses(&[TERM_08])
    .nodes(&[nodes(3).gpus(8), nodes(1).gpus(8).joining(1)])
    .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    test.until_started(SET).await?;
    let old = test.pods_of(CLIQUE);
    let hanging = old.first().cloned().unwrap_or_default();
    test.hold_pod(&hanging).await?;
    test.set_pod_status(&hanging, Containers::Crashing).await?;
    let count_new = |live: &Live, matches: fn(&Pod<'_>) -> bool| {
        let pods = pods_of(live, CLIQUE);
        pods.filter(|pod| !old.iter().any(|name| name == pod.name()) && matches(pod)).count()
    };
    let released = Awaited::demanded_by(TERM_08, "the new generation released while the old pod terminates");
    test.until(released, SCHEDULING, |live| count_new(live, |pod| pod.gates().is_empty()) == 3).await?;
    test.scheduler_passes().await?;
    test.mark(SHORT, Value::Null);
    test.add_nodes(1).await?;
    let bound = Awaited::demanded_by(TERM_08, "the new generation bound while the old pod terminates");
    test.until(bound, SCHEDULING, |live| count_new(live, |pod| pod.node().is_some()) == 3).await?;
    test.mark(BOUND_ALONGSIDE, json!({"hanging": hanging}));
    test.release_pod_and_wait(&hanging).await?;
    test.until_converged(SET).await?;
    test.mark(OLD_POD_DELETED, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TERM_08, || {
        let terminating = replica(history, SET, 0)?;
        let units = history.units(SET)?;
        history.at(SHORT, |short| {
            requires_recreation(history, &terminating)?;
            termination::times(history, &terminating, &terminating.scope(), 1)?;
            binding::never(
                &generations::only_generation(&history.upto(short), &terminating.scope(), 1),
                &units,
                None,
            )
        })?;
        let bound = history.waited_for(BOUND_ALONGSIDE)?;
        binding::whole(
            &generations::only_generation(&history.upto(bound), &terminating.scope(), 1).end(),
            &units,
        )?;
        history.reached(OLD_POD_DELETED)?;
        binding::whole(&history.end(), &units)
    })]
}
