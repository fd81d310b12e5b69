//! A PodCliqueSet of 2 replicas of one pod is created and scaled as by kubectl, Helm and other tools that
//! apply manifests. They store the manifest, or facts about it, in annotations and labels.

use conformance_check::{scaling, services};
use conformance_driver::scaling::track;

use crate::prelude::*;

pub(crate) const CASE: Case =
    case!("Scaling by an applied manifest keeps existing PodGangs and gang resources unchanged")
        .clauses(&[GANG_10, GANG_24, GANG_28])
        .nodes(&[nodes(1)]);

const SET: &str = "applied";

marks! { FOLLOWED = "followed"; }

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let mut pcs = test.manifest(SET)?;
    track(&mut pcs, 2);
    test.submit_value(pcs).await?;
    test.until_converged(SET).await?;
    test.wait_until_idle().await?;
    test.scale_by_apply(SET, 3).await?;
    test.until_converged(SET).await?;
    test.until_resources_match(SET).await?;
    test.mark(FOLLOWED, Value::Null);
    let selected = Awaited::demanded_by(GANG_28, "Services that select the pods of their replicas");
    test.until(selected, REACTION, |live| services::select_their_pods(live, SET).is_ok()).await
}

fn check(history: &History) -> Vec<Finding> {
    vec![
        finding(GANG_10, || {
            let (scaled, _) = history.reached(SharedMark::Scaled)?;
            let (followed, _) = history.reached(FOLLOWED)?;
            scaling::followed(history, SET, scaled, followed)
        }),
        finding(GANG_24, || {
            let (scaled, _) = history.reached(SharedMark::Scaled)?;
            let (followed, _) = history.reached(FOLLOWED)?;
            scaling::others_untouched(history, SET, scaled, followed)
        }),
        finding(GANG_28, || {
            history.reached(FOLLOWED)?;
            services::select_their_pods(&history.end(), SET)
        }),
    ]
}
