//! 1 node; a PodCliqueSet of 2 replicas of 6 pods: a base PodGang of 3 + 1 surplus, and a scaled PodGang of 2
//! pods. It runs and is deleted. The case lists every served kind, not only those in the history.

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Deleting a running PodCliqueSet deletes every object that was created for it")
        .clauses(&[DEL_01])
        .nodes(&[nodes(1)]);

const SET: &str = "gone";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.take_baseline().await?;
    test.submit(SET).await?;
    let converged = test.try_until_converged(SET).await?;
    test.delete("PodCliqueSet", SET).await?;
    test.until_nothing_left().await?;
    converged
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(DEL_01, || {
        history.reached(SharedMark::Deleted)?;
        cleanup::nothing_left(history)
    })]
}
