//! Submits the PodCliqueSet, performs the operations in sequence and deletes it. Each operation starts from a
//! converged PodCliqueSet.

use conformance_driver::context::{Awaited, Stop, TestContext};
use conformance_driver::limits;
use conformance_expect::{Gang, scaling, schedulers};
use conformance_history::{Live, MarkName};
use serde_json::json;

use crate::plan::{How, Operation, Plan};

/// The whole workload as text, so that the history contains it.
pub(crate) const WORKLOAD: MarkName = MarkName::of_case("workload");
/// Start of an operation: `{"number", "operation"}`.
pub(crate) const OPERATION: MarkName = MarkName::of_case("operation");

/// The step of the first node that an operation adds. Earlier steps are for plans that begin one pod short.
pub(crate) const FIRST_JOIN: u32 = 2;

pub(crate) async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let action = || "read the workload".to_owned();
    let plan = Plan::read(test.case.manifest)
        .map_err(|error| Stop::Refused { action: action(), reason: error.to_string() })?
        .on(test.target);
    test.mark(WORKLOAD, test.case.manifest.into());
    test.take_baseline().await?;
    let gangs = test.submit_value(test.at_home(plan.set.clone())).await?;
    if plan.begins_short {
        for gang in gangs.iter().filter(|gang| gang.is_base) {
            test.until_released(gang).await?;
        }
        test.scheduler_passes().await?;
        if gangs.iter().any(|gang| !gang.is_base) {
            // Scaled PodGangs are released after their base is bound, and need a pass after that.
            test.canaries().await?;
        }
        test.nodes_join(1).await?;
    }
    until_at_rest(test, &plan).await?;
    let mut join = FIRST_JOIN;
    for (number, operation) in (1..).zip(&plan.operations) {
        let detail = serde_json::to_value(operation).unwrap_or_default();
        test.mark(OPERATION, json!({"number": number, "operation": detail}));
        match operation {
            Operation::Scale { kind, name, replicas } => test.scale(kind, name, *replicas).await?,
            Operation::LosePod { clique, number, by } => lose(test, clique, *number, *by).await?,
            Operation::DeleteGangResource { number } => delete_gang_resource(test, &plan, *number).await?,
            Operation::MakeAgain => make_again(test, &plan).await?,
            Operation::NodeJoins => {
                test.nodes_join(join).await?;
                join += 1;
            }
            Operation::NodeLeaves => test.node_leaves().await?,
        }
        until_at_rest(test, &plan).await?;
    }
    test.delete("PodCliqueSet", plan.name()).await?;
    test.until_nothing_left().await
}

/// Waits until the PodCliqueSet and its gang resources are complete and the operator has no writes left.
async fn until_at_rest(test: &TestContext, plan: &Plan) -> Result<(), Stop> {
    test.until_converged(plan.name()).await?;
    test.until_followed(plan.name()).await?;
    test.comes_to_rest().await
}

fn gangs(test: &TestContext, plan: &Plan) -> Vec<Gang> {
    let history = test.history();
    scaling::gangs(&history, &plan.set, history.entries.len())
}

async fn lose(test: &TestContext, clique: &str, number: usize, by: How) -> Result<(), Stop> {
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
    test.lose_pod_by(by.loss(), &name).await?;
    let clause = if by == How::Failed { "AON-20" } else { "AON-11" };
    let gone = Awaited::demanded_by(clause, format!("pod {name} deleted"));
    test.until(gone, limits::REACTION, |live| !live.pods().any(|pod| pod.uid() == uid)).await
}

async fn delete_gang_resource(test: &TestContext, plan: &Plan, number: usize) -> Result<(), Stop> {
    let gangs = gangs(test, plan);
    let resources = gangs.get(number).map(|gang| schedulers::resources_of(test.target, gang));
    let Some(resource) = resources.into_iter().flatten().next() else { return Ok(()) };
    let (kind, name) = (resource.kind, resource.name.wanted);
    let uid = |live: &Live| live.get(kind, &name).map(|found| found["metadata"]["uid"].clone());
    let lost = test.look(uid);
    test.delete(kind, &name).await?;
    let restored = Awaited::demanded_by("GANG-12", format!("{kind} {name} restored"));
    test.until(restored, limits::REACTION, |live| uid(live).is_some_and(|uid| Some(uid) != lost)).await
}

async fn make_again(test: &mut TestContext, plan: &Plan) -> Result<(), Stop> {
    let gangs = gangs(test, plan);
    test.delete("PodCliqueSet", plan.name()).await?;
    test.until_gone(&gangs).await?;
    let gone = Awaited::demanded_by("DEL-01", format!("PodCliqueSet {} deleted", plan.name()));
    test.until(gone, limits::CLEANUP, |live| live.get("PodCliqueSet", plan.name()).is_none()).await?;
    test.submit_value(test.at_home(plan.set.clone())).await.map(drop)
}
