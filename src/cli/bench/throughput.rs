//! kube-scheduler's throughput: pods bound per second in each mapping of a PodGang, without topology and with
//! a required rack.
//!
//! There is one control plane per Kubernetes version and combination of gates. A version with trees has two:
//! with the gate CompositePodGroup off, it has the mappings of a version without trees. This separates the
//! effect of the version from that of the tree.
//!
//! A cell of the table is one PodCliqueSet in its own namespace. The recorder forgets the namespace
//! afterwards, because 2,000 pods in seven versions each take a lot of memory. The PodCliqueSet is deleted
//! completely before the next one is created. So every cell starts with the same empty nodes, no partly used
//! rack, and an otherwise idle API server.
//!
//! No mapping can be faster than the controller releases its pods, and the controller shares the machine with
//! the scheduler: the table has both rates.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use conformance_cluster::local::{ClusterSpec, Part};
use conformance_cluster::{ClusterError, deploy};
use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::names;
use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::Target;
use conformance_driver::test_cluster::TestCluster;
use conformance_history::{Header, History, Live, condition};
use conformance_judge::leftovers;
use conformance_report::Exit;
use futures::stream::{self, TryStreamExt};
use jiff::Timestamp;
use serde_json::json;

use super::table::{self, Figures, Row};
use super::timed::{begun, ended};
use super::workload::{self, PODS_PER_GANG, Size};
use crate::args::{BenchArgs, Versions};
use crate::output::{self, Console};
use crate::{Failure, cluster_spec, programs, run_id};

/// Time limit for a cell, and for its deletion.
const LIMIT: Duration = Duration::from_secs(300);

/// Minimum time between two counts of a namespace. Thousands of changes arrive per second, and counting 2,000
/// pods at each would take a core that the cluster needs. The figures are not coarser: they come from the
/// times at which the watches delivered each pod, not from this loop.
const PACE: Duration = Duration::from_millis(50);

/// Concurrent requests that create nodes.
const CREATORS: usize = 32;

const TREES: &str = "CompositePodGroup";

const FLAT: &[Target] = &[Target::KUBE_POD_GROUP, Target::KUBE_POD_GANG];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Round {
    gate_off: Option<&'static str>,
    targets: &'static [Target],
}

fn rounds(kubernetes: Kubernetes) -> &'static [Round] {
    if kubernetes.has_trees() {
        &[
            Round { gate_off: Some(TREES), targets: FLAT },
            Round { gate_off: None, targets: &[Target::KUBE_TREE] },
        ]
    } else {
        &[Round { gate_off: None, targets: FLAT }]
    }
}

impl Round {
    fn spec(self, whole: &ClusterSpec) -> ClusterSpec {
        let mut spec = whole.clone();
        if let Some(gate) = self.gate_off {
            spec.api_gates = spec.api_gates.with(gate, false);
            spec.scheduler_gates = spec.scheduler_gates.with(gate, false);
        }
        spec
    }
}

/// Measures and prints a table, also of what was measured before an error. A PodCliqueSet that is not bound
/// within 300 s is an error.
pub(super) async fn throughput(args: &BenchArgs) -> Result<Exit, Failure> {
    let size = Size::of(args)?;
    let talk = Console::default();
    let mut rows = Vec::new();
    let measured = measure(args, size, &talk, &mut rows).await;
    talk.end();
    if !rows.is_empty() {
        output::data(&table::table(size, &rows));
    }
    measured.map(|()| Exit::Conformant)
}

async fn measure(args: &BenchArgs, size: Size, talk: &Console, rows: &mut Vec<Row>) -> Result<(), Failure> {
    let run = run_id();
    let mut number = 0;
    for kubernetes in args.kubernetes.unwrap_or(Versions::All).all().iter().copied() {
        let whole = cluster_spec(kubernetes, &args.cluster_args, &[Scheduler::KUBE].into(), talk).await?;
        let programs = programs(&args.cluster_args, &whole, talk).await?;
        for round in rounds(kubernetes) {
            number += 1;
            talk.now(&format!("Kubernetes {kubernetes}: a control plane of {} nodes", size.nodes));
            let spec = round.spec(&whole);
            let name = format!("{run}-{number}");
            let (cluster, test_cluster) = begun(&name, spec, programs.clone(), &run).await?;
            Plane { kubernetes, test_cluster: &test_cluster, talk }.measure(*round, size, rows).await?;
            ended(cluster, test_cluster).await?;
        }
    }
    Ok(())
}

struct Plane<'a> {
    kubernetes: Kubernetes,
    test_cluster: &'a TestCluster,
    talk: &'a Console,
}

#[derive(Debug, Clone, Copy)]
struct Cell {
    target: Target,
    rack: bool,
    gangs: u32,
}

