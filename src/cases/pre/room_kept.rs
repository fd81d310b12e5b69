//! 2 nodes x 8 GPUs. A gang of low priority with 2 pods x 8 GPUs runs. A gang of high priority with 2 pods x 8
//! GPUs arrives: both low pods are evicted, and one of them stays Terminating. Another low gang of 1 pod x 8
//! GPUs would fit on the node that is free, and so would one replacement. Neither is bound. The high gang is
//! bound when the second node is free, and the late gang when a third node joins.

use conformance_check::preemption::room_is_kept;

use super::{HIGH, LOW, begin, submit, until_whole, victim};
use crate::prelude::*;

marks! {
    ARRIVED = "the high gang arrives";
    CLEARED = "one of two nodes is free";
    PASSED = "the scheduler has tried the late gang";
    BOUND = "the high gang is bound";
    LATE_BOUND = "the late gang is bound";
}

const VICTIM: &str = "interrupted";
const CLIQUE: &str = "interrupted-0-worker";
const LATE: &str = "late";

pub(crate) const CASE: Case =
    case!("A cleared node is not given to a low gang while its preemptor waits for another", restored)
        .clauses(&[PRE_09])
        .nodes(&[nodes(2).gpus(8), nodes(1).gpus(8).joining(1)])
        .isolation(Isolation::Dedicated)
        .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    begin(test).await?;
    submit(test, VICTIM, &LOW).await?;
    test.until_converged(VICTIM).await?;
    let old = test.pods_of(CLIQUE);
    let hanging = old.first().cloned().unwrap_or_default();
    test.hold_pod(&hanging).await?;

    test.mark(ARRIVED, Value::Null);
    let preemptor = submit(test, "preemptor", &HIGH).await?;
    let cleared = Awaited::demanded_by(PRE_01, "the low gang evicted, and one of its pods terminating");
    test.until(cleared, SCHEDULING, |live| is_cleared_except(live, &old, &hanging)).await?;
    test.mark(CLEARED, json!({"hanging": hanging}));
    let late = submit(test, LATE, &LOW).await?;
    test.scheduler_passes_over(&late).await?;
    test.mark(PASSED, Value::Null);

    test.release_pod_and_wait(&hanging).await?;
    let bound = Awaited::demanded_by(PRE_01, "the high gang bound on the cleared nodes");
    until_whole(test, bound, &preemptor).await?;
    test.mark(BOUND, Value::Null);
    test.add_nodes(1).await?;
    let bound = Awaited::demanded_by(AON_03, "the late gang bound on the node that joined");
    until_whole(test, bound, &late).await?;
    test.mark(LATE_BOUND, Value::Null);
    Ok(())
}

fn is_cleared_except(live: &Live, old: &[String], hanging: &str) -> bool {
    let is_old = |pod: &Pod<'_>| old.iter().any(|name| name == pod.name());
    live.pods().filter(is_old).all(|pod| pod.name() == hanging && pod.is_terminating())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(PRE_09, || {
        victim(history, VICTIM, ARRIVED)?;
        let (since, _) = history.reached(ARRIVED)?;
        history.reached(CLEARED)?;
        let lower = [history.units(VICTIM)?, history.units(LATE)?].concat();
        history.at(BOUND, |bound| room_is_kept(history, &lower, since, bound))?;
        // The later binding proves that only the preemptor kept the late gang waiting.
        history.reached(LATE_BOUND).map(drop)
    })]
}
