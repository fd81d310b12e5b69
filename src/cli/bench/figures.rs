//! Measures the suite and the reference operator: control-plane start, gang latency, throughput, memory.

use std::collections::BTreeSet;

use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::Target;
use conformance_expect::schedulers;
use conformance_history::Live;
use conformance_install::part::Part;
use conformance_programs::{peak_memory, processor_time};
use conformance_report::ProcessorSeconds;
use serde_json::{Value, json};

use super::timed::{measure_starts, print, start_with_nodes, stop, timed};
use crate::args::BenchArgs;
use crate::built_programs::{cluster_spec, programs};
use crate::output::{self, Console};
use crate::request::ProgramRequest;
use crate::{Failure, run_id, target_selection};

const SMALL_GANGS: usize = 5;
const GANGS: usize = 100;
const PODS_PER_GANG: usize = 10;

pub(super) async fn figures(kubernetes: Kubernetes, args: &BenchArgs) -> Result<(), Failure> {
    let console = Console::default();
    let targets = target_selection::targets_on(kubernetes, &args.backend, None)?;
    let running: BTreeSet<Scheduler> = targets.iter().map(|target| target.scheduler()).collect();
    let given = ProgramRequest::of(&args.programs)?;
    let spec = cluster_spec(kubernetes, &given, &running, &console).await?;
    let programs = programs(&given, &spec, &console).await?;
    let run = run_id();
    measure_starts(&spec, &programs, &run, &console).await?;
    let (cluster, test_cluster) = start_with_nodes(&spec, programs, &run).await?;
    // A stand-in shows nothing about the speed of the scheduler that it replaces.
    let stood_in = spec.stood_in_for();
    for target in
        targets.iter().filter(|target| **target != Target::EXTERNAL && !stood_in.contains(&target.backend()))
    {
        let mut latencies = Vec::new();
        for number in 0..SMALL_GANGS {
            console.now(&format!("{target}: small gang {} of {SMALL_GANGS}", number + 1));
            let name = format!("small-{number}-{}", target.slug());
            let mut pcs = pod_clique_set(&name, 1, PODS_PER_GANG);
            schedulers::of(*target).assign(&mut pcs);
            schedulers::of(*target).add_requests(&mut pcs);
            let bound =
                |live: &Live| pods_of(live, &name).filter(|pod| pod["spec"]["nodeName"].is_string()).count();
            latencies.push(timed(&test_cluster, &[pcs], |live| bound(live) == PODS_PER_GANG).await?);
        }
        print(
            &format!("{target}: PodCliqueSet of {PODS_PER_GANG} pods, submit to all bound"),
            &mut latencies,
        );
    }
    console.now(&format!("{GANGS} PodGangs of {PODS_PER_GANG} pods"));
    let pods = GANGS * PODS_PER_GANG;
    let ungated = timed(&test_cluster, &[pod_clique_set("many", GANGS, PODS_PER_GANG)], |live| {
        pods_of(live, "many")
            .filter(|pod| pod["spec"]["schedulingGates"].as_array().is_none_or(Vec::is_empty))
            .count()
            == pods
    })
    .await?;
    console.end();
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
    stop(cluster, test_cluster).await
}

fn pods_of<'a>(live: &'a Live, pcs: &'a str) -> impl Iterator<Item = &'a Value> {
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
