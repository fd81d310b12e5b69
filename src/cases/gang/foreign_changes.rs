//! A third party writes an annotation and a status condition to a PodGang of 2 pods. Once a later
//! PodCliqueSet has converged, the backend has processed both. Then scaling to 3 changes the generation.

use conformance_check::{audit, gangs, idle_writes};
use jiff::Timestamp;

use crate::prelude::*;

marks! { EDITED = "edited"; }

pub(crate) const CASE: Case =
    case!("Foreign metadata and status on a PodGang cause no write to gang resources")
        .clauses(&[GANG_09])
        .nodes(&[nodes(1)]);

const SET: &str = "edited";

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    test.submit_and_converge(SET).await?;
    test.wait_until_idle().await?;
    let gang = test.base_gang(SET)?;
    let edited = Timestamp::now();
    test.mark(EDITED, json!({"name": gang.name}));
    test.patch(
        "PodGang",
        &gang.name,
        json!({"metadata": {"annotations": {"example.com/note": "not for you"}}}),
    )
    .await?;
    let conditions = gang_conditions_with_a_foreign_one(test, &gang);
    test.patch_sub("PodGang", &gang.name, "status", json!({"status": {"conditions": conditions}})).await?;
    test.submit_and_converge("barrier").await?;
    test.record_operator_writes(edited)?;
    test.scale("PodClique", "edited-0-worker", 3).await?;
    test.until_converged(SET).await
}

fn gang_conditions_with_a_foreign_one(test: &TestContext, gang: &Gang) -> Value {
    let found = test.look(|live| gang.find(live).map(|found| found["status"]["conditions"].clone()));
    let foreign = json!({
        "type": "example.com/Looked", "status": "True", "reason": "Looked", "message": "not for you",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let existing = found.as_ref().and_then(Value::as_array).into_iter().flatten().cloned();
    existing.chain([foreign]).collect()
}

fn check(history: &History) -> Vec<Finding> {
    vec![finding(GANG_09, || {
        let (edited, _) = history.reached(EDITED)?;
        let (scaled, _) = history.reached(SharedMark::Scaled)?;
        let gang = history.base(SET)?.name;
        idle_writes::no_gang_resource_written(history, &gang, edited, scaled)?;
        audit::no_gang_resource_requests(history, &gang, edited..scaled)?;
        let gangs = scaling::gangs(history, history.submitted(SET)?, history.entries.len());
        // The references show that the backend has processed the new generation.
        precondition(GANG_10, gangs::references_are_the_pods(&history.end(), &gangs))?;
        match history.marks(SharedMark::Converged).count() {
            3.. => Ok(()),
            _ => Err(Broken::NotReached("the backend did not process the new generation".into())),
        }
    })]
}
