//! Runs a user's own workload as a case. It accepts any PodCliqueSets that admission accepts, and checks the
//! clauses that hold for every PodCliqueSet.
//!
//! The other objects of the manifest are created first and deleted last. The hard gangs of all PodGangs have
//! P pods. At first, the nodes have capacity for P - 1 of them (allocatable `pods`), so at least one unit is
//! one pod short. Then the capacity is raised, and everything must be bound. Finally the PodCliqueSets are
//! deleted, and nothing may be left.
//!
//! A workload that does not fit the nodes is refused. If only a scheduler can decide whether it fits, pods
//! that stay pending prove nothing.

mod checks;

use std::collections::{BTreeMap, BTreeSet};

use conformance_cluster::nodes::{NodeSpec, NodeTemplate, PODS, rack_and_block};
use conformance_contract::arena::Arena;
use conformance_contract::target::{TARGETS, Target};
use conformance_driver::case::{Case, Isolation, Nodes, nodes};
use conformance_driver::context::{Stop, TestContext, node_spec};
use conformance_driver::created_case::CreatedCase;
use conformance_driver::limits::SCHEDULING;
use conformance_expect::Gang;
use conformance_facts::binding::not_fully_bound;
use conformance_history::{MarkName, SharedMark, list, text};
use serde_json::Value;

use self::checks::check;
use crate::domain_selectors::{ANY_NAMESPACE, in_domains_of};
use crate::feasibility::{Decision, Feasibility, Knowledge, Misfit};
use crate::joint;
use crate::manifest::{Manifest, ManifestError};
use crate::unjudgeable;

const ROOM_FOR_ALL: MarkName = MarkName::of_case("room for all");
/// The detail of the mark is a list of reasons.
const UNDECIDED: MarkName = MarkName::of_case("only a scheduler can decide whether the pods fit");

pub(crate) const ID: &str = "workload";
const TITLE: &str = "Your own workload is bound whole or not at all, and completely deleted";
const CLAUSES: &[&str] = &["GANG-01", "GANG-02", "GANG-03", "AON-01", "AON-02", "AON-03", "DEL-01"];

/// A replay needs only the check of this case; the header of the history has the rest.
static REPLAYED: Case = of_nodes(Knowledge::Complete);

static DOMAINS: Arena<String> = Arena::empty();

const fn of_nodes(knowledge: Knowledge) -> Case {
    let case = match knowledge {
        Knowledge::Complete => Case::new(TITLE, |test| Box::pin(drive(test, Knowledge::Complete)), check),
        Knowledge::OfHarness => Case::new(TITLE, |test| Box::pin(drive(test, Knowledge::OfHarness)), check),
    };
    case.registered(ID, "").clauses(CLAUSES)
}

pub fn replayed(id: &str) -> Option<&'static Case> {
    (id == ID).then_some(&REPLAYED)
}

#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error("does not fit the nodes: {0}")]
    DoesNotFit(String),
    #[error("{0}")]
    OtherBackend(String),
    /// In a cluster that the run did not create, cluster-scoped objects would affect other users.
    #[error("the manifest has cluster-scoped {}: pass --provider local, or remove them", .0.join(", "))]
    ClusterScoped(Vec<String>),
    /// The control plane already has an object of this name.
    #[error("{0} exists on every control plane of a run: use another name")]
    Taken(String),
    #[error("rejected at admission: {0}")]
    Rejected(String),
    /// The API server did not decide, so the file may be valid.
    #[error("the dry-run request failed: {0}")]
    NoAnswer(String),
}

#[derive(Debug)]
pub struct Accepted {
    pub case: &'static Case,
    pub undecided: Vec<String>,
}

