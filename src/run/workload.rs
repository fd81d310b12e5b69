//! A user's own workload as a case: any PodCliqueSet that admission accepts, checked by the clauses that need
//! no knowledge of it.
//!
//! The hard gangs of all PodGangs have P pods. At first the nodes have capacity for P - 1 of them (allocatable
//! `pods`), so at least one unit is one pod short. Then the capacity is raised, and everything must be bound.
//! Finally the workload is deleted, and nothing may be left.
//!
//! A workload that does not fit the nodes is refused. If only a scheduler can decide whether it fits, pods
//! that stay pending prove nothing.

use std::collections::BTreeMap;

use conformance_check::{binding, cleanup, ensure, finding, gangs, violation};
use conformance_cluster::nodes::{NodeSpec, NodeTemplate, PODS, rack_and_block};
use conformance_contract::arena::Arena;
use conformance_contract::names;
use conformance_contract::ruling::{Broken, Finding, Ruling};
use conformance_contract::target::Target;
use conformance_contract::violation::Code;
use conformance_driver::case::{Case, Nodes, nodes};
use conformance_driver::context::{Stop, TestContext, node_spec};
use conformance_driver::created_case::CreatedCase;
use conformance_driver::limits::SCHEDULING;
use conformance_driver::test_cluster::TestCluster;
use conformance_expect as expect;
use conformance_expect::{Expected, schedulers};
use conformance_facts::binding::not_fully_bound;
use conformance_history::{History, Kind, MarkName, SharedMark, list, text};
use serde_json::Value;

use crate::domain_selectors::in_domains_of;
use crate::feasibility::{self, Decision, Feasibility, Knowledge, Misfit};

const WHOLE_WITHOUT_ROOM: Code = Code::new("bound-without-capacity");

/// From here on the nodes have room for all pods.
const ROOM_FOR_ALL: MarkName = MarkName::of_case("room for all");
/// Why only a scheduler can decide whether the pods fit: a list.
const UNDECIDED: MarkName = MarkName::of_case("only a scheduler can decide whether the pods fit");

/// The namespace of the case, which is not known before it runs.
const ANY_NAMESPACE: &str = "<namespace>";

const ID: &str = "workload";
const TITLE: &str = "Your own workload is bound whole or not at all, and completely deleted";
const CLAUSES: &[&str] = &["GANG-01", "GANG-02", "GANG-03", "AON-01", "AON-02", "AON-03", "DEL-01"];

/// Replaying a workload's history only needs the check; the header has the rest.
static REPLAYED: Case = of_nodes(Knowledge::Complete);

/// The names of racks and blocks.
static DOMAINS: Arena<String> = Arena::empty();

/// The case on nodes of which this is known.
const fn of_nodes(knowledge: Knowledge) -> Case {
    let case = match knowledge {
        Knowledge::Complete => Case::new(TITLE, |test| Box::pin(drive(test, Knowledge::Complete)), check),
        Knowledge::OfHarness => Case::new(TITLE, |test| Box::pin(drive(test, Knowledge::OfHarness)), check),
    };
    case.registered(ID, "").clauses(CLAUSES)
}

/// The case for the replay of a workload's history.
pub fn replayed(id: &str) -> Option<&'static Case> {
    (id == ID).then_some(&REPLAYED)
}

/// Why a file is not a valid workload, or does not fit its nodes.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    #[error("{0}")]
    Yaml(#[from] grove_yaml::YamlError),
    /// A document is not a PodCliqueSet.
    #[error("document {document}: {reason}")]
    NotAPodCliqueSet {
        /// Document number, from 1.
        document: usize,
        reason: String,
    },
    #[error("found {0} documents, expected one PodCliqueSet")]
    Count(usize),
    #[error("does not fit the nodes: {0}")]
    DoesNotFit(String),
    #[error("{0}")]
    OtherScheduler(String),
    #[error("rejected at admission: {0}")]
    Rejected(String),
    /// Admission did not respond; the file may be valid.
    #[error("the dry-run request failed: {0}")]
    NoAnswer(String),
}

