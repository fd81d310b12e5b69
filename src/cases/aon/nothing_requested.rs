//! 1 node with room for 2 pods; a gang of 3 pods without resource requests: one pod short.

use conformance_driver::enrichment::Enrichment;

use crate::prelude::*;

pub(crate) const CASE: Case = case!("A gang without resource requests is not bound if one pod has no room")
    .clauses(&[AON_02])
    .nodes(&[nodes(1).pods(2).without_stand_in()])
    .leaving_out(&[
        (Enrichment::Container, "the pods request 0 of every resource"),
        (Enrichment::InitContainers, "the pods request 0 of every resource"),
    ]);

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    for gang in test.submit("undemanding").await? {
        test.scheduler_passes_over(&gang).await?;
    }
    Ok(())
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(AON_02, || {
        let never = binding::never(history, &history.units("undemanding")?, None);
        all([never, scheduler_passed(history)])
    })]
}
