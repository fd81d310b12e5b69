//! 1 node; a PodCliqueSet of 3 replicas of 6 pods (base PodGang 3 + 1 surplus, scaled 2), scaled in to 2.

use conformance_check::idle_writes::{self, AffectedObjects};

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Scaling a PodCliqueSet in deletes exactly the objects of its highest replica")
        .clauses(&[DEL_02, DEL_10, GANG_24])
        .nodes(&[nodes(1)]);

const SET: &str = "shrunk";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    let converged = test.try_until_converged(SET).await?;
    test.wait_until_idle().await?;
    test.scale("PodCliqueSet", SET, 2).await?;
    let gangs = scaling::removed_gangs(&test.history(), SET);
    test.try_until_converged(SET).await?.and(converged)?;
    test.until_gangs_deleted(&gangs).await?;
    test.try_until_services_deleted(&gangs).await
}

fn check(history: &History) -> Vec<Finding> {
    let removed = || cleanup::removed(history, &scaling::removed_gangs(history, SET));
    vec![
        finding(DEL_02, || {
            history.reached(SharedMark::Scaled)?;
            removed()
        }),
        finding(DEL_10, || {
            history.reached(SharedMark::Scaled)?;
            cleanup::services_removed(history, &scaling::removed_gangs(history, SET))
        }),
        finding(GANG_24, || {
            let (scaled, _) = history.reached(SharedMark::Scaled)?;
            precondition(DEL_02, removed())?;
            let pcs = history.submitted(SET)?;
            let (before, after) =
                (scaling::gangs(history, pcs, scaled), scaling::gangs(history, pcs, scaled + 1));
            let affected = AffectedObjects::of(history.header.target, SET, &before, &after);
            idle_writes::others_untouched(history, scaled, history.entries.len(), &affected)
        }),
    ]
}