/// A workload as a case, and why only a scheduler can decide whether its pods fit the nodes, if so.
#[derive(Debug)]
pub struct Accepted {
    pub case: &'static Case,
    pub undecided: Vec<String>,
}

/// Reads a workload that runs on these nodes.
pub fn case(text: &str, mut nodes: Vec<Nodes>, knowledge: Knowledge) -> Result<Accepted, WorkloadError> {
    let documents = grove_yaml::documents(text)?;
    let [pcs] = documents.as_slice() else { return Err(WorkloadError::Count(documents.len())) };
    let not_a_set = |reason: String| WorkloadError::NotAPodCliqueSet { document: 1, reason };
    for (field, expected) in [("apiVersion", "grove.io/v1alpha1"), ("kind", "PodCliqueSet")] {
        if pcs[field] != expected {
            return Err(not_a_set(format!("{field} is {}, expected {expected}", pcs[field])));
        }
    }
    let name =
        pcs["metadata"]["name"].as_str().ok_or_else(|| not_a_set("metadata.name is missing".into()))?;
    if expect::gangs(pcs).is_empty() {
        return Err(not_a_set(format!("PodCliqueSet {name} has no replicas: there is nothing to schedule")));
    }
    let decision = decide(pcs, &nodes, knowledge);
    let undecided = match decision.feasibility {
        Feasibility::Fits => Vec::new(),
        Feasibility::Undecided(why) => why,
        Feasibility::Infeasible(misfits) => return Err(WorkloadError::DoesNotFit(lines(&misfits))),
    };
    // Make the workload one pod short.
    let mut slots = decision.hard_gangs;
    if let Some(last) = slots.iter_mut().rev().find(|slots| **slots > 0) {
        *last -= 1;
    }
    for (node, slots) in nodes.iter_mut().zip(slots) {
        *node = node.pods(slots);
    }
    let created =
        CreatedCase { id: ID.to_owned(), manifest: text.to_owned(), clauses: CLAUSES.to_vec(), nodes };
    Ok(Accepted { case: created.case(of_nodes(knowledge)), undecided })
}

/// Nodes of these shapes, which are numbers of nodes and GPUs per node. Each has [`PODS`] pods. They are in
/// the same racks and blocks as those of `cluster create`.
pub fn in_racks(shapes: &[(u32, u32)]) -> Vec<Nodes> {
    let gpus = shapes.iter().flat_map(|(count, gpus)| std::iter::repeat_n(*gpus, *count as usize));
    let node = |(index, gpus): (u32, u32)| {
        let (rack, block) = rack_and_block(index);
        nodes(1).gpus(gpus).rack(DOMAINS.add(rack)).block(DOMAINS.add(block))
    };
    (0..).zip(gpus).map(node).collect()
}

/// The number of pods of a node once it is not limited.
fn room(template: Option<&NodeTemplate>) -> u32 {
    template.map_or(PODS, |template| template.pods)
}

/// Decides whether the pods fit these nodes, whose number of pods is not limited.
fn decide(pcs: &Value, nodes: &[Nodes], knowledge: Knowledge) -> Decision {
    let object = |(index, node): (usize, &Nodes)| {
        // The real values contain the case's namespace, which no manifest can know. The case's pods tolerate
        // its taint.
        let spec = node_spec(&node.pods(room(node.template)), index, ANY_NAMESPACE, "<run>");
        NodeSpec { taint: None, ..spec }.object()
    };
    let mut objects: Vec<_> = nodes.iter().enumerate().map(object).collect();
    let templates = nodes.iter().filter_map(|node| node.template);
    objects.extend(templates.flat_map(|template| &template.slices).cloned());
    let pcs = in_domains_of(ANY_NAMESPACE, pcs.clone());
    feasibility::decide(&pcs, &expect::gangs(&pcs), &objects, knowledge)
}

