//! 1 node; a PodCliqueSet of 6 pods: a base PodGang of 3 + 1 surplus, and a scaled PodGang of 2 pods. It
//! runs, and is deleted while the controller is down.

use futures::future::BoxFuture;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("A PodCliqueSet deleted while the controller is down is removed after it restarts")
        .clauses(&[DEL_06])
        .nodes(&[nodes(1)])
        .isolation(Isolation::Dedicated);

const SET: &str = "orphaned";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.take_baseline().await?;
    test.submit(SET).await?;
    let converged = test.try_until_converged(SET).await?;
    restored(test, without_controller).await?;
    test.until_nothing_left().await?;
    converged
}

fn without_controller(test: &mut TestContext) -> BoxFuture<'_, Result<(), Stop>> {
    Box::pin(async {
        test.kill_part(Part::Controller).await?;
        test.delete("PodCliqueSet", SET).await
    })
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(DEL_06, || {
        history.reached(SharedMark::ComponentStopped)?;
        history.reached(SharedMark::Deleted)?;
        cleanup::nothing_left(history)
    })]
}
