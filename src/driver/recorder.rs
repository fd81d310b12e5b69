//! One watch per kind for the whole cluster, from before the first case, feeding one log per namespace that is followed.
//!
//! A watch that ends is resumed where it was. One that cannot be (410 Gone) lists again, and every log gets a gap:
//! what a judge says "never happened" across a gap is not known, and becomes an infrastructure error. A watch that the
//! API server refuses, or that stays away, is the run's failure, which says what is missing.

mod health;
mod logs;
#[cfg(test)]
mod tests;
mod watching;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use conformance_cluster::ClusterError;
use conformance_contract::clauses::Workload;
use conformance_contract::scheduler::Scheduler;
use conformance_history::{Entry, Header, History, KINDS, Kind, Live, Mark, MarkName, revision};
use kube::Client;
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::health::Health;
pub use self::health::RecorderError;
pub use self::logs::{Keep, Tracked};
use self::logs::{Listed, Logs};
use self::watching::{Watching, api_versions, list};

/// How often a list is asked for again whose connection broke.
const LIST_AGAIN: usize = 3;

/// The watches and what they have delivered so far.
pub struct Recorder {
    client: Client,
    kinds: Vec<Kind>,
    /// Of each kind: tells its watch that it is silent.
    silent: Vec<Arc<Notify>>,
    logs: Logs,
    health: Health,
    _tasks: JoinSet<()>,
}

/// Why a log does not show all that the API server does.
#[derive(Debug, thiserror::Error)]
pub enum Unsettled {
    /// A kind could not be listed.
    #[error("{kind} could not be listed to compare: {source}")]
    NotListed {
        /// Of this kind.
        kind: &'static str,
        /// Why.
        source: Box<kube::Error>,
    },
    /// A watch is behind, or is away.
    #[error("the watches have not told of {what} in {seconds} s{}", trouble.as_ref().map(|why| format!(" ({why})")).unwrap_or_default())]
    Behind {
        /// What the list shows.
        what: String,
        /// The limit.
        seconds: u64,
        /// What is known to be wrong with the watches.
        trouble: Option<RecorderError>,
    },
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
    /// Starts watching what every cluster for this workload has and what these schedulers bring; returns when every kind that is served
    /// has been listed once and is watched.
    ///
    /// # Errors
    /// [`RecorderError::Forbidden`] with every right that is missing; [`RecorderError::NotReady`] with what was not
    /// there in `limit`.
    pub async fn start(
        client: Client,
        schedulers: &BTreeSet<Scheduler>,
        workload: Workload,
        limit: Duration,
    ) -> Result<Self, RecorderError> {
        let is_here = |kind: &Kind| kind.scheduler.is_none_or(|scheduler| schedulers.contains(&scheduler));
        let mut last = "no answer".to_owned();
        let served = tokio::time::timeout(limit, api_versions(&client, &mut last)).await;
        let served = served.map_err(|_| RecorderError::NotReady {
            what: "the API groups".into(),
            seconds: limit.as_secs(),
            last,
        })?;
        let is_used = |kind: &Kind| workload != Workload::PlainPods || !kind.is_of_grove();
        let of_train_jobs = Kind::of_train_jobs().filter(|_| workload == Workload::TrainJobs);
        let kinds: Vec<Kind> = KINDS
            .into_iter()
            .filter(is_used)
            .chain(of_train_jobs)
            .filter(is_here)
            .filter_map(|kind| kind.served(&served))
            .collect();
        let (logs, health) = (Logs::new(), Health::new(&kinds));
        let mut tasks = JoinSet::new();
        let watching = Watching { client: client.clone(), logs: logs.clone(), health: health.clone() };
        let silent: Vec<Arc<Notify>> = kinds.iter().map(|_| Arc::default()).collect();
        for (kind, silent) in kinds.iter().zip(&silent) {
            tasks.spawn(watching.clone().follow(*kind, silent.clone()));
        }
        health.begun(limit).await?;
        Ok(Self { client, kinds, silent, logs, health, _tasks: tasks })
    }

    /// The client that watches.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The kind that histories call so, in the version that the cluster serves; `None` if it is not watched.
    pub fn kind(&self, name: &str) -> Option<Kind> {
        self.kinds.iter().find(|kind| kind.name == name).copied()
    }

    /// What is so bad with the watches that no history can be trusted any more.
    pub fn failure(&self) -> Option<RecorderError> {
        self.health.failure()
    }

    /// Returns once something is.
    pub async fn failed(&self) -> RecorderError {
        self.health.has_failed().await
    }

