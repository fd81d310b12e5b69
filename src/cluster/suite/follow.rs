use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{AsyncBufReadExt, StreamExt, TryStreamExt};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, LogParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use tokio::task::JoinSet;

use super::pods::{Stage, failure_of, has_ended, share, stage};
use super::{CONTAINER, SuiteRun};
use crate::ClusterError;

/// How long a pod may take to start, including the pull of its image.
const START: Duration = Duration::from_secs(300);
const HOPELESS: Duration = Duration::from_secs(60);
const TICK: Duration = Duration::from_secs(1);

pub trait Follower: Send + Sync {
    /// Receives a line of a share's pod. Shares are numbered from 0.
    fn line(&self, share: usize, text: &str);
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ended {
    /// Why the last pod of each failed share failed. Shares whose last pod succeeded have no entry.
    pub failed: BTreeMap<usize, String>,
    pub job: Option<String>,
}

#[derive(Default)]
struct Progress {
    stages: BTreeMap<String, Stage>,
    followed: BTreeSet<String>,
    /// The share of each waiting pod, and when it was first seen.
    waiting: BTreeMap<String, (usize, Instant)>,
    ended: Ended,
}

/// Follows a run until its Job has ended. Fails if a pod does not start, or if the Job is deleted.
pub async fn follow(
    client: &Client,
    run: &SuiteRun,
    follower: &Arc<dyn Follower>,
) -> Result<Ended, ClusterError> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), &run.name());
    let jobs: Api<Job> = Api::namespaced(client.clone(), &run.name());
    let mut changed_pods =
        watcher(pods.clone(), watcher::Config::default()).default_backoff().touched_objects().boxed();
    let only = watcher::Config::default().fields(&format!("metadata.name={}", run.name()));
    let mut changed_jobs = watcher(jobs, only).default_backoff().boxed();
    let mut tick = tokio::time::interval(TICK);
    let (mut progress, mut logs) = (Progress::default(), JoinSet::new());
    loop {
        tokio::select! {
            pod = changed_pods.next() => match pod {
                Some(Ok(pod)) => progress.update(&pod, &pods, follower, &mut logs),
                Some(Err(error)) => tracing::debug!(%error, "restarting the watch of the run's pods"),
                None => {}
            },
            job = changed_jobs.next() => match job {
                Some(Ok(watcher::Event::Apply(job) | watcher::Event::InitApply(job))) if has_ended(&job) => {
                    progress.ended.job = failure_of(&job);
                    let _ = tokio::time::timeout(HOPELESS, async { while logs.join_next().await.is_some() {} }).await;
                    return Ok(progress.ended);
                }
                Some(Ok(watcher::Event::Delete(_))) => return Err(ClusterError::Deleted { what: format!("Job {}", run.name()) }),
                _ => {}
            },
            _ = tick.tick() => progress.check_limits()?,
        }
    }
}

impl Progress {
    fn update(&mut self, pod: &Pod, pods: &Api<Pod>, follower: &Arc<dyn Follower>, logs: &mut JoinSet<()>) {
        let (name, share, stage) = (pod.name_any(), share(pod), stage(pod));
        let is_deleted = pod.metadata.deletion_timestamp.is_some() && matches!(stage, Stage::Waits { .. });
        match &stage {
            Stage::Waits { .. } if !is_deleted => {
                self.waiting.entry(name.clone()).or_insert((share, Instant::now()));
            }
            _ => drop(self.waiting.remove(&name)),
        }
        if self.stages.get(&name) == Some(&stage) {
            return;
        }
        if matches!(stage, Stage::Runs(_) | Stage::Succeeded | Stage::Failed(_))
            && self.followed.insert(name.clone())
        {
            logs.spawn(forward_log(pods.clone(), name.clone(), share, follower.clone()));
        }
        match &stage {
            Stage::Waits { reason, hopeless: true } => {
                follower.line(share, &format!("pod {name} waits: {reason}"))
            }
            Stage::Waits { .. } => {}
            Stage::Runs(node) => follower.line(share, &format!("pod {name} runs on {node}")),
            Stage::Succeeded => {
                self.ended.failed.remove(&share);
                follower.line(share, "the results of the pod are stored");
            }
            Stage::Failed(reason) => {
                self.ended.failed.insert(share, reason.clone());
                follower.line(share, &format!("pod {name} failed: {reason}"));
            }
        }
        self.stages.insert(name, stage);
    }

    fn check_limits(&self) -> Result<(), ClusterError> {
        for (name, (share, since)) in &self.waiting {
            let Some(Stage::Waits { reason, hopeless }) = self.stages.get(name) else { continue };
            let limit = if *hopeless { HOPELESS } else { START };
            if since.elapsed() > limit {
                return Err(ClusterError::NotReady {
                    what: format!("pod {name} of shard {}", share + 1),
                    seconds: limit.as_secs(),
                    last: reason.clone(),
                });
            }
        }
        Ok(())
    }
}

/// Forwards the log of a pod. A broken stream does not end the run.
async fn forward_log(pods: Api<Pod>, name: String, share: usize, follower: Arc<dyn Follower>) {
    let params = LogParams { follow: true, container: Some(CONTAINER.into()), ..LogParams::default() };
    let lines = match pods.log_stream(&name, &params).await {
        Ok(stream) => stream.lines(),
        Err(error) => return tracing::debug!(%error, name, "cannot follow the log of a pod"),
    };
    let forwarded = lines.try_for_each(|line| {
        follower.line(share, &line);
        futures::future::ready(Ok(()))
    });
    if let Err(error) = forwarded.await {
        tracing::debug!(%error, name, "the log of a pod was cut off");
    }
}
