//! What the suite and the controller take: a control plane's start, a small gang from its request to its last pod
//! bound, the controller's throughput, and memory.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use conformance_cluster::local::{LocalCluster, Part};
use conformance_cluster::nodes::{NodeSpec, PODS};
use conformance_cluster::{ClusterError, deploy, peak_memory, processor_time};
use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::Target;
use conformance_driver::test_cluster::TestCluster;
use conformance_expect::schedulers;
use conformance_history::Live;
use conformance_report::ProcessorSeconds;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::args::BenchArgs;
use crate::output::{self, Console};
use crate::{Failure, cluster_spec, programs, run_id, select};

const STARTS: usize = 3;
const SMALL_GANGS: usize = 5;
const GANGS: usize = 100;
const PODS_PER_GANG: usize = 10;
const LIMIT: Duration = Duration::from_secs(120);

/// Measures and prints.
///
/// # Errors
/// [`Failure::Usage`] for a backend that there is not; [`Failure::Infrastructure`].
pub(super) async fn figures(kubernetes: Kubernetes, args: &BenchArgs) -> Result<(), Failure> {
    let talk = Console::default();
    let targets = select::targets_on(kubernetes, &args.backend, None)?;
    let running: BTreeSet<Scheduler> = targets.iter().map(|target| target.scheduler()).collect();
    let spec = cluster_spec(kubernetes, &args.cluster_args, &running, &talk).await?;
    let programs = programs(&args.cluster_args, &spec, &talk).await?;
    let run = run_id();
    let mut starts = Vec::new();
    for number in 0..STARTS {
        talk.now(&format!("cluster start {} of {STARTS}", number + 1));
        let cluster = LocalCluster::start(&format!("{run}-{number}"), spec.clone(), programs.clone()).await?;
        starts.push(cluster.ready_in);
        cluster.stop(false).await?;
    }
    print("cluster ready", &mut starts);
    let cluster = LocalCluster::start(&format!("{run}-bench"), spec.clone(), programs).await?;
    let cluster = Arc::new(cluster);
    let test_cluster = TestCluster::prepare(cluster.clone(), &spec.schedulers, &run).await?;
    for index in 0..50 {
        let name = format!("bench-{index}");
        let node = NodeSpec { name, labels: [].into(), taint: None, gpus: 8, pods: PODS };
        deploy::create_unless_there(&test_cluster.client, &node.object()).await?;
    }
    // A stand-in's figures are nobody's.
    let stood_in = spec.stood_in_for();
    for target in
        targets.iter().filter(|target| **target != Target::EXTERNAL && !stood_in.contains(&target.backend()))
    {
        let mut latencies = Vec::new();
        for number in 0..SMALL_GANGS {
            talk.now(&format!("{target}: small gang {} of {SMALL_GANGS}", number + 1));
            let name = format!("small-{number}-{}", target.slug());
            let mut pcs = pod_clique_set(&name, 1, PODS_PER_GANG);
            schedulers::of(*target).claim(&mut pcs);
            let bound =
                |live: &Live| of(live, &name).filter(|pod| pod["spec"]["nodeName"].is_string()).count();
            latencies.push(timed(&test_cluster, &pcs, |live| bound(live) == PODS_PER_GANG).await?);
        }
        print(
            &format!("{target}: PodCliqueSet of {PODS_PER_GANG} pods, submit to all bound"),
            &mut latencies,
        );
    }
    talk.now(&format!("{GANGS} PodGangs of {PODS_PER_GANG} pods"));
    let pods = GANGS * PODS_PER_GANG;
    let ungated = timed(&test_cluster, &pod_clique_set("many", GANGS, PODS_PER_GANG), |live| {
        of(live, "many")
            .filter(|pod| pod["spec"]["schedulingGates"].as_array().is_none_or(Vec::is_empty))
            .count()
            == pods
    })
    .await?;
    talk.end();
    let rate = pods as f64 / ungated.as_secs_f64();
    output::data(&format!(
        "{pods} pods of {GANGS} PodGangs created, referenced, ungated: {:.1} s, {rate:.0} pods/s",
        ungated.as_secs_f64()
    ));
    if let Some(peak) = cluster.pid(Part::Controller).and_then(peak_memory::of_process) {
        output::data(&format!("controller, peak resident memory: {} MB", peak / 1_000_000));
    }
    output::data(&format!(
        "the whole control plane, resident memory: {} MB",
        cluster.resident_bytes() / 1_000_000
    ));
    let spent: ProcessorSeconds = processor_time::spent("grove-conformance").into_iter().collect();
    output::data(&format!("processor time of all of this: {spent}"));
    drop(test_cluster);
    if let Some(cluster) = Arc::into_inner(cluster) {
        cluster.stop(false).await?;
    }
    Ok(())
}

fn of<'a>(live: &'a Live, pcs: &'a str) -> impl Iterator<Item = &'a Value> {
    live.of("Pod").filter(move |pod| pod["metadata"]["labels"][conformance_contract::names::PART_OF] == pcs)
}

fn pod_clique_set(name: &str, replicas: usize, pods: usize) -> Value {
    json!({
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": replicas, "template": {"cliques": [{"name": "worker", "spec": {
            "roleName": "worker",
            "replicas": pods,
            "podSpec": {"containers": [{"name": "worker", "image": "registry.k8s.io/pause:3.10"}]},
        }}]}},
    })
}

/// From the request to the moment when the watches show that it is done.
async fn timed(
    test_cluster: &TestCluster,
    pcs: &Value,
    done: impl Fn(&Live) -> bool,
) -> Result<Duration, Failure> {
    let _tracked = test_cluster.recorder.track("default", |_| false);
    let mut changes: watch::Receiver<usize> = test_cluster.recorder.follow("default");
    let begin = Instant::now();
    deploy::create_unless_there(&test_cluster.client, pcs).await?;
    let wait = async {
        while !test_cluster.recorder.look("default", &done) {
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::time::timeout(LIMIT, wait).await.map_err(|_| {
        Failure::from(ClusterError::NotReady {
            what: format!("PodCliqueSet {}", pcs["metadata"]["name"]),
            seconds: LIMIT.as_secs(),
            last: test_cluster.recorder.look("default", |live| format!("{} pods bound", live.bound())),
        })
    })?;
    Ok(begin.elapsed())
}

/// Minimum, median, maximum.
fn print(what: &str, durations: &mut [Duration]) {
    durations.sort_unstable();
    let seconds = |index: usize| durations[index].as_secs_f64();
    output::data(&format!(
        "{what}: median {:.2} s (min {:.2}, max {:.2}, {} runs)",
        seconds(durations.len() / 2),
        seconds(0),
        seconds(durations.len() - 1),
        durations.len()
    ));
}
