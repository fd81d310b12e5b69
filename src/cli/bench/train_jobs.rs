//! Measures TrainJobs from the request to the last bound pod, on a control plane with the unmodified trainer
//! and JobSet. Also measures the KAI plugin's memory and time per request.

use std::collections::BTreeSet;
use std::time::Duration;

use conformance_cluster::local::Part;
use conformance_cluster::{ClusterError, deploy, peak_memory};
use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::Target;
use conformance_driver::context::answered;
use conformance_driver::test_cluster::TestCluster;
use conformance_driver::train_jobs::{claim, pods_of, says_unknown};
use conformance_history::{Live, text};
use kube::Client;
use serde_json::{Value, json};

use super::timed::{ended, print, starts, timed, with_nodes};
use super::trainer_plugin;
use crate::args::BenchArgs;
use crate::output::{self, Console};
use crate::{Failure, cluster_spec, programs, run_id, select};

const TRAIN_JOBS: usize = 5;
const PODS: usize = 10;
const RUNTIME_KNOWN: Duration = Duration::from_secs(20);
/// Name suffix of the KAI plugin's webhooks.
const PLUGIN: &str = ".trainer-kai-plugin.kai.scheduler";
const TRAINER: &str = ".trainer.kubeflow.org";

pub(super) async fn train_jobs(kubernetes: Kubernetes, args: &BenchArgs) -> Result<(), Failure> {
    let talk = Console::default();
    let targets = select::train_job_targets(&args.backend)?;
    let (by_job, others) = select::by_control_plane(targets);
    let both = [(true, by_job), (false, others)];
    for (jobs_have_gangs, targets) in both.into_iter().filter(|(_, targets)| !targets.is_empty()) {
        let running: BTreeSet<Scheduler> = targets.iter().map(|target| target.scheduler()).collect();
        let spec = cluster_spec(kubernetes, &args.cluster_args, &running, &talk)
            .await?
            .with_trainer(jobs_have_gangs);
        let programs = programs(&args.cluster_args, &spec, &talk).await?;
        let run = run_id();
        starts(&spec, &programs, &run, &talk).await?;
        let (cluster, test_cluster) = with_nodes(&spec, programs, &run).await?;
        let stood_in = spec.stood_in_for();
        for target in targets.iter().filter(|target| !stood_in.contains(&target.backend())) {
            latency(&test_cluster, *target, &talk).await?;
        }
        talk.end();
        if let Some(peak) = cluster.pid(Part::TRAINER_PLUGIN).and_then(peak_memory::of_process) {
            output::data(&format!("KAI plugin, peak resident memory: {} MB", peak / 1_000_000));
        }
        if let Some(took) = trainer_plugin::requests(&test_cluster.client).await? {
            let ms = |percent: usize| took[(took.len() - 1) * percent / 100].as_secs_f64() * 1000.0;
            output::data(&format!(
                "KAI plugin, {} requests one after the other: median {:.1} ms, 99 % within {:.1} ms, at most {:.1} ms",
                took.len(),
                ms(50),
                ms(99),
                ms(100),
            ));
        }
        let metrics = metrics(&test_cluster.client).await?;
        // The trainer's own webhooks show the overhead of the API server and of a cold start on this machine.
        for (whose, suffix) in [("KAI plugin", PLUGIN), ("trainer's own webhooks", TRAINER)] {
            let Some(Requests { count, mean, within_5_ms }) = Requests::to(suffix, &metrics) else {
                continue;
            };
            output::data(&format!(
                "{whose}, {count} requests as the API server sees them: {within_5_ms} within 5 ms, mean {:.1} ms",
                mean.as_secs_f64() * 1000.0
            ));
        }
        ended(cluster, test_cluster).await?;
    }
    Ok(())
}

