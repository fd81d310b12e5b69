//! Two PodCliqueSets of 2 pods each run in a queue that only this case uses. Then the case closes the queue.

use conformance_contract::names::VOLCANO_QUEUE;

use super::topology_deleted::{deletion_never_blocked, edit_and_delete, edits_never_blocked, submit_two};
use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Metadata edits and deletion are admitted after the workload's queue is closed")
        .clauses(&[ADM_08, ADM_16])
        .nodes(&[nodes(1)])
        .on(Scheduler::VOLCANO);

const OPEN: &[Attempt] = &[admitted("a new PodCliqueSet in the open queue", |_| {})];

const NEW: &[Attempt] = &[refused("a new PodCliqueSet in the closed queue", &[], |_| {})];

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let queue = test.domain("queue");
    test.create_volcano_queue(&queue).await?;
    let mut queued = test.manifest("queued")?;
    queued["metadata"]["annotations"][VOLCANO_QUEUE] = queue.clone().into();
    test.retry_creates_until(&queued, OPEN, REACTION).await?;
    submit_two(test, queued.clone()).await?;
    test.close_queue(&queue).await?;
    test.retry_creates_until(&queued, NEW, REACTION).await?;
    edit_and_delete(test, "queued").await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(ADM_08, || {
            precondition(VOL_03, answers(history, NEW))?;
            deletion_never_blocked(history, "queued")
        }),
        finding(ADM_16, || {
            precondition(VOL_03, answers(history, NEW))?;
            edits_never_blocked(history)
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_admitted_new_pod_clique_set_breaks_the_precondition_of_both() {
        let history = answered(Story::on(Target::VOLCANO), NEW, &[(NEW[0].title, 201, "")]).end();
        for finding in check(&history) {
            let ruling = finding.ruling;
            assert!(matches!(ruling, Err(Broken::Precondition { clause: "VOL-03", .. })), "{ruling:?}");
        }
    }
}
