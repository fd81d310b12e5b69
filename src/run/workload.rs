//! A user's own workload as a case: any PodCliqueSet that admission accepts, checked by the clauses that need
//! no knowledge of it.
//!
//! The nodes are N x G GPUs, and the hard gangs of all PodGangs have P pods. At first the nodes have capacity
//! for P - 1 of them (allocatable `pods`), so at least one unit is one pod short. Then the capacity is
//! raised, and everything must be bound. Finally the workload is deleted, and nothing may be left.

use conformance_check::{binding, cleanup, ensure, finding, gangs, violation};
use conformance_cluster::nodes::PODS;
use conformance_contract::names;
use conformance_contract::ruling::{Broken, Finding};
use conformance_contract::target::Target;
use conformance_contract::violation::Code;
use conformance_driver::case::{Case, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::created_case::CreatedCase;
use conformance_driver::limits::SCHEDULING;
use conformance_driver::test_cluster::TestCluster;
use conformance_expect as expect;
use conformance_expect::{Expected, Gang, Group, schedulers};
use conformance_facts::binding::not_fully_bound;
use conformance_history::{History, Kind, MarkName, SharedMark};
use serde_json::Value;

const WHOLE_WITHOUT_ROOM: Code = Code::new("bound-without-capacity");

const ROOM_FOR_ALL: MarkName = MarkName::of_case("room for all");

const ID: &str = "workload";

/// Replaying a workload's history only needs the check; the header has the rest.
static REPLAYED: Case = Case::new(
    "Your own workload is bound whole or not at all, and completely deleted",
    |test| Box::pin(drive(test)),
    check,
)
.registered(ID, "")
.clauses(&["GANG-01", "GANG-02", "GANG-03", "AON-01", "AON-02", "AON-03", "DEL-01"]);

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
    /// The file does not have exactly one document.
    #[error("found {0} documents, expected one PodCliqueSet")]
    Count(usize),
    #[error("{0}")]
    DoesNotFit(String),
    #[error("rejected at admission: {0}")]
    Rejected(String),
    /// Admission did not respond; the file may be valid.
    #[error("the dry-run request failed: {0}")]
    NoAnswer(String),
}

pub fn case(text: &str, (count, gpus): (u32, u32)) -> Result<&'static Case, WorkloadError> {
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
    let gangs = expect::gangs(pcs);
    if gangs.is_empty() {
        return Err(not_a_set(format!("PodCliqueSet {name} has no replicas: there is nothing to schedule")));
    }
    // All pods must fit, because surplus may be bound before another hard gang.
    pods_per_node(pcs, &gangs, count, gpus, |group| group.replicas)?;
    let mut slots = pods_per_node(pcs, &gangs, count, gpus, |group| group.min)?;
    // Make the workload one pod short.
    if let Some(last) = slots.iter_mut().rev().find(|slots| **slots > 0) {
        *last -= 1;
    }
    let created = CreatedCase {
        id: ID.to_owned(),
        manifest: text.to_owned(),
        clauses: REPLAYED.clauses.to_vec(),
        nodes: slots.into_iter().map(|slots| nodes(1).gpus(gpus).pods(slots)).collect(),
    };
    Ok(created.case(REPLAYED))
}

/// The number of pods per node if `count_of` pods of each podgroup are placed, largest first, each on the
/// emptiest node.
fn pods_per_node(
    pcs: &Value,
    gangs: &[Gang],
    count: u32,
    gpus: u32,
    count_of: fn(&Group) -> usize,
) -> Result<Vec<u32>, WorkloadError> {
    let mut wanted = Vec::new();
    for group in gangs.iter().flat_map(|gang| &gang.groups) {
        let template = pcs["spec"]["template"]["cliques"].as_array().into_iter().flatten();
        let pod = template.into_iter().find(|clique| clique["name"] == group.template.as_str());
        let each = pod.map_or(0, |clique| gpus_of(&clique["spec"]["podSpec"]));
        if each > gpus {
            let reason = format!("PodClique {}: a pod requests {each} GPUs, a node has {gpus}", group.clique);
            return Err(WorkloadError::DoesNotFit(reason));
        }
        wanted.extend(std::iter::repeat_n(each, count_of(group)));
    }
    wanted.sort_unstable_by(|a, b| b.cmp(a));
    let mut nodes = vec![(gpus, 0_u32); count as usize];
    let (pods, sum) = (wanted.len(), wanted.iter().sum::<u32>());
    for each in wanted {
        // The emptiest node with room: schedulers spread pods by default.
        let free = nodes.iter_mut().filter(|(free, slots)| *free >= each && *slots < PODS);
        let Some((free, slots)) = free.max_by_key(|(free, slots)| (*free, std::cmp::Reverse(*slots))) else {
            return Err(WorkloadError::DoesNotFit(format!(
                "does not fit: {pods} pods request {sum} GPUs, and there are {count} nodes of {gpus} GPUs"
            )));
        };
        *free -= each;
        *slots += 1;
    }
    Ok(nodes.into_iter().map(|(_, slots)| slots).collect())
}