fn lines(misfits: &[Misfit]) -> String {
    match misfits {
        [only] => only.to_string(),
        several => several.iter().map(|misfit| format!("\n  {misfit}")).collect(),
    }
}

/// Returns an error if a clique names another scheduler than the one that a target tests.
pub fn scheduled_by(case: &Case, targets: &[Target]) -> Result<(), WorkloadError> {
    let Some(pcs) = grove_yaml::documents(case.manifest)?.into_iter().next() else { return Ok(()) };
    for (index, clique) in list(&pcs["spec"]["template"]["cliques"]).iter().enumerate() {
        let Some(named) = clique["spec"]["podSpec"]["schedulerName"].as_str() else { continue };
        if let Some(other) = targets.iter().find(|target| target.backend() != named) {
            return Err(WorkloadError::OtherScheduler(format!(
                "spec.template.cliques[{index}].spec.podSpec.schedulerName: clique {} names {named}, and the run tests \
                 {}: pass --backend {named}, or remove the field",
                text(&clique["name"]),
                other.backend()
            )));
        }
    }
    Ok(())
}

/// The gang scope that the workload's annotation selects, if any.
pub fn scope(case: &Case) -> Option<String> {
    let pcs = grove_yaml::documents(case.manifest).ok()?.into_iter().next()?;
    pcs["metadata"]["annotations"][names::GANG_SCOPE].as_str().map(str::to_owned)
}

/// Checks with a dry run whether admission accepts the workload for the backend of every target.
pub async fn admitted(
    test_cluster: &TestCluster,
    case: &Case,
    targets: &[Target],
) -> Result<(), WorkloadError> {
    let Some(mut pcs) = grove_yaml::documents(case.manifest)?.into_iter().next() else { return Ok(()) };
    pcs["metadata"]["namespace"] = "default".into();
    let path = Kind::named("PodCliqueSet").map(|kind| kind.path(Some("default"))).unwrap_or_default();
    for target in targets {
        let mut pcs = pcs.clone();
        schedulers::of(*target).assign(&mut pcs);
        let request = http::Request::post(format!("{path}?dryRun=All&fieldValidation=Strict"))
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(pcs.to_string().into_bytes())
            .map_err(|e| WorkloadError::NoAnswer(e.to_string()))?;
        match test_cluster.client.request::<Value>(request).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if (400..500).contains(&status.code) => {
                return Err(WorkloadError::Rejected(format!("{} ({target})", status.message)));
            }
            Err(error) => return Err(WorkloadError::NoAnswer(error.to_string())),
        }
    }
    Ok(())
}

async fn drive(test: &mut TestContext, knowledge: Knowledge) -> Result<(), Stop> {
    let refused = |reason: String| Stop::Refused { action: "read the workload".into(), reason };
    let documents = grove_yaml::documents(test.case.manifest).map_err(|e| refused(e.to_string()))?;
    let Some(pcs) = documents.into_iter().next() else { return Err(refused("the manifest is empty".into())) };
    let name = text(&pcs["metadata"]["name"]).to_owned();
    let feasibility = decide(&pcs, test.case.nodes, knowledge).feasibility;
    test.publish_templates().await?;
    test.take_baseline().await?;
    let pcs = in_domains_of(&test.namespace, pcs);
    let gangs = test.submit_value(test.prepare_manifest(pcs)).await?;
    for gang in gangs.iter().filter(|gang| gang.is_base) {
        test.until_released(gang).await?;
    }
    test.scheduler_passes().await?;
    let mut rooms: BTreeMap<u32, Vec<NodeSpec>> = BTreeMap::new();
    for node in &test.nodes {
        rooms.entry(room(node.template)).or_default().push(node.clone());
    }
    for (pods, nodes) in &rooms {
        test.test_cluster.cluster.node_pools().set_pods(nodes, *pods).await?;
    }
    test.mark(ROOM_FOR_ALL, Value::Null);
    let units: Vec<_> = gangs.iter().flat_map(|gang| gang.units(test.target)).collect();
    let bound = test
        .until("every hard gang bound", SCHEDULING, |live| not_fully_bound(live, &units).next().is_none())
        .await;
    match (bound, feasibility) {
        (Err(Stop::Timeout(_)), Feasibility::Undecided(why)) => {
            test.mark(UNDECIDED, why.into());
            test.mark(SharedMark::ContinuedAfterTimeout, Value::Null);
        }
        (bound, _) => bound?,
    }
    test.delete("PodCliqueSet", &name).await?;
    test.until_nothing_left().await
}

