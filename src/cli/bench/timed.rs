//! Starts clusters and measures times for [`super::figures`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use conformance_cluster::local::{LocalCluster, Programs};
use conformance_cluster::nodes::{NodeSpec, PODS};
use conformance_cluster::{ClusterError, deploy};
use conformance_driver::test_cluster::TestCluster;
use conformance_history::Live;
use conformance_install::cluster_spec::ClusterSpec;
use conformance_run::suites;
use serde_json::Value;
use tokio::sync::watch;

use crate::Failure;
use crate::output::{self, Console};

const STARTS: usize = 3;
const NODES: usize = 50;
const LIMIT: Duration = Duration::from_secs(120);

pub(super) async fn measure_starts(
    spec: &ClusterSpec,
    programs: &Programs,
    run: &str,
    console: &Console,
) -> Result<(), Failure> {
    let mut starts = Vec::new();
    for number in 0..STARTS {
        console.now(&format!("cluster start {} of {STARTS}", number + 1));
        let cluster = LocalCluster::start(&format!("{run}-{number}"), spec.clone(), programs.clone()).await?;
        starts.push(cluster.ready_in);
        cluster.stop(false).await?;
    }
    print("cluster ready", &mut starts);
    Ok(())
}

pub(super) async fn stop(cluster: Arc<LocalCluster>, test_cluster: TestCluster) -> Result<(), Failure> {
    drop(test_cluster);
    if let Some(cluster) = Arc::into_inner(cluster) {
        cluster.stop(false).await?;
    }
    Ok(())
}

pub(super) async fn start_with_nodes(
    spec: &ClusterSpec,
    programs: Programs,
    run: &str,
) -> Result<(Arc<LocalCluster>, TestCluster), Failure> {
    let cluster = LocalCluster::start(&format!("{run}-bench"), spec.clone(), programs).await?;
    let cluster = Arc::new(cluster);
    let kinds = (suites::of(spec.workload()).kinds)();
    let test_cluster = TestCluster::prepare(&kinds, cluster.clone(), &spec.schedulers, run).await?;
    for index in 0..NODES {
        let name = format!("bench-{index}");
        let node = NodeSpec { name, labels: [].into(), taint: None, gpus: 8, pods: PODS, template: None };
        deploy::create_unless_exists(&test_cluster.client, &node.object()).await?;
    }
    Ok((cluster, test_cluster))
}

/// Returns the time from the first request until the watches show that `done` is satisfied.
pub(super) async fn timed(
    test_cluster: &TestCluster,
    objects: &[Value],
    done: impl Fn(&Live) -> bool,
) -> Result<Duration, Failure> {
    let _tracked = test_cluster.recorder.track("default", |_| false);
    let mut changes: watch::Receiver<usize> = test_cluster.recorder.follow("default");
    let begin = Instant::now();
    for object in objects {
        deploy::create_unless_exists(&test_cluster.client, object).await?;
    }
    let wait = async {
        while !test_cluster.recorder.look("default", &done) {
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::time::timeout(LIMIT, wait).await.map_err(|_| {
        let names: Vec<_> = objects.iter().map(|object| object["metadata"]["name"].to_string()).collect();
        Failure::from(ClusterError::NotReady {
            what: names.join(", "),
            seconds: LIMIT.as_secs(),
            last: test_cluster.recorder.look("default", |live| format!("{} pods bound", live.bound())),
        })
    })?;
    Ok(begin.elapsed())
}

pub(super) fn print(what: &str, durations: &mut [Duration]) {
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