/// The GPUs that a pod requests. Init containers run before the others, so the larger amount counts.
fn gpus_of(pod: &Value) -> u32 {
    let amount = |container: &Value| {
        let resources = &container["resources"];
        ["limits", "requests"]
            .iter()
            .map(|key| &resources[*key]["nvidia.com/gpu"])
            .find_map(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()))
            .and_then(|amount| u32::try_from(amount).ok())
            .unwrap_or(0)
    };
    let amounts = |containers: &Value| {
        containers.as_array().map_or_else(Vec::new, |all| all.iter().map(amount).collect())
    };
    let running: u32 = amounts(&pod["containers"]).iter().sum();
    running.max(amounts(&pod["initContainers"]).into_iter().max().unwrap_or(0))
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

async fn drive(test: &mut TestContext) -> Result<(), Stop> {
    let refused = |reason: String| Stop::Refused { action: "read the workload".into(), reason };
    let documents = grove_yaml::documents(test.case.manifest).map_err(|e| refused(e.to_string()))?;
    let Some(pcs) = documents.into_iter().next() else { return Err(refused("the manifest is empty".into())) };
    let name = pcs["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    test.take_baseline().await?;
    let gangs = test.submit_value(test.prepare_manifest(pcs)).await?;
    for gang in gangs.iter().filter(|gang| gang.is_base) {
        test.until_released(gang).await?;
    }
    test.scheduler_passes().await?;
    test.test_cluster.cluster.node_pools().set_pods(&test.nodes, PODS).await?;
    let units: Vec<_> = gangs.iter().flat_map(|gang| gang.units(test.target)).collect();
    let bound = test
        .until("every hard gang bound", SCHEDULING, |live| not_fully_bound(live, &units).next().is_none())
        .await;
    if bound.is_ok() {
        test.mark(ROOM_FOR_ALL, Value::Null);
    }
    test.delete("PodCliqueSet", &name).await?;
    test.until_nothing_left().await?;
    bound
}

fn check(history: &History) -> Vec<Finding> {
    let set = || {
        let name = history.header.submitted.keys().next();
        name.cloned().ok_or_else(|| Broken::NotReached("no PodCliqueSet was submitted".into()))
    };
    // Check the state before the PodCliqueSet was deleted. DEL-01 covers the deletion.
    let before_deletion = || history.reached(SharedMark::Deleted).map(|(index, _)| history.upto(index));
    vec![
        finding("GANG-01", || gangs::base(&before_deletion()?.end(), &set()?, &history.gangs(&set()?)?)),
        finding("GANG-02", || gangs::podgroups(&before_deletion()?, &history.gangs(&set()?)?)),
        finding("GANG-03", || {
            let history = before_deletion()?;
            gangs::scaled(&history, &history.end(), &history.gangs(&set()?)?)
        }),
        finding("AON-01", || binding::whole(&before_deletion()?.end(), &history.units(&set()?)?)),
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
            binding::whole(&before_deletion()?.end(), &history.units(&set()?)?)
        }),
        finding("DEL-01", || {
            history.reached(SharedMark::LeftOver)?;
            cleanup::nothing_left(history)
        }),
    ]
}

#[cfg(test)]
mod tests {
    use conformance_check::codes;
    use conformance_history::testing::{Story, one_clique};

    use super::*;

    fn workload(replicas: u32, gpus: u32) -> String {
        format!(
            "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {{name: w}}\nspec: {{replicas: 1, template: \
             {{cliques: [{{name: a, spec: {{replicas: {replicas}, podSpec: {{containers: [{{name: c, resources: \
             {{limits: {{nvidia.com/gpu: {gpus}}}}}}}]}}}}}}]}}}}\n"
        )
    }

    #[test]
    fn the_nodes_lack_room_for_one_pod() {
        let case = case(&workload(4, 8), (8, 8)).unwrap();
        let slots: Vec<_> = case.nodes.iter().map(|node| node.pods).collect();
        assert_eq!(slots.iter().sum::<u32>(), 3, "{slots:?}");
        assert_eq!(slots.len(), 8);
    }

    #[rstest::rstest]
    #[case::pending(0, &[])]
    #[case::in_part(1, &["not-bound-whole"])]
    #[case::whole(2, &["bound-without-capacity"])]
    fn a_workload_that_is_one_pod_short_is_pending(#[case] bound: usize, #[case] wanted: &[&str]) {
        let story = Story::flat().submitted(one_clique("w", 2)).workers("w", 2, bound);
        let history = story.mark(SharedMark::SchedulerPassed, Value::Null).end();
        let found = check(&history).into_iter().find(|finding| finding.clause == "AON-02");
        assert_eq!(codes(found.expect("the check decides AON-02").ruling), wanted);
    }

    #[rstest::rstest]
    #[case(workload(9, 8), "9 pods request 72 GPUs, and there are 8 nodes of 8 GPUs")]
    #[case(workload(1, 16), "PodClique w-0-a: a pod requests 16 GPUs, a node has 8")]
    #[case("kind: Deployment".into(), "apiVersion is null, expected grove.io/v1alpha1")]
    #[case("apiVersion: grove.io/v1alpha1\nkind: Pod".into(), "kind is \"Pod\", expected PodCliqueSet")]
    #[case("a: [".into(), "line 2")]
    #[case(String::new(), "found 0 documents")]
    fn an_unusable_file_is_refused_with_its_reason(#[case] text: String, #[case] message: &str) {
        let error = case(&text, (8, 8)).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