async fn latency(test_cluster: &TestCluster, target: Target, talk: &Console) -> Result<(), Failure> {
    let runtime = runtime(target);
    deploy::create_unless_there(&test_cluster.client, &runtime).await?;
    let name = |number: usize| format!("bench-{number}-{}", target.name());
    // The first waits until the trainer knows the runtime, and is not counted.
    let first = train_job(&name(0), &runtime);
    let of = text(&runtime["metadata"]["name"]);
    let create = || async {
        match deploy::create_unless_there(&test_cluster.client, &first).await {
            Err(error) if says_unknown(&error.to_string(), of) => Ok(None),
            created => created.map(Some),
        }
    };
    if answered(|| RUNTIME_KNOWN, create).await?.is_none() {
        let (what, seconds) = (format!("runtime {of}"), RUNTIME_KNOWN.as_secs());
        let last = "the trainer does not report it as known".to_owned();
        return Err(ClusterError::NotReady { what, seconds, last }.into());
    }
    let mut latencies = Vec::new();
    for number in 0..=TRAIN_JOBS {
        talk.now(&format!("{target}: TrainJob {number} of {TRAIN_JOBS}"));
        let name = name(number);
        let are_bound = |live: &Live| {
            pods_of(live, &name).filter(|pod| pod["spec"]["nodeName"].is_string()).count() == PODS
        };
        latencies.push(timed(test_cluster, &[train_job(&name, &runtime)], are_bound).await?);
    }
    print(&format!("{target}: TrainJob of {PODS} one-GPU pods, submit to all bound"), &mut latencies[1..]);
    Ok(())
}

fn runtime(target: Target) -> Value {
    let gpu = json!({"nvidia.com/gpu": 1});
    let container = json!({"name": "node", "image": "registry.k8s.io/pause:3.10",
        "resources": {"requests": gpu, "limits": gpu}});
    let job = json!({"name": "node", "template": {
        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }});
    let mut runtime = json!({
        "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime",
        "metadata": {"name": format!("bench-{}", target.name()), "namespace": "default"},
        "spec": {"mlPolicy": {"numNodes": PODS}, "template": {"spec": {"replicatedJobs": [job]}}},
    });
    claim(&mut runtime, target);
    runtime
}

fn train_job(name: &str, runtime: &Value) -> Value {
    json!({
        "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"runtimeRef": {"kind": "TrainingRuntime", "name": runtime["metadata"]["name"]}},
    })
}

async fn metrics(client: &Client) -> Result<String, Failure> {
    let failed = |source| Failure::from(ClusterError::api("GET /metrics", source));
    let request = http::Request::get("/metrics").body(Vec::new());
    let request = request.map_err(|error| failed(kube::Error::HttpError(error)))?;
    client.request_text(request).await.map_err(failed)
}

#[derive(Debug, PartialEq, Eq)]
struct Requests {
    count: u64,
    mean: Duration,
    within_5_ms: u64,
}

impl Requests {
    fn to(suffix: &str, metrics: &str) -> Option<Self> {
        let sum = |field: &str, also: &str| -> f64 {
            let start = format!("apiserver_admission_webhook_admission_duration_seconds_{field}{{");
            let named = format!("{suffix}\"");
            let is_one =
                |line: &&str| line.starts_with(&start) && line.contains(&named) && line.contains(also);
            let lines = metrics.lines().filter(is_one);
            lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
        };
        let count = sum("count", "");
        (count > 0.0).then(|| Self {
            count: count as u64,
            mean: Duration::from_secs_f64(sum("sum", "") / count),
            within_5_ms: sum("bucket", "le=\"0.005\"") as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_those_to_the_webhooks_of_that_name() {
        let of = |field: &str, name: &str, more: &str, value: &str| {
            format!(
                "apiserver_admission_webhook_admission_duration_seconds_{field}{{name=\"{name}\"{more}}} {value}\n"
            )
        };
        let text = of("sum", "a.mine", "", "0.3")
            + &of("count", "a.mine", "", "2")
            + &of("bucket", "a.mine", ",le=\"0.005\"", "1")
            + &of("bucket", "a.mine", ",le=\"0.025\"", "2")
            + &of("sum", "b.mine", "", "0.1")
            + &of("count", "b.mine", "", "2")
            + &of("sum", "another", "", "9")
            + &of("count", "another", "", "1");
        let mine = Requests { count: 4, mean: Duration::from_millis(100), within_5_ms: 1 };
        assert_eq!(Requests::to(".mine", &text), Some(mine));
        assert_eq!(Requests::to(".nobody", &text), None);
    }
}
