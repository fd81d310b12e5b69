//! Submits the PodCliqueSet, performs the operations one after the other, and deletes it. Each operation
//! starts when the PodCliqueSet has converged, or at its own moment.

use conformance_driver::context::{Stop, TestContext};
use conformance_driver::control_plane::restored;
use conformance_history::MarkName;
use serde_json::{Value, json};

use crate::operate::Progress;
use crate::workload::{GeneratedWorkload, Moment, Operation};

/// The whole workload as text, so that a replay can read it from the history.
pub(crate) const WORKLOAD: MarkName = MarkName::of_case("workload");
/// Start of an operation: `{"number", "operation"}`.
pub(crate) const OPERATION: MarkName = MarkName::of_case("operation");
/// Start of an operation before the nodes have room, with the same detail.
pub(crate) const PENDING_OPERATION: MarkName = MarkName::of_case("operation while pending");

/// For workloads that restart the operator.
pub(crate) async fn drive_on_own_control_plane(test: &mut TestContext) -> Result<(), Stop> {
    restored(test, |test| Box::pin(drive(test))).await
}

pub(crate) async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let action = || "read the workload".to_owned();
    let workload = GeneratedWorkload::read(test.case.manifest)
        .map_err(|error| Stop::Refused { action: action(), reason: error.to_string() })?
        .restricted_to(test.target);
    test.mark(WORKLOAD, test.case.manifest.into());
    test.take_baseline().await?;
    let gangs = test.submit_value(test.prepare_manifest(workload.pcs.clone())).await?;
    let mut progress = Progress::of(&workload);
    let pending = workload.operations.iter().take_while(|one| one.moment() == Moment::Pending).count();
    if workload.begins_short {
        for gang in gangs.iter().filter(|gang| gang.is_base) {
            test.until_released(gang).await?;
        }
        test.scheduler_passes().await?;
        if gangs.iter().any(|gang| !gang.is_base) {
            // The operator releases a scaled PodGang after its base is bound, so the scheduler must make
            // another pass after that.
            test.canaries().await?;
        }
        for operation in &workload.operations[..pending] {
            test.mark(PENDING_OPERATION, detail(progress.performed + 1, operation));
            progress.perform(test, operation).await?;
        }
        test.add_nodes(1).await?;
        if progress.is_updating {
            progress.until_updated(test).await?;
        }
    }
    until_at_rest(test, &workload).await?;
    for operation in &workload.operations[pending..] {
        test.mark(OPERATION, detail(progress.performed + 1, operation));
        progress.perform(test, operation).await?;
        until_at_rest(test, &workload).await?;
    }
    test.delete("PodCliqueSet", workload.name()).await?;
    test.until_nothing_left().await
}

fn detail(number: usize, operation: &Operation) -> Value {
    json!({"number": number, "operation": serde_json::to_value(operation).unwrap_or_default()})
}

/// Waits until the PodCliqueSet and its gang resources are complete and the operator has no writes left.
async fn until_at_rest(test: &TestContext, workload: &GeneratedWorkload) -> Result<(), Stop> {
    test.until_converged(workload.name()).await?;
    test.until_resources_match(workload.name()).await?;
    test.wait_until_idle().await
}
