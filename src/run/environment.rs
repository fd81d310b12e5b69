//! Where cases run: the shared cluster, and the one for dedicated cases. `execute` runs one case, from its
//! namespace to its verdicts.
//!
//! A run that is interrupted starts no case and no cluster any more; [`Environment::close`] ends what there is.
//!
//! Clusters are brought up when the first case needs them, so `list` and a filter that leaves nothing cost nothing.

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
use conformance_driver::case::Isolation;
use conformance_driver::rights;
use conformance_driver::test_cluster::TestCluster;

use crate::interruption::Interruption;

/// The clusters of a run.
#[derive(Debug)]
pub struct Environment {
    /// How cases are run.
    pub settings: Settings,
    shared: ClusterSlot,
    alone: BTreeMap<Target, ClusterSlot>,
    cases: AtomicU32,
    interruption: Arc<Interruption>,
}

/// The specification of a cluster, and how many cases run on it at a time.
#[derive(Debug)]
struct ClusterSlot {
    test_cluster: OnceCell<Result<Arc<TestCluster>, Arc<ClusterError>>>,
    seats: Semaphore,
    all: u32,
}

impl ClusterSlot {
    fn new(seats: u32) -> Self {
        Self { test_cluster: OnceCell::new(), seats: Semaphore::new(seats as usize), all: seats }
    }
}

impl Environment {
    /// Nothing is started yet.
    pub fn new(settings: Settings) -> Self {
        let shared = ClusterSlot::new(u32::try_from(settings.concurrency).unwrap_or(u32::MAX));
        let alone = TARGETS.into_iter().map(|target| (target, ClusterSlot::new(1))).collect();
        Self { settings, shared, alone, cases: AtomicU32::new(0), interruption: Arc::default() }
    }

    /// The same, for a run that may be interrupted.
    #[must_use]
    pub fn interrupted_by(self, interruption: Arc<Interruption>) -> Self {
        Self { interruption, ..self }
    }

    /// What may interrupt the run.
    pub fn interruption(&self) -> &Interruption {
        &self.interruption
    }

    /// Where a case runs on a target: with all others, or on the target's own cluster for cases that are alone.
    fn place(&self, lane: Isolation, target: Target) -> &ClusterSlot {
        match lane {
            Isolation::Shared | Isolation::Exclusive => &self.shared,
            Isolation::Dedicated => self.alone.get(&target).unwrap_or(&self.shared),
        }
    }

    /// The cluster for an isolation and target, started at the first call.
    ///
    /// # Errors
    /// What kept it from coming up, the same for every caller.
    pub async fn test_cluster(
        &self,
        lane: Isolation,
        target: Target,
    ) -> Result<Arc<TestCluster>, Arc<ClusterError>> {
        let settings = &self.settings;
        let bring_up = || async move {
            // On the heap: it is moved several times on its way, and unoptimised each move takes stack.
            let making = Box::pin(async {
                match lane {
                    Isolation::Shared | Isolation::Exclusive => self.bring_up_shared().await,
                    Isolation::Dedicated => {
                        let spec = settings.spec.clone().narrowed_to(target.scheduler());
                        let spec = ClusterSpec { watch_cache: false, ..spec };
                        self.bring_up_local(&format!("alone-{}", target.slug()), spec).await
                    }
                }
            });
            let made = match settings.origin {
                // What is half made goes when it is dropped.
                Origin::Local | Origin::Kind(_) => self.interruption.unless_requested(making).await,
                // What is half made is in somebody's cluster: it sees to that itself.
                Origin::Up(_) | Origin::Existing { .. } => Some(making.await),
            };
            made.unwrap_or(Err(ClusterError::Interrupted)).map(Arc::new).map_err(Arc::new)
        };
        self.place(lane, target).test_cluster.get_or_init(bring_up).await.clone()
    }

    async fn bring_up_local(&self, name: &str, spec: ClusterSpec) -> Result<TestCluster, ClusterError> {
        let (run, schedulers) = (&self.settings.run, spec.schedulers.clone());
        // An operator's profiles are those of its description.
        let configured_by_others = spec.operator.is_some();
        let programs = self.settings.programs.clone();
        let cluster = LocalCluster::start(&format!("{run}-{name}"), spec, programs).await?;
        let test_cluster = TestCluster::prepare(Arc::new(cluster), &schedulers, run).await?;
        Ok(TestCluster { configured_by_others, ..test_cluster })
    }

    async fn bring_up_shared(&self) -> Result<TestCluster, ClusterError> {
        let (run, spec) = (&self.settings.run, &self.settings.spec);
        let label = (names::RUN, run.as_str());
        let needed = rights::needed(&spec.schedulers);
        let existing = match &self.settings.origin {
            Origin::Local => return self.bring_up_local("shared", spec.clone()).await,
            Origin::Kind(kind) => {
                let cluster = KindCluster::create(&format!("{run}-shared"), kind).await?;
                return TestCluster::prepare(Arc::new(cluster), &spec.schedulers, run).await;
            }
            Origin::Up(kubeconfig) => ExistingCluster::connect(kubeconfig, label, true, needed).await?,
            Origin::Existing { kubeconfig, beside_others, .. } => {
                ExistingCluster::connect(kubeconfig, label, *beside_others, needed).await?
            }
        };
        let existing = Arc::new(existing);
        let prepared = async {
            let test_cluster = TestCluster::prepare(existing.clone(), &spec.schedulers, run).await?;
            existing.simulates(&format!("conformance-probe-{run}"), CANARY_NODE).await?;
            let configured_by_others =
                spec.operator.is_some() || matches!(self.settings.origin, Origin::Existing { .. });
            Ok(TestCluster { configured_by_others, ..test_cluster })
        };
        let prepared = self.interruption.unless_requested(prepared).await;
        let prepared = prepared.unwrap_or(Err(ClusterError::Interrupted));
        if prepared.is_err() {
            // What it has made by then is nobody's any more.
            existing.end(false).await?;
        }
        prepared
    }

    /// The shared cluster, if it is up.
    pub fn shared(&self) -> Option<Arc<TestCluster>> {
        self.shared.test_cluster.get()?.as_ref().ok().cloned()
    }

    /// Seconds that the shared cluster took to be ready, if the run made one.
    pub fn cluster_ready(&self) -> Option<Duration> {
        self.shared()?.cluster.ready_in()
    }

    /// Ends the clusters that this run made, all of them; what went wrong.
    pub async fn close(self) -> Vec<ClusterError> {
        let mut errors = Vec::new();
        for place in std::iter::once(self.shared).chain(self.alone.into_values()) {
            let Some(Ok(test_cluster)) = place.test_cluster.into_inner() else { continue };
            let cluster = test_cluster.cluster.clone();
            // Its watches end before what they watch.
            drop(test_cluster);
            errors.extend(cluster.end(self.settings.keep).await.err());
        }
        errors
    }
}