fn check(history: &History) -> Vec<Finding> {
    let set = || {
        let name = history.header.submitted.keys().next();
        name.cloned().ok_or_else(|| Broken::NotReached("no PodCliqueSet was submitted".into()))
    };
    // Check the state before the PodCliqueSet was deleted, or at the timeout that kept the case from deleting
    // it. DEL-01 covers the deletion.
    let before_deletion = || -> Result<History, Broken> {
        if history.marks(SharedMark::Deleted).next().is_none() {
            history.reached(ROOM_FOR_ALL)?;
        }
        Ok(history.upto(history.waited_for(SharedMark::Deleted)?))
    };
    let bound_whole = || -> Ruling {
        let (before, units) = (before_deletion()?, history.units(&set()?)?);
        let ruling = binding::whole(&before.end(), &units);
        match history.marks(UNDECIDED).next() {
            Some((_, mark)) if ruling.is_err() => {
                binding::all_or_nothing(&before, &units)?;
                let why: Vec<_> = list(&mark.detail).iter().map(text).collect();
                Err(Broken::NotAsked(format!(
                    "only a scheduler can decide whether the pods fit: {}",
                    why.join(", ")
                )))
            }
            _ => ruling,
        }
    };
    vec![
        finding("GANG-01", || gangs::base(&before_deletion()?.end(), &set()?, &history.gangs(&set()?)?)),
        finding("GANG-02", || gangs::podgroups(&before_deletion()?, &history.gangs(&set()?)?)),
        finding("GANG-03", || {
            let history = before_deletion()?;
            gangs::scaled(&history, &history.end(), &history.gangs(&set()?)?)
        }),
        finding("AON-01", bound_whole),
        finding("AON-02", || {
            let (barrier, _) = history.reached(SharedMark::SchedulerPassed)?;
            let short = history.upto(barrier);
            let units = history.units(&set()?)?;
            // At the barrier the scheduler has made a full pass over the base PodGangs only. A scaled PodGang
            // may still be partially bound.
            let bases = history.gangs(&set()?)?.into_iter().filter(|gang| gang.is_base);
            let base_units: Vec<_> = bases.flat_map(|gang| gang.units(history.header.target)).collect();
            binding::all_or_nothing(&short, &base_units)?;
            ensure(binding::whole(&short.end(), &units).is_err(), || {
                violation(
                    WHOLE_WITHOUT_ROOM,
                    "every unit is bound, want one pending: the nodes lack room for one pod",
                )
            })
        }),
        finding("AON-03", || {
            history.reached(SharedMark::SchedulerPassed)?;
            bound_whole()
        }),
        finding("DEL-01", || {
            history.reached(SharedMark::Deleted)?;
            history.reached(SharedMark::LeftOver)?;
            // Such a history ends at the timeout, so it lacks the deletion.
            if history.marks(SharedMark::Stopped).any(|(_, mark)| mark.detail["wait"] == true) {
                return Err(Broken::NotReached("a wait before the deletion timed out".into()));
            }
            cleanup::nothing_left(history)
        }),
    ]
}

#[cfg(test)]
#[path = "workload_tests.rs"]
mod tests;
