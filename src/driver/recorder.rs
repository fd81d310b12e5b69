//! One watch per kind, started before the first case, writes to one log per followed namespace. A watch that
//! cannot resume (410 Gone) lists again, and every log records a gap. A check cannot conclude "never
//! happened" across a gap, so the result is an infrastructure error.

mod health;
mod logs;
mod served_kind;
#[cfg(test)]
mod tests;
mod watching;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use conformance_cluster::ClusterError;
use conformance_contract::scheduler::Scheduler;
use conformance_history::{Entry, Header, History, Kind, Live, Mark, MarkName, revision};
use kube::Client;
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::health::Health;
pub use self::health::RecorderError;
pub use self::logs::{Keep, Tracked};
use self::logs::{Listed, Logs};
use self::served_kind::{ANSWER, ServedKind};
use self::watching::{Watching, first_api_versions, list};

const LIST_RETRIES: usize = 3;

pub struct Recorder {
    client: Client,
    kinds: Vec<ServedKind>,
    /// One per kind: notifies the kind's watch that it has delivered nothing for too long.
    silent: Vec<Arc<Notify>>,
    logs: Logs,
    health: Health,
    _tasks: JoinSet<()>,
}

#[derive(Debug, thiserror::Error)]
pub enum Unsettled {
    #[error("failed to list {kind} for comparison: {source}")]
    NotListed { kind: &'static str, source: Box<kube::Error> },
    #[error("the watches did not deliver {what} within {seconds} s{}", trouble.as_ref().map(|why| format!(" ({why})")).unwrap_or_default())]
    Behind { what: String, seconds: u64, trouble: Option<RecorderError> },
}

impl From<Unsettled> for ClusterError {
    fn from(unsettled: Unsettled) -> Self {
        match unsettled {
            Unsettled::NotListed { kind, source } => {
                Self::api(format!("list {kind} to compare with the history"), *source)
            }
            Unsettled::Behind { ref what, seconds, .. } => {
                let last = unsettled.to_string();
                Self::NotReady { what: format!("the record of {what}"), seconds, last }
            }
        }
    }
}

impl Recorder {
    /// Returns once all served kinds are watched. [`RecorderError::Forbidden`] names all missing permissions.
    pub async fn start(
        client: Client,
        schedulers: &BTreeSet<Scheduler>,
        kinds: &[Kind],
        limit: Duration,
    ) -> Result<Self, RecorderError> {
        let is_installed =
            |kind: &Kind| kind.scheduler.is_none_or(|scheduler| schedulers.contains(&scheduler));
        let mut last = "no response".to_owned();
        let served = tokio::time::timeout(limit, first_api_versions(&client, &mut last)).await;
        let served = served.map_err(|_| RecorderError::NotReady {
            what: "the API groups".into(),
            seconds: limit.as_secs(),
            last,
        })?;
        let installed = kinds.iter().copied().filter(is_installed);
        let kinds: Vec<Kind> = installed.filter_map(|kind| kind.served(&served)).collect();
        let (logs, health) = (Logs::new(), Health::new(&kinds));
        let mut tasks = JoinSet::new();
        let watching = Watching { client: client.clone(), logs: logs.clone(), health: health.clone() };
        let silent: Vec<Arc<Notify>> = kinds.iter().map(|_| Arc::default()).collect();
        let kinds: Vec<ServedKind> = kinds.into_iter().map(ServedKind::new).collect();
        for (kind, silent) in kinds.iter().zip(&silent) {
            tasks.spawn(watching.clone().follow(kind.clone(), silent.clone()));
        }
        health.wait_until_watching(limit).await?;
        Ok(Self { client, kinds, silent, logs, health, _tasks: tasks })
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the kind with this name, in the served version, or `None` if the kind is not watched.
    pub fn kind(&self, name: &str) -> Option<Kind> {
        self.kinds.iter().map(ServedKind::get).find(|kind| kind.name == name)
    }

    /// Looks up the served versions after an upgrade: a list of an unserved version would look empty.
    pub async fn look_up_versions(&self) -> Result<(), ClusterError> {
        for kind in &self.kinds {
            if !kind.look_up(&self.client).await {
                let (what, last) = ("the list of served API versions".into(), "no response".into());
                return Err(ClusterError::NotReady { what, seconds: ANSWER.as_secs(), last });
            }
        }
        Ok(())
    }

    pub fn restart_watches(&self, kinds: &[&str]) {
        let restarted =
            self.kinds.iter().zip(&self.silent).filter(|(kind, _)| kinds.contains(&kind.get().name));
        restarted.for_each(|(_, silent)| silent.notify_one());
    }

    pub fn failure(&self) -> Option<RecorderError> {
        self.health.failure()
    }

    /// Waits for a failure of the watches that makes every history unreliable.
    pub async fn failed(&self) -> RecorderError {
        self.health.wait_for_failure().await
    }

    /// Records the history of a namespace until the guard is dropped. Call this before any object exists in
    /// the namespace. `belong` selects the cluster-scoped objects to record.
    pub fn track(&self, namespace: &str, belong: impl Fn(&Value) -> bool + Send + Sync + 'static) -> Tracked {
        self.logs.track(namespace, Box::new(belong), None)
    }

    /// Like [`Recorder::track`], but `keep` first reduces each version. One equal to the previous is skipped.
    pub fn track_part(
        &self,
        namespace: &str,
        belong: impl Fn(&Value) -> bool + Send + Sync + 'static,
        keep: Keep,
    ) -> Tracked {
        self.logs.track(namespace, Box::new(belong), Some(keep))
    }

    pub fn mark(&self, namespace: &str, name: impl Into<MarkName>, detail: Value) {
        let name = name.into().as_str();
        if !self.logs.mark(namespace, Mark { name: name.into(), detail }) {
            tracing::debug!(namespace, name, "mark for a namespace that the recorder does not watch");
        }
    }

    /// Reads the current objects of a followed namespace, or for "" the cluster-scoped objects.
    pub fn look<T>(&self, namespace: &str, at: impl FnOnce(&Live) -> T) -> T {
        self.logs.look(namespace, at)
    }

    /// Notifies of changes in a followed namespace, or for "" of changes to cluster-scoped objects.
    pub fn follow(&self, namespace: &str) -> watch::Receiver<usize> {
        self.logs.follow(namespace).unwrap_or_else(|| not_followed(namespace))
    }

    /// Notifies of changes of objects in a followed namespace, not of the cluster-scoped objects in its log.
    pub fn follow_objects(&self, namespace: &str) -> watch::Receiver<usize> {
        self.logs.follow_objects(namespace).unwrap_or_else(|| not_followed(namespace))
    }

    pub fn since(&self, namespace: &str, index: usize) -> Vec<Entry> {
        self.logs.since(namespace, index)
    }

    pub fn history(&self, header: Header) -> History {
        let entries = self.since(&header.namespace, 0);
        History { header, entries }
    }

    /// Waits until the watches deliver what lists show. One that lags for a quarter of the limit restarts.
    pub async fn settle(&self, namespace: &str, limit: Duration) -> Result<(), Unsettled> {
        let mut what = "any object (the list requests got no response)".to_owned();
        let settled = tokio::time::timeout(limit, self.catch_up(namespace, limit / 4, &mut what)).await;
        settled.unwrap_or_else(|_| {
            Err(Unsettled::Behind { what, seconds: limit.as_secs(), trouble: self.failure() })
        })
    }

    /// Like [`Recorder::settle`], without a limit. `lacks` receives what the log still lacks.
    async fn catch_up(
        &self,
        namespace: &str,
        patience: Duration,
        lacks: &mut String,
    ) -> Result<(), Unsettled> {
        let mut patience = Some(Instant::now() + patience);
        let mut moved = self.logs.moved();
        let kinds = self.kinds.iter().map(ServedKind::get);
        let kinds = kinds.filter(|kind| kind.namespaced && kind.name != "Event");
        let lists = kinds.map(|kind| async move {
            let mut retries = 0..LIST_RETRIES;
            loop {
                match list(&self.client, &kind, Some(namespace)).await {
                    Ok((version, items)) => {
                        let item = |item: &Value| {
                            (item["metadata"]["name"].as_str().unwrap_or_default().to_owned(), revision(item))
                        };
                        let items = items.iter().map(item).collect();
                        return Ok(Some(Listed { kind: kind.name, version: version.parse().ok(), items }));
                    }
                    // The API server does not serve the kind, so there are no objects.
                    Err(kube::Error::Api(status)) if status.code == 404 => return Ok(None),
                    // A broken connection does not prove that the API server fails, so retry on another.
                    Err(kube::Error::Service(_)) if retries.next().is_some() => {}
                    Err(source) => {
                        return Err(Unsettled::NotListed { kind: kind.name, source: Box::new(source) });
                    }
                }
            }
        });
        let mut listed: Vec<Listed> =
            futures::future::try_join_all(lists).await?.into_iter().flatten().collect();
        loop {
            listed.retain(|list| match self.logs.lacks(namespace, list) {
                Some(what) => {
                    *lacks = what;
                    true
                }
                None => false,
            });
            if listed.is_empty() {
                return Ok(());
            }
            let Some(until) = patience else {
                let _ = moved.changed().await;
                continue;
            };
            if tokio::time::timeout_at(until, moved.changed()).await.is_err() {
                patience = None;
                let is_behind = |kind: &ServedKind| listed.iter().any(|list| list.kind == kind.get().name);
                let behind = self.kinds.iter().zip(&self.silent).filter(|(kind, _)| is_behind(kind));
                behind.for_each(|(_, silent)| silent.notify_one());
            }
        }
    }
}

fn not_followed(namespace: &str) -> watch::Receiver<usize> {
    tracing::error!(namespace, "a case waits for a namespace that the recorder does not watch");
    watch::channel(0).1
}