pub fn case(text: &str, mut nodes: Vec<Nodes>, knowledge: Knowledge) -> Result<Accepted, WorkloadError> {
    let manifest = Manifest::read(text)?;
    if let Some((document, reason)) = unjudgeable::reason(&manifest) {
        return Err(ManifestError::Document { document, reason }.into());
    }
    let cluster_scoped = manifest.cluster_scoped();
    if knowledge == Knowledge::OfHarness && !cluster_scoped.is_empty() {
        return Err(WorkloadError::ClusterScoped(cluster_scoped));
    }
    let decision = decide(&manifest, &nodes, knowledge);
    let undecided = match decision.feasibility {
        Feasibility::Fits => Vec::new(),
        Feasibility::Undecided(why) => why,
        Feasibility::Infeasible(misfits) => return Err(WorkloadError::DoesNotFit(lines(&misfits))),
    };
    // Checked after the nodes, because adding the claim would not help without devices.
    let classes = (knowledge == Knowledge::Complete).then(|| device_classes(&manifest, &nodes));
    if let Some((document, reason)) = unjudgeable::missing_claim(&manifest, classes.as_ref()) {
        return Err(ManifestError::Document { document, reason }.into());
    }
    let mut slots = decision.hard_gangs;
    if let Some(last) = slots.iter_mut().rev().find(|slots| **slots > 0) {
        *last -= 1;
    }
    for (node, slots) in nodes.iter_mut().zip(slots) {
        *node = node.pods(slots);
    }
    let created =
        CreatedCase { id: ID.to_owned(), manifest: text.to_owned(), clauses: CLAUSES.to_vec(), nodes };
    let isolation = match knowledge {
        Knowledge::Complete if manifest.is_exclusive() => Isolation::Dedicated,
        _ => Isolation::Shared,
    };
    Ok(Accepted { case: created.case(of_nodes(knowledge).isolation(isolation)), undecided })
}

fn device_classes<'a>(manifest: &'a Manifest, nodes: &[Nodes]) -> BTreeSet<&'a str> {
    let templates = nodes.iter().filter_map(|node| node.template);
    let of_nodes = templates.flat_map(|template| &template.device_classes);
    let of_nodes = of_nodes.map(|class| text(&class["metadata"]["name"]));
    of_nodes.chain(manifest.names("DeviceClass")).collect()
}

/// Nodes for pairs of (nodes, GPUs per node), with [`PODS`] pods each, in the racks of `cluster create`.
pub fn in_racks(shapes: &[(u32, u32)]) -> Vec<Nodes> {
    let gpus = shapes.iter().flat_map(|(count, gpus)| std::iter::repeat_n(*gpus, *count as usize));
    let node = |(index, gpus): (u32, u32)| {
        let (rack, block) = rack_and_block(index);
        nodes(1).gpus(gpus).rack(DOMAINS.add(rack)).block(DOMAINS.add(block))
    };
    (0..).zip(gpus).map(node).collect()
}

pub(crate) fn feasibility(text: &str, nodes: &[Nodes]) -> Result<Feasibility, WorkloadError> {
    Ok(decide(&Manifest::read(text)?, nodes, Knowledge::Complete).feasibility)
}

fn room(template: Option<&NodeTemplate>) -> u32 {
    template.map_or(PODS, |template| template.pods)
}

/// Decides with the nodes' full number of pods, not with the reduced number that the case starts with.
fn decide(manifest: &Manifest, nodes: &[Nodes], knowledge: Knowledge) -> Decision {
    let object = |(index, node): (usize, &Nodes)| {
        // The real racks and blocks contain the case's namespace, which no manifest can know. The taint is
        // left out, because the case's pods tolerate it.
        let spec = node_spec(&node.pods(room(node.template)), index, ANY_NAMESPACE, "<run>");
        NodeSpec { taint: None, ..spec }.object()
    };
    let mut objects: Vec<_> = nodes.iter().enumerate().map(object).collect();
    let templates = nodes.iter().filter_map(|node| node.template);
    objects.extend(templates.clone().flat_map(|template| &template.slices).cloned());
    objects.extend(templates.flat_map(|template| &template.device_classes).cloned());
    objects.extend(manifest.objects("DeviceClass").cloned());
    joint::decide(manifest, &objects, knowledge)
}

fn lines(misfits: &[Misfit]) -> String {
    match misfits {
        [only] => only.to_string(),
        several => several.iter().map(|misfit| format!("\n  {misfit}")).collect(),
    }
}