impl Cell {
    fn pods(self) -> u32 {
        self.gangs * PODS_PER_GANG
    }

    fn namespace(self) -> String {
        let topology = if self.rack { "rack" } else { "anywhere" };
        format!("{}-{topology}-{}", self.target.slug(), self.gangs)
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let topology = if self.rack { "required rack" } else { "without topology" };
        write!(f, "{}, {} pods, {topology}", self.target, self.pods())
    }
}

impl Plane<'_> {
    async fn measure(&self, round: Round, size: Size, rows: &mut Vec<Row>) -> Result<(), ClusterError> {
        self.add_nodes(size).await?;
        // The first gang is not measured: every cache is cold, and the scheduler is still receiving nodes.
        if let Some(target) = round.targets.first() {
            self.figures(Cell { target: *target, rack: true, gangs: 1 }).await?;
        }
        for target in round.targets {
            let mut row = Row::new(self.kubernetes, round.gate_off, *target);
            let filled = self.fill(&mut row, size).await;
            rows.push(row);
            filled?;
        }
        Ok(())
    }

    async fn fill(&self, row: &mut Row, size: Size) -> Result<(), ClusterError> {
        for (place, rack) in row.cells.iter_mut().zip([false, true]) {
            *place = Some(self.figures(Cell { target: row.target, rack, gangs: size.gangs }).await?);
        }
        let cluster = self.test_cluster.local()?;
        row.resident = [Part::Apiserver, Part::KUBE_SCHEDULER].map(|part| cluster.resident_bytes_of(part));
        Ok(())
    }

    /// Creates the nodes and waits until the watches show all of them Ready.
    async fn add_nodes(&self, size: Size) -> Result<(), ClusterError> {
        let client = &self.test_cluster.client;
        let nodes =
            (0..size.nodes).map(|index| Ok::<_, ClusterError>(workload::node(index, size.gpus).object()));
        stream::iter(nodes)
            .try_for_each_concurrent(CREATORS, |node| async move {
                deploy::create_unless_there(client, &node).await
            })
            .await?;
        // The canaries' node is in no rack.
        let ready = |live: &Live| {
            let of_racks = live.of("Node").filter(|node| node["metadata"]["labels"][names::RACK].is_string());
            of_racks
                .filter(|node| condition(node, "Ready").is_some_and(|ready| ready["status"] == "True"))
                .count()
        };
        let so_far = |live: &Live| format!("{} of {} nodes are Ready", ready(live), size.nodes);
        self.until("", "the last node", |live| ready(live) >= size.nodes as usize, so_far).await
    }

    /// Submits a PodCliqueSet, waits until all its pods are bound, and deletes it again.
    async fn figures(&self, cell: Cell) -> Result<Figures, ClusterError> {
        let (client, recorder) = (&self.test_cluster.client, &self.test_cluster.recorder);
        let title = format!("Kubernetes {}, {cell}", self.kubernetes);
        self.talk.now(&title);
        let (namespace, pods) = (cell.namespace(), cell.pods());
        let home = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": namespace, "labels": {(names::RUN): self.test_cluster.run}}});
        let tracked = recorder.track(&namespace, |_| false);
        deploy::create_unless_there(client, &home).await?;
        let pcs = workload::pod_clique_set(cell.target, &namespace, cell.gangs, cell.rack);
        let sent = Timestamp::now();
        deploy::create_unless_there(client, &pcs).await?;
        let bound = |live: &Live| live.bound() >= pods as usize;
        let so_far = |live: &Live| {
            let released = live.pods().filter(|pod| pod.gates().is_empty()).count();
            format!("{} of {pods} pods bound, {released} released to the scheduler", live.bound())
        };
        self.until(&namespace, &format!("{title}: the last bound pod"), bound, so_far).await?;
        let header = Header::new("bench", cell.target, &namespace, BTreeMap::new());
        let history = recorder.history(header);
        for gap in history.gaps() {
            let (kind, reason) = (&gap.kind, &gap.reason);
            self.talk.line(&format!("{title}: the watch of {kind} was lost, times may be late ({reason})"));
        }
        let times = Times::of(&history)
            .ok_or_else(|| ClusterError::NotSeen { during: title.clone(), what: "pod" })?;
        drop(history);
        deploy::delete_workloads(client, &namespace).await?;
        let gone = |live: &Live| live.all().all(leftovers::is_there_anyway);
        let so_far = |live: &Live| {
            let left = live.all().filter(|object| !leftovers::is_there_anyway(object)).count();
            format!("{left} objects remain in namespace {namespace}")
        };
        self.until(&namespace, &format!("{title}: deletion of the PodCliqueSet"), gone, so_far).await?;
        drop(tracked);
        Ok(times.figures(sent, pods))
    }

    /// Waits until a namespace's objects ("" for cluster-scoped ones) are as wanted. `so_far` describes their
    /// state in the error if that takes longer than [`LIMIT`].
    async fn until(
        &self,
        namespace: &str,
        what: &str,
        done: impl Fn(&Live) -> bool,
        so_far: impl Fn(&Live) -> String,
    ) -> Result<(), ClusterError> {
        let recorder = &self.test_cluster.recorder;
        let mut changes = recorder.follow(namespace);
        let begin = Instant::now();
        while !recorder.look(namespace, &done) {
            if let Some(death) = self.test_cluster.cluster.dead() {
                return Err(death);
            }
            if begin.elapsed() > LIMIT {
                let last = recorder.look(namespace, &so_far);
                return Err(ClusterError::NotReady { what: what.into(), seconds: LIMIT.as_secs(), last });
            }
            tokio::time::sleep(PACE).await;
            // Without a change for a second, the loop still checks whether a component has died.
            let _ = tokio::time::timeout(Duration::from_secs(1), changes.changed()).await;
        }
        Ok(())
    }
}

