//! Where trials are held: the cluster that they share, and the one for cases that must be alone. The way of one trial,
//! from its namespace to its judgements, is in `arena/hold.rs`.
//!
//! Clusters are brought up when the first trial needs them, so `list` and a filter that leaves nothing cost nothing.

mod execute;
mod requirements;
mod settings;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use tokio::sync::{OnceCell, Semaphore};

pub use self::settings::{Origin, Settings};
use conformance_cluster::ClusterError;
use conformance_cluster::existing::ExistingCluster;
use conformance_cluster::kind::KindCluster;
use conformance_cluster::local::{ClusterSpec, LocalCluster};
use conformance_cluster::node_pools::CANARY_NODE;
use conformance_cluster::provider::Provider;
use conformance_contract::names;
use conformance_contract::target::{TARGETS, Target};
use conformance_driver::case::Lane;
use conformance_driver::test_cluster::Ground;

/// The clusters of a run.
#[derive(Debug)]
pub struct Arena {
    /// How trials are held.
    pub settings: Settings,
    shared: Place,
    alone: BTreeMap<Target, Place>,
    trials: AtomicU32,
}

/// A cluster to be, and how many trials it holds at a time.
#[derive(Debug)]
struct Place {
    ground: OnceCell<Result<Arc<Ground>, Arc<ClusterError>>>,
    seats: Semaphore,
    all: u32,
}

impl Place {
    fn new(seats: u32) -> Self {
        Self { ground: OnceCell::new(), seats: Semaphore::new(seats as usize), all: seats }
    }
}

impl Arena {
    /// Nothing is started yet.
    pub fn new(settings: Settings) -> Self {
        let shared = Place::new(u32::try_from(settings.concurrency).unwrap_or(u32::MAX));
        let alone = TARGETS.into_iter().map(|target| (target, Place::new(1))).collect();
        Self { settings, shared, alone, trials: AtomicU32::new(0) }
    }

    /// Where a case is held on a target: with all others, or on the target's own cluster for cases that are alone.
    fn place(&self, lane: Lane, target: Target) -> &Place {
        match lane {
            Lane::Shared | Lane::Serial => &self.shared,
            Lane::Alone => self.alone.get(&target).unwrap_or(&self.shared),
        }
    }

    /// The cluster of a lane and target, brought up at the first call.
    ///
    /// # Errors
    /// What kept it from coming up, the same for every caller.
    pub async fn ground(&self, lane: Lane, target: Target) -> Result<Arc<Ground>, Arc<ClusterError>> {
        let settings = &self.settings;
        let bring_up = || async move {
            let made = match lane {
                Lane::Shared | Lane::Serial => self.bring_up_shared().await,
                Lane::Alone => {
                    let spec = settings.spec.clone().narrowed_to(target.scheduler());
                    let spec = ClusterSpec { watch_cache: false, ..spec };
                    self.bring_up_local(&format!("alone-{}", target.slug()), spec).await
                }
            };
            made.map(Arc::new).map_err(Arc::new)
        };
        self.place(lane, target).ground.get_or_init(bring_up).await.clone()
    }

    async fn bring_up_local(&self, name: &str, spec: ClusterSpec) -> Result<Ground, ClusterError> {
        let (run, schedulers) = (&self.settings.run, spec.schedulers.clone());
        let programs = self.settings.programs.clone();
        let cluster = LocalCluster::start(&format!("{run}-{name}"), spec, programs).await?;
        Ground::prepare(Arc::new(cluster), &schedulers, run).await
    }

    async fn bring_up_shared(&self) -> Result<Ground, ClusterError> {
        let (run, spec) = (&self.settings.run, &self.settings.spec);
        let label = (names::RUN, run.as_str());
        let existing = match &self.settings.origin {
            Origin::Local => return self.bring_up_local("shared", spec.clone()).await,
            Origin::Kind(kind) => {
                let cluster = KindCluster::create(&format!("{run}-shared"), kind).await?;
                return Ground::prepare(Arc::new(cluster), &spec.schedulers, run).await;
            }
            Origin::Up(kubeconfig) => ExistingCluster::connect(kubeconfig, label, true).await?,
            Origin::Existing { kubeconfig, beside_others, .. } => {
                ExistingCluster::connect(kubeconfig, label, *beside_others).await?
            }
        };
        let existing = Arc::new(existing);
        let prepared = async {
            let ground = Ground::prepare(existing.clone(), &spec.schedulers, run).await?;
            existing.simulates(&format!("conformance-probe-{run}"), CANARY_NODE).await?;
            let configured_by_others = matches!(self.settings.origin, Origin::Existing { .. });
            Ok(Ground { configured_by_others, ..ground })
        };
        let prepared = prepared.await;
        if prepared.is_err() {
            // What it has made by then is nobody's any more.
            existing.end(false).await?;
        }
        prepared
    }

    /// The shared cluster, if it is up.
    pub fn shared(&self) -> Option<Arc<Ground>> {
        self.shared.ground.get()?.as_ref().ok().cloned()
    }

    /// Seconds that the shared cluster took to be ready, if the run made one.
    pub fn cluster_ready(&self) -> Option<Duration> {
        self.shared()?.cluster.ready_in()
    }

    /// Ends the clusters that this run made, all of them; what went wrong.
    pub async fn close(self) -> Vec<ClusterError> {
        let mut errors = Vec::new();
        for place in std::iter::once(self.shared).chain(self.alone.into_values()) {
            let Some(Ok(ground)) = place.ground.into_inner() else { continue };
            let cluster = ground.cluster.clone();
            // Its watches end before what they watch.
            drop(ground);
            errors.extend(cluster.end(self.settings.keep).await.err());
        }
        errors
    }
}
