//! 4 nodes x 8 GPUs; a gang of 3 pods x 8 GPUs runs, and a second gang like it waits. The termination of the
//! first gang makes room for one of the two gangs and one more pod.

use super::{replica, requires_termination};
use crate::prelude::*;

marks! {
    CONTESTED = "the pods of both gangs wait for capacity";
    DECIDED = "the freed capacity was contested";
}

const TERMINATED: &str = "terminated";
const CLIQUE: &str = "terminated-0-worker";
const COMPETING: &str = "competing";

pub(crate) const CASE: Case =
    case!("Capacity freed by a terminated gang goes to one gang, which is bound whole")
        .clauses(&[TERM_09])
        .nodes(&[nodes(4).gpus(8)])
        .needs(&[Need::SimulatedNodes]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let gangs = test.submit_and_start(TERMINATED).await?;
    let competing = test.submit(COMPETING).await?;
    for gang in &competing {
        test.until_released(gang).await?;
    }
    let old = test.pods_of(CLIQUE);
    if let Some(pod) = old.first() {
        test.set_pod_status(pod, Containers::Crashing).await?;
    }
    test.until_recreated("the running gang", TERM_02, &[CLIQUE], &old, false).await?;
    for gang in gangs.iter().chain(&competing) {
        test.until_released(gang).await?;
    }
    test.mark(CONTESTED, Value::Null);
    test.until_bound(3).await.map_err(|stop| stop.owed_by(TERM_09))?;
    test.scheduler_passes().await?;
    test.mark(DECIDED, Value::Null);
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(TERM_09, || {
        let terminated = replica(history, TERMINATED, 0)?;
        history.waited_for(DECIDED)?;
        requires_termination(history, &terminated)?;
        history.reached(CONTESTED)?;
        let recreated = generations::only_generation(history, &terminated.scope(), 1);
        let gangs = [history.units(TERMINATED)?, history.units(COMPETING)?];
        recreated
            .at(DECIDED, |decided| binding::some_whole_others_never(&recreated, &gangs, 1, Some(decided)))
    })]
}
