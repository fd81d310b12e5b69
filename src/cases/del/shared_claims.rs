//! 1 node with 8 devices. The pods of a clique, and of a scaling group with a scaled PodGang, share claims of
//! one device each. The PodCliqueSet defines 2 of these claims, the clique 2 and the group 3.

use conformance_check::lifecycle::claims;
use conformance_expect::scopes::replicas;

use crate::prelude::*;

pub(crate) const CASE: Case = case!("Deleting a running PodCliqueSet deletes the claims that its pods share")
    .clauses(&[DEL_01])
    .with_feature(Feature::Claims)
    .needs(&[Need::Devices])
    .nodes(&[nodes(1)]);

const SET: &str = "sharing";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.publish_devices(8).await?;
    test.take_baseline().await?;
    test.submit(SET).await?;
    let started = test.try_until_converged(SET).await?;
    test.delete("PodCliqueSet", SET).await?;
    test.until_nothing_left().await?;
    started
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(DEL_01, || {
        let (deleted, _) = history.reached(SharedMark::Deleted)?;
        let before = history.upto(deleted);
        for replica in replicas(history.submitted(SET)?) {
            precondition(TERM_20, claims::are_shared(&before, &replica.scope(), 0))?;
        }
        cleanup::nothing_left(history)
    })]
}
