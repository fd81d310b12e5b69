//! Your own workload: any PodCliqueSet that admission accepts, on the requested nodes, checked by the clauses
//! that need no knowledge of it.
//!
//! The arithmetic is the workload's own: N nodes x G GPUs; the hard gangs of all its PodGangs are P pods. At
//! first the nodes have room (allocatable `pods`) for P - 1 of them, so that at least one unit is one pod
//! short, with or without GPUs. Then there is room for one more, and everything must be bound. Then it is
//! deleted, and nothing may be left.

use conformance_check::{binding, cleanup, ensure, finding, gangs, violation};
use conformance_cluster::nodes::PODS;
use conformance_contract::names;
use conformance_contract::ruling::{Broken, Finding};
use conformance_contract::target::Target;
use conformance_contract::violation::Code;
use conformance_driver::case::{Case, Nodes, nodes};
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::limits::SCHEDULING;
use conformance_driver::test_cluster::TestCluster;
use conformance_expect as expect;
use conformance_expect::{Expected, Gang, Group, schedulers};
use conformance_facts::binding::not_whole;
use conformance_history::{History, Kind, MarkName, SharedMark};
use serde_json::Value;

const WHOLE_WITHOUT_ROOM: Code = Code::new("whole-without-room");

const ROOM_FOR_ALL: MarkName = MarkName::of_case("room for all");

const ID: &str = "workload";

/// Replaying a workload's history only needs the check; the header has the rest.
static REPLAYED: Case = Case::new(
    "Your own workload is bound whole or not at all, and completely deleted",
    |test| Box::pin(drive(test)),
    judge,
)
.registered(ID, "")
.clauses(&["GANG-01", "GANG-02", "GANG-03", "AON-01", "AON-02", "AON-03", "DEL-01"]);

pub fn replayed(id: &str) -> Option<&'static Case> {
    (id == ID).then_some(&REPLAYED)
}

/// Why a file is not a valid workload, or does not fit its nodes.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    #[error("{0}")]
    Yaml(#[from] grove_yaml::YamlError),
    /// A document is not a PodCliqueSet.
    #[error("document {document}: {reason}")]
    Foreign {
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
    Unasked(String),
}

pub fn case(text: &str, (count, gpus): (u32, u32)) -> Result<&'static Case, Unusable> {
    let documents = grove_yaml::documents(text)?;
    let [pcs] = documents.as_slice() else { return Err(Unusable::Count(documents.len())) };
    let foreign = |reason: String| Unusable::Foreign { document: 1, reason };
    for (field, expected) in [("apiVersion", "grove.io/v1alpha1"), ("kind", "PodCliqueSet")] {
        if pcs[field] != expected {
            return Err(foreign(format!("{field} is {}, expected {expected}", pcs[field])));
        }
    }
    let name = pcs["metadata"]["name"].as_str().ok_or_else(|| foreign("metadata.name is missing".into()))?;
    let gangs = expect::gangs(pcs);
    if gangs.is_empty() {
        return Err(foreign(format!("PodCliqueSet {name} has no replicas: there is nothing to schedule")));
    }
    // Surplus may be bound before another hard gang, so all pods must fit in any order.
    places(pcs, &gangs, count, gpus, |group| group.replicas)?;
    let mut slots = places(pcs, &gangs, count, gpus, |group| group.min)?;
    // One pod short: takes a place from a node that has one.
    if let Some(taken) = slots.iter_mut().rev().find(|slots| **slots > 0) {
        *taken -= 1;
    }
    let given: Vec<Nodes> = slots.into_iter().map(|slots| nodes(1).gpus(gpus).pods(slots)).collect();
    // One workload per process; it lives as long as the registered cases.
    let case = Case { nodes: given.leak(), manifest: text.to_owned().leak(), ..REPLAYED };
    Ok(Box::leak(Box::new(case)))
}

/// The number of pods per node if `of` pods of each podgroup are placed, largest first, each on the emptiest
/// node.
fn places(
    pcs: &Value,
    gangs: &[Gang],
    count: u32,
    gpus: u32,
    of: fn(&Group) -> usize,
) -> Result<Vec<u32>, Unusable> {
    let mut wanted = Vec::new();
    for group in gangs.iter().flat_map(|gang| &gang.groups) {
        let template = pcs["spec"]["template"]["cliques"].as_array().into_iter().flatten();
        let pod = template.into_iter().find(|clique| clique["name"] == group.template.as_str());
        let each = pod.map_or(0, |clique| gpus_of(&clique["spec"]["podSpec"]));
        if each > gpus {
            let reason = format!("PodClique {}: a pod requests {each} GPUs, a node has {gpus}", group.clique);
            return Err(Unusable::DoesNotFit(reason));
        }
        wanted.extend(std::iter::repeat_n(each, of(group)));
    }
    wanted.sort_unstable_by(|a, b| b.cmp(a));
    let mut nodes = vec![(gpus, 0_u32); count as usize];
    let (pods, sum) = (wanted.len(), wanted.iter().sum::<u32>());
    for each in wanted {
        // The emptiest node with room: schedulers spread pods by default.
        let free = nodes.iter_mut().filter(|(free, slots)| *free >= each && *slots < PODS);
        let Some((free, slots)) = free.max_by_key(|(free, slots)| (*free, std::cmp::Reverse(*slots))) else {
            return Err(Unusable::DoesNotFit(format!(
                "does not fit: {pods} pods request {sum} GPUs, and there are {count} nodes of {gpus} GPUs"
            )));
        };
        *free -= each;
        *slots += 1;
    }
    Ok(nodes.into_iter().map(|(_, slots)| slots).collect())
}

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
    let of = |containers: &Value| {
        containers.as_array().map_or_else(Vec::new, |all| all.iter().map(amount).collect())
    };
    let running: u32 = of(&pod["containers"]).iter().sum();
    running.max(of(&pod["initContainers"]).into_iter().max().unwrap_or(0))
}