    /// Follows a namespace for as long as what is returned is there: to be called before anything of it exists. Of the
    /// objects that lie in no namespace, its log takes those that `belong` to it.
    pub fn track(&self, namespace: &str, belong: impl Fn(&Value) -> bool + Send + Sync + 'static) -> Tracked {
        self.logs.track(namespace, Box::new(belong), None)
    }

    /// The same, with a log that records of each version in the namespace only what `keep` leaves, and none that shows
    /// nothing new: for who has more objects than memory for their histories.
    pub fn track_part(
        &self,
        namespace: &str,
        belong: impl Fn(&Value) -> bool + Send + Sync + 'static,
        keep: Keep,
    ) -> Tracked {
        self.logs.track(namespace, Box::new(belong), Some(keep))
    }

    /// Adds a mark to the log of a namespace that is followed.
    pub fn mark(&self, namespace: &str, name: impl Into<MarkName>, detail: Value) {
        let name = name.into().as_str();
        if !self.logs.mark(namespace, Mark { name: name.into(), detail }) {
            tracing::debug!(namespace, name, "a mark for a namespace that nobody follows");
        }
    }

    /// Looks at the objects of a namespace that is followed ("" for the cluster's) as they are now.
    pub fn look<T>(&self, namespace: &str, at: impl FnOnce(&Live) -> T) -> T {
        self.logs.look(namespace, at)
    }

    /// Tells when the log of a namespace has grown, or what lies in none ("") has changed. Of a namespace that nobody
    /// follows nothing is ever told.
    pub fn follow(&self, namespace: &str) -> watch::Receiver<usize> {
        self.logs.follow(namespace).unwrap_or_else(|| {
            tracing::error!(namespace, "a wait for a namespace that nobody follows");
            watch::channel(0).1
        })
    }

    /// What a namespace's log has got since it was `place` entries long: for who looks again and again.
    pub fn since(&self, namespace: &str, place: usize) -> Vec<Entry> {
        self.logs.since(namespace, place)
    }

    /// A namespace's log, with what belongs to it of the cluster's objects.
    pub fn history(&self, header: Header) -> History {
        let entries = self.since(&header.namespace, 0);
        History { header, entries }
    }

    /// Waits until everything that has happened in the namespace by now has been recorded: lists each kind, and waits
    /// until its watch is as far as the list is, or has told of all that the list shows and of the end of all that it
    /// does not show. A watch that is behind for a quarter of the limit begins again where it was.
    ///
    /// # Errors
    /// [`Unsettled`].
    pub async fn settle(&self, namespace: &str, limit: Duration) -> Result<(), Unsettled> {
        let mut what = "anything: the lists were not answered".to_owned();
        let settled = tokio::time::timeout(limit, self.settled(namespace, limit / 4, &mut what)).await;
        settled.unwrap_or_else(|_| {
            Err(Unsettled::Behind { what, seconds: limit.as_secs(), trouble: self.failure() })
        })
    }

    async fn settled(
        &self,
        namespace: &str,
        patience: Duration,
        lacks: &mut String,
    ) -> Result<(), Unsettled> {
        let mut patience = Some(Instant::now() + patience);
        let mut moved = self.logs.moved();
        let kinds = self.kinds.iter().filter(|kind| kind.namespaced && kind.name != "Event");
        let lists = kinds.map(|kind| async {
            let mut again = 0..LIST_AGAIN;
            loop {
                match list(&self.client, kind, Some(namespace)).await {
                    Ok((version, items)) => {
                        let item = |item: &Value| {
                            (item["metadata"]["name"].as_str().unwrap_or_default().to_owned(), revision(item))
                        };
                        let items = items.iter().map(item).collect();
                        return Ok(Some(Listed { kind: kind.name, version: version.parse().ok(), items }));
                    }
                    // A kind that is not served has no objects.
                    Err(kube::Error::Api(status)) if status.code == 404 => return Ok(None),
                    // A connection that breaks says nothing about the API server: the next is another.
                    Err(kube::Error::Service(_)) if again.next().is_some() => {}
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
            // The recorder, which holds the other end, is still there.
            let Some(until) = patience else {
                let _ = moved.changed().await;
                continue;
            };
            if tokio::time::timeout_at(until, moved.changed()).await.is_err() {
                patience = None;
                let is_behind = |kind: &Kind| listed.iter().any(|list| list.kind == kind.name);
                let behind = self.kinds.iter().zip(&self.silent).filter(|(kind, _)| is_behind(kind));
                behind.for_each(|(_, silent)| silent.notify_one());
            }
        }
    }
}
