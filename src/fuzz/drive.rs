//! Submits the PodCliqueSet, performs the operations one after the other, and deletes it. Each operation
//! starts when the PodCliqueSet has converged.

use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits;
use conformance_expect::{Gang, scaling, schedulers};
use conformance_history::{Live, MarkName};
use serde_json::json;

use crate::workload::{GeneratedWorkload, LossCause, Operation};

/// The whole workload as text, so that a replay can read it from the history.
pub(crate) const WORKLOAD: MarkName = MarkName::of_case("workload");
/// Start of an operation: `{"number", "operation"}`.
pub(crate) const OPERATION: MarkName = MarkName::of_case("operation");

/// The step at which the first operation adds a node. Step 1 adds the nodes that a workload lacks at first.
pub(crate) const FIRST_JOIN: u32 = 2;

pub(crate) async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let action = || "read the workload".to_owned();
    let workload = GeneratedWorkload::read(test.case.manifest)
        .map_err(|error| Stop::Refused { action: action(), reason: error.to_string() })?
        .restricted_to(test.target);
    test.mark(WORKLOAD, test.case.manifest.into());
    test.take_baseline().await?;
    let gangs = test.submit_value(test.prepare_manifest(workload.pcs.clone())).await?;
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
        test.add_nodes(1).await?;
    }
    until_at_rest(test, &workload).await?;
    let mut join = FIRST_JOIN;
    for (number, operation) in (1..).zip(&workload.operations) {
        let detail = serde_json::to_value(operation).unwrap_or_default();
        test.mark(OPERATION, json!({"number": number, "operation": detail}));
        match operation {
            Operation::Scale { kind, name, replicas } => test.scale(kind, name, *replicas).await?,
            Operation::LosePod { clique, number, by } => lose(test, clique, *number, *by).await?,
            Operation::DeleteGangResource { number } => {
                delete_gang_resource(test, &workload, *number).await?
            }
            Operation::Recreate => recreate(test, &workload).await?,
            Operation::NodeJoins => {
                test.add_nodes(join).await?;
                join += 1;
            }
            Operation::NodeLeaves => test.drain_last_node().await?,
        }
        until_at_rest(test, &workload).await?;
    }
    test.delete("PodCliqueSet", workload.name()).await?;
    test.until_nothing_left().await
}

/// Waits until the PodCliqueSet and its gang resources are complete and the operator has no writes left.
async fn until_at_rest(test: &TestContext, workload: &GeneratedWorkload) -> Result<(), Stop> {
    test.until_converged(workload.name()).await?;
    test.until_resources_match(workload.name()).await?;
    test.wait_until_idle().await
}

fn gangs(test: &TestContext, workload: &GeneratedWorkload) -> Vec<Gang> {
    let history = test.history();
    scaling::gangs(&history, &workload.pcs, history.entries.len())
}

async fn lose(test: &TestContext, clique: &str, number: usize, by: LossCause) -> Result<(), Stop> {
    let of_clique = |live: &Live| {
        let pods = live.pods().filter(|pod| pod.pod_clique() == Some(clique) && !pod.is_terminating());
        let mut pods: Vec<_> = pods.map(|pod| (pod.name().to_owned(), pod.uid().to_owned())).collect();
        pods.sort();
        pods.into_iter().nth(number)
    };
    let Some((name, uid)) = test.look(of_clique) else {
        let reason = format!("PodClique {clique} has no pod number {number}");
        return Err(Stop::Refused { action: "lose a pod".into(), reason });
    };
    test.disrupt_pod(by.loss(), &name).await?;
    let clause = if by == LossCause::Failed { "AON-20" } else { "AON-11" };
    let deleted = Awaited::demanded_by(clause, format!("pod {name} deleted"));
    test.until(deleted, limits::REACTION, |live| !live.pods().any(|pod| pod.uid() == uid)).await
}

async fn delete_gang_resource(
    test: &TestContext,
    workload: &GeneratedWorkload,
    number: usize,
) -> Result<(), Stop> {
    let gangs = gangs(test, workload);
    let resources = gangs.get(number).map(|gang| schedulers::resources_of(test.target, gang));
    let Some(resource) = resources.into_iter().flatten().next() else { return Ok(()) };
    let (kind, name) = (resource.kind, resource.name.wanted);
    let uid = |live: &Live| live.get(kind, &name).map(|found| found["metadata"]["uid"].clone());
    let deleted = test.look(uid);
    test.delete(kind, &name).await?;
    let restored = Awaited::demanded_by("GANG-12", format!("{kind} {name} restored"));
    test.until(restored, limits::REACTION, |live| uid(live).is_some_and(|uid| Some(uid) != deleted)).await
}

async fn recreate(test: &mut TestContext, workload: &GeneratedWorkload) -> Result<(), Stop> {
    let gangs = gangs(test, workload);
    test.delete("PodCliqueSet", workload.name()).await?;
    test.until_gangs_deleted(&gangs).await?;
    let deleted = Awaited::demanded_by("DEL-01", format!("PodCliqueSet {} deleted", workload.name()));
    test.until(deleted, limits::CLEANUP, |live| live.get("PodCliqueSet", workload.name()).is_none()).await?;
    test.submit_value(test.prepare_manifest(workload.pcs.clone())).await.map(drop)
}