/// The times at which pods were released and bound, as the watches delivered them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Times {
    first_released: Timestamp,
    last_released: Timestamp,
    last_bound: Timestamp,
}

impl Times {
    fn of(history: &History) -> Option<Self> {
        let (mut released, mut bound) = (HashMap::new(), HashMap::new());
        for version in history.pods() {
            let pod = version.pod();
            if pod.gates().is_empty() {
                released.entry(pod.uid()).or_insert(version.at);
            }
            if pod.node().is_some() {
                bound.entry(pod.uid()).or_insert(version.at);
            }
        }
        Some(Self {
            first_released: released.values().min().copied()?,
            last_released: released.values().max().copied()?,
            last_bound: bound.values().max().copied()?,
        })
    }

    fn figures(self, sent: Timestamp, pods: u32) -> Figures {
        let seconds = |from: Timestamp, to: Timestamp| to.duration_since(from).as_secs_f64();
        // Avoids a division by zero for one pod, or on a machine faster than the clock.
        let rate = |to| f64::from(pods) / seconds(self.first_released, to).max(0.001);
        Figures {
            seconds: seconds(sent, self.last_bound),
            bound_rate: rate(self.last_bound),
            released_rate: rate(self.last_released),
        }
    }
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::Story;
    use serde_json::Value;

    use super::*;

    fn pod(name: &str, gates: Value, node: Option<&str>) -> Value {
        json!({"kind": "Pod", "metadata": {"name": name}, "spec": {"schedulingGates": gates, "nodeName": node}})
    }

    #[test]
    fn the_first_version_without_gates_and_with_a_node_counts() {
        let gated = || json!([{"name": names::GATE}]);
        let free = || json!([]);
        let history = Story::on(Target::KUBE_POD_GANG)
            .all_added([pod("a", gated(), None), pod("b", gated(), None)])
            .later(1)
            .modified(pod("a", free(), None))
            .later(1)
            .modified(pod("b", free(), None))
            .later(1)
            .modified(pod("a", free(), Some("n")))
            .later(2)
            .modified(pod("b", free(), Some("n")))
            .later(4)
            .modified(pod("b", free(), Some("n")))
            .end();
        let times = Times::of(&history).unwrap();
        let figures = times.figures(Timestamp::UNIX_EPOCH, 2);
        assert_eq!(figures, Figures { seconds: 5.0, bound_rate: 0.5, released_rate: 2.0 });
    }

    #[test]
    fn without_a_bound_pod_there_are_no_times() {
        let history = Story::flat().added(pod("a", json!([]), None)).end();
        assert_eq!(Times::of(&history), None);
    }

    #[test]
    fn every_row_is_on_a_version_that_has_its_mapping() {
        for kubernetes in Kubernetes::ALL {
            let whole = ClusterSpec::of(kubernetes);
            for round in rounds(kubernetes) {
                let spec = round.spec(&whole);
                let trees = round.targets.contains(&Target::KUBE_TREE);
                assert_eq!(spec.api_gates.is_on(TREES), trees);
                assert_eq!(spec.scheduler_gates.is_on(TREES), trees);
                assert!(spec.api_gates.is_on("TopologyAwareWorkloadScheduling"));
            }
        }
        let [of_1_36] = rounds(Kubernetes::V1_36) else { panic!("one control plane is enough") };
        let spec = of_1_36.spec(&ClusterSpec::of(Kubernetes::V1_36));
        assert_eq!((spec, of_1_36.targets), (ClusterSpec::of(Kubernetes::V1_36), FLAT));
    }
}