pub fn scope(case: &Case) -> Option<String> {
    let pcs = grove_yaml::documents(case.manifest).ok()?.into_iter().next()?;
    pcs["metadata"]["annotations"][names::GANG_SCOPE].as_str().map(str::to_owned)
}

/// Asks admission about the workload for every target's backend, without creating anything.
pub async fn admitted(test_cluster: &TestCluster, case: &Case, targets: &[Target]) -> Result<(), Unusable> {
    let Some(mut pcs) = grove_yaml::documents(case.manifest)?.into_iter().next() else { return Ok(()) };
    pcs["metadata"]["namespace"] = "default".into();
    let path = Kind::named("PodCliqueSet").map(|kind| kind.path(Some("default"))).unwrap_or_default();
    for target in targets {
        let mut pcs = pcs.clone();
        schedulers::of(*target).claim(&mut pcs);
        let request = http::Request::post(format!("{path}?dryRun=All&fieldValidation=Strict"))
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(pcs.to_string().into_bytes())
            .map_err(|e| Unusable::Unasked(e.to_string()))?;
        match test_cluster.client.request::<Value>(request).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if (400..500).contains(&status.code) => {
                return Err(Unusable::Rejected(format!("{} ({target})", status.message)));
            }
            Err(error) => return Err(Unusable::Unasked(error.to_string())),
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
    let gangs = test.submit_value(test.at_home(pcs)).await?;
    for gang in gangs.iter().filter(|gang| gang.is_base) {
        test.until_released(gang).await?;
    }
    test.scheduler_passes().await?;
    test.test_cluster.cluster.node_pools().set_pods(&test.nodes, PODS).await?;
    let units: Vec<_> = gangs.iter().flat_map(|gang| gang.units(test.target)).collect();
    let whole = test
        .until("every hard gang bound", SCHEDULING, |live| not_whole(live, &units).next().is_none())
        .await;
    if whole.is_ok() {
        test.mark(ROOM_FOR_ALL, Value::Null);
    }
    test.delete("PodCliqueSet", &name).await?;
    test.until_nothing_left().await?;
    whole
}

fn judge(history: &History) -> Vec<Finding> {
    let set = || {
        let name = history.header.submitted.keys().next();
        name.cloned().ok_or_else(|| Broken::NotReached("no PodCliqueSet was submitted".into()))
    };
    // The state before its deletion: DEL-01 covers the rest.
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
            // At the barrier, a scaled PodGang may still be partially bound; base PodGangs have had their
            // pass.
            let bases = history.gangs(&set()?)?.into_iter().filter(|gang| gang.is_base);
            let based: Vec<_> = bases.flat_map(|gang| gang.units(history.header.target)).collect();
            binding::all_or_nothing(&short, &based)?;
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
    fn nodes_are_one_slot_short() {
        let case = case(&workload(4, 8), (8, 8)).unwrap();
        let slots: Vec<_> = case.nodes.iter().map(|node| node.pods).collect();
        assert_eq!(slots.iter().sum::<u32>(), 3, "{slots:?}");
        assert_eq!(slots.len(), 8);
    }

    #[rstest::rstest]
    #[case::pending(0, &[])]
    #[case::in_part(1, &["not-bound-whole"])]
    #[case::whole(2, &["whole-without-room"])]
    fn a_workload_that_is_one_pod_short_is_pending(#[case] bound: usize, #[case] wanted: &[&str]) {
        let story = Story::flat().submitted(one_clique("w", 2)).workers("w", 2, bound);
        let history = story.mark(SharedMark::SchedulerPassed, Value::Null).end();
        let found = judge(&history).into_iter().find(|finding| finding.clause == "AON-02");
        assert_eq!(codes(found.expect("AON-02 is judged").ruling), wanted);
    }

    #[rstest::rstest]
    #[case(workload(9, 8), "9 pods request 72 GPUs, and there are 8 nodes of 8 GPUs")]
    #[case(workload(1, 16), "PodClique w-0-a: a pod requests 16 GPUs, a node has 8")]
    #[case("kind: Deployment".into(), "apiVersion is null, expected grove.io/v1alpha1")]
    #[case("apiVersion: grove.io/v1alpha1\nkind: Pod".into(), "kind is \"Pod\", expected PodCliqueSet")]
    #[case("a: [".into(), "line 2")]
    #[case(String::new(), "found 0 documents")]
    fn unusable_files(#[case] text: String, #[case] message: &str) {
        let error = case(&text, (8, 8)).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
