//! 1 node; a PodCliqueSet of 6 pods: a base PodGang of 3 + 1 surplus, and a scaled PodGang of 2. Grace
//! periods are one second, because the namespace controller retries after half of the longest one.

use crate::prelude::*;

pub(crate) const CASE: Case = case!("Deleting a namespace with a running PodCliqueSet leaves nothing stuck")
    .clauses(&[DEL_07])
    .nodes(&[nodes(1)]);

const SET: &str = "evicted";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    let converged = test.try_until_converged(SET).await?;
    test.delete("Namespace", &test.namespace).await?;
    test.until_namespace_deleted().await?;
    converged
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(DEL_07, || {
        history.reached(SharedMark::WaitedForNamespace)?;
        cleanup::namespace_deleted(history)
    })]
}