/// Fails if a clique names another scheduler than a target tests, or a companion belongs to another backend.
pub fn runs_on(case: &Case, targets: &[Target]) -> Result<(), WorkloadError> {
    let manifest = Manifest::read(case.manifest)?;
    if let Some(reason) = targets.iter().find_map(|target| manifest.not_served(*target)) {
        return Err(WorkloadError::OtherBackend(reason));
    }
    for (document, set) in &manifest.sets {
        let place = if manifest.sets.len() > 1 { format!("document {document}: ") } else { String::new() };
        for (index, clique) in list(&set["spec"]["template"]["cliques"]).iter().enumerate() {
            let named = text(&clique["spec"]["podSpec"]["schedulerName"]);
            if named.is_empty() {
                continue;
            }
            if let Some(other) = targets.iter().find(|target| target.backend() != named) {
                let mut remedy = "remove the field".to_owned();
                if TARGETS.iter().any(|target| target.backend() == named) {
                    remedy = format!("pass --backend {named}, or {remedy}");
                }
                return Err(WorkloadError::OtherBackend(format!(
                    "{place}spec.template.cliques[{index}].spec.podSpec.schedulerName: clique {} names {named}, and the \
                     run tests {}: {remedy}",
                    text(&clique["name"]),
                    other.backend()
                )));
            }
        }
    }
    Ok(())
}

/// Fails if a companion has the name of an object that the operator of a target creates.
pub fn takes_no_name(case: &Case, targets: &[Target]) -> Result<(), WorkloadError> {
    let manifest = Manifest::read(case.manifest)?;
    let taken = targets.iter().find_map(|target| unjudgeable::name_of_grove(&manifest, *target));
    taken.map_or(Ok(()), |(document, reason)| Err(ManifestError::Document { document, reason }.into()))
}

pub fn scope(case: &Case) -> Option<String> {
    Manifest::read(case.manifest).ok()?.scope().map(str::to_owned)
}

async fn drive(test: &mut TestContext, knowledge: Knowledge) -> Result<(), Stop> {
    let manifest = Manifest::read(test.case.manifest)
        .map_err(|error| Stop::Refused { action: "read the workload".into(), reason: error.to_string() })?;
    // Publish the templates first, so that a DeviceClass of the manifest replaces one of the same name.
    test.publish_templates().await?;
    for companion in &manifest.companions {
        let object = companion.in_namespace(&test.namespace, &test.test_cluster.run);
        test.apply_companion(object).await?;
    }
    if knowledge == Knowledge::Complete && manifest.needs_volumes() {
        let provisioner = test.provisioner(manifest.classes_of_volumes()).await?;
        provisioner.alongside(bind_and_delete(test, &manifest, knowledge)).await?;
    } else {
        bind_and_delete(test, &manifest, knowledge).await?;
    }
    Ok(test.delete_companions().await?)
}

async fn bind_and_delete(
    test: &mut TestContext,
    manifest: &Manifest,
    knowledge: Knowledge,
) -> Result<(), Stop> {
    let feasibility = decide(manifest, test.case.nodes, knowledge).feasibility;
    let in_namespace = |set: &Value| test.prepare_as_written(in_domains_of(&test.namespace, set.clone()));
    let sets: Vec<_> = manifest.sets.iter().map(|(_, set)| in_namespace(set)).collect();
    if !manifest.companions.is_empty() {
        test.until_admitted(&sets).await?;
    }
    test.take_baseline().await?;
    let mut gangs: Vec<Gang> = Vec::new();
    for set in &sets {
        gangs.extend(test.submit_value(set.clone()).await?);
    }
    for gang in gangs.iter().filter(|gang| gang.is_base) {
        test.until_released(gang).await?;
    }
    test.scheduler_passes().await?;
    let mut rooms: BTreeMap<u32, Vec<NodeSpec>> = BTreeMap::new();
    for node in &test.nodes {
        rooms.entry(room(node.template)).or_default().push(node.clone());
    }
    for (pods, nodes) in &rooms {
        test.set_pods(nodes, *pods).await?;
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
    for set in &sets {
        test.delete("PodCliqueSet", text(&set["metadata"]["name"])).await?;
    }
    test.until_nothing_left().await
}

#[cfg(test)]
#[path = "workload_tests.rs"]
mod tests;
