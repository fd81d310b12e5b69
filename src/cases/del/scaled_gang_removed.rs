//! 1 node; a PodCliqueSet of 8 pods: a base PodGang of 3 + 1 surplus, and two scaled PodGangs of 2 pods. Its
//! scaling group of 3 replicas (minimum 1) is scaled in to 1 replica.

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Scaling a scaling group in deletes its scaled PodGangs, pods and gang resources")
        .clauses(&[DEL_03])
        .nodes(&[nodes(1)]);

const SET: &str = "narrowed";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit(SET).await?;
    let converged = test.try_until_converged(SET).await?;
    test.scale("PodCliqueScalingGroup", "narrowed-0-model", 1).await?;
    let gangs = scaling::removed_gangs(&test.history(), SET);
    test.try_until_converged(SET).await?.and(converged)?;
    test.until_gangs_deleted(&gangs).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(DEL_03, || {
        history.reached(SharedMark::Scaled)?;
        cleanup::removed(history, &scaling::removed_gangs(history, SET))
    })]
}
