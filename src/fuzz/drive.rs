//! Creates the surroundings of a workload, and submits its PodCliqueSet unless admission refuses it. Performs
//! the operations, each once the PodCliqueSet has converged or at its own moment, and deletes it.

use std::collections::BTreeSet;

use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::control_plane::restored;
use conformance_driver::limits;
use conformance_expect::refusals::refused_name;
use conformance_facts::cliques::cliques_lacking_pods;
use conformance_history::{MarkName, text};
use serde_json::{Value, json};

use crate::operate::Progress;
use crate::surroundings::{asks_admission, has_volumes, prepared};
use crate::workload::{GeneratedWorkload, Moment, Operation};

/// The whole workload as text, so that a replay can read it from the history.
pub(crate) const WORKLOAD: MarkName = MarkName::of_case("workload");
/// Start of an operation: `{"number", "operation"}`.
pub(crate) const OPERATION: MarkName = MarkName::of_case("operation");
/// Start of an operation before the nodes have room, with the same detail.
pub(crate) const PENDING_OPERATION: MarkName = MarkName::of_case("operation while pending");
/// Admission's reply to a PodCliqueSet that admission may have to refuse.
pub(crate) const ADMISSION: MarkName = MarkName::of_case("admission asked");

pub(crate) async fn drive_on_own_control_plane(test: &mut TestContext) -> Result<(), Stop> {
    restored(test, |test| Box::pin(drive(test))).await
}

pub(crate) async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let action = || "read the workload".to_owned();
    let workload = GeneratedWorkload::read(test.case.manifest)
        .map_err(|error| Stop::Refused { action: action(), reason: error.to_string() })?
        .restricted_to(test.target);
    test.mark(WORKLOAD, test.case.manifest.into());
    if workload.preempts() {
        test.enable_preemption().await?;
    }
    workload.surroundings.create(test, &workload.pcs).await?;
    if has_volumes(&workload.pcs) {
        let provisioner = test.provisioner(BTreeSet::new()).await?;
        provisioner.alongside(submit_and_operate(test, &workload)).await?;
    } else {
        submit_and_operate(test, &workload).await?;
    }
    Ok(test.delete_companions().await?)
}

async fn submit_and_operate(test: &mut TestContext, workload: &GeneratedWorkload) -> Result<(), Stop> {
    test.take_baseline().await?;
    let pcs = prepared(test, &workload.pcs);
    if asks_admission(&pcs) {
        let reply = test.dry_run_create(&pcs).await?;
        test.mark(ADMISSION, serde_json::to_value(&reply).unwrap_or_default());
        if reply.is_refused() {
            return Ok(());
        }
    }
    for neighbor in &workload.surroundings.neighbors {
        test.submit_value(test.prepare_manifest(neighbor.clone())).await?;
        test.until_converged(text(&neighbor["metadata"]["name"])).await?;
    }
    let gangs = test.submit_value(pcs).await?;
    if refused_name(&workload.pcs).is_some() {
        let complete = Awaited::demanded_by("ADM-15", "every pod of the admitted PodCliqueSet");
        test.until(complete, limits::SCHEDULING, |live| cliques_lacking_pods(live, &gangs).is_empty())
            .await?;
        return delete(test, workload).await;
    }
    let mut progress = Progress::of(workload);
    let pending = workload.operations.iter().take_while(|one| one.moment() == Moment::Pending).count();
    if workload.begins_short {
        for gang in gangs.iter().filter(|gang| gang.is_base) {
            test.until_released(gang).await?;
        }
        test.scheduler_passes().await?;
        if gangs.iter().any(|gang| !gang.is_base) {
            // A scaled PodGang is released after its base is bound: the scheduler must make another pass.
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
    until_at_rest(test, workload).await?;
    for operation in &workload.operations[pending..] {
        test.mark(OPERATION, detail(progress.performed + 1, operation));
        progress.perform(test, operation).await?;
        until_at_rest(test, workload).await?;
    }
    delete(test, workload).await
}

async fn delete(test: &TestContext, workload: &GeneratedWorkload) -> Result<(), Stop> {
    for set in workload.sets() {
        test.delete("PodCliqueSet", set).await?;
    }
    test.until_nothing_left().await
}

fn detail(number: usize, operation: &Operation) -> Value {
    json!({"number": number, "operation": serde_json::to_value(operation).unwrap_or_default()})
}

async fn until_at_rest(test: &TestContext, workload: &GeneratedWorkload) -> Result<(), Stop> {
    let sets: Vec<_> = workload.sets().collect();
    test.until_all_converged(&sets).await?;
    for set in sets {
        test.until_resources_match(set).await?;
    }
    test.wait_until_idle().await
}
