//! What reconcilers share.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use grove_api::PodGang;
use kube::{Client, ResourceExt};

use super::caches::Caches;
use super::events::Events;
use super::faults::Faults;
use super::init_access::InitAccess;
use super::metrics::Metrics;
use super::pod_clique::Expectations;
use super::queues::Queues;
use super::remembered_replicas::RememberedReplicas;
use crate::backend::Registry;
use crate::backend::generation;
use crate::controller::namespace_termination::EndingNamespaces;

/// What every reconciler has at hand.
pub(super) struct Context {
    /// The API server.
    pub client: Client,
    /// The enabled backends.
    pub registry: Registry,
    /// The caches.
    pub caches: Caches,
    /// The reconcilers' inboxes.
    pub queues: Queues,
    /// Events for users.
    pub events: Events,
    /// Metrics.
    pub metrics: Metrics,
    /// Which PodGangs the backends have synced.
    pub synced: SyncedGangs,
    /// Pods written but not yet in the cache.
    pub expectations: Expectations,
    /// Replicas of PodCliques that were deleted by hand.
    pub remembered: RememberedReplicas,
    /// For which PodCliqueSets init containers can see pods.
    pub init_access: InitAccess,
    /// The image of init containers that wait for other cliques.
    pub init_image: String,
    /// Namespaces that are being deleted.
    pub ending: EndingNamespaces,
    /// Faults that are on.
    pub faults: Faults,
}

/// Up to which generation the backend's gang resources stand, per PodGang (GANG-07).
///
/// Of the object, and of the gang. Kept in memory only: after a restart every PodGang is synced again before a gate comes off.
#[derive(Default)]
pub(super) struct SyncedGangs(Mutex<HashMap<String, Generations>>);

/// `metadata.generation`, and how often its pods have been recycled.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Generations {
    object: i64,
    gang: u64,
}

impl Generations {
    fn of(pod_gang: &PodGang) -> Self {
        Self { object: pod_gang.metadata.generation.unwrap_or(0), gang: generation::of_gang(pod_gang) }
    }
}

impl SyncedGangs {
    /// The gang resources of this PodGang stand. True if that is news.
    pub(super) fn record(&self, pod_gang: &PodGang) -> bool {
        let (uid, generations) = (pod_gang.uid().unwrap_or_default(), Generations::of(pod_gang));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(uid, generations) != Some(generations)
    }

    /// They do not, or the PodGang is gone.
    pub(super) fn forget(&self, uid: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(uid);
    }

    /// Whether the gang's objects exist, possibly from an earlier generation of the PodGang object.
    pub(super) fn stand(&self, pod_gang: &PodGang) -> bool {
        let synced = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let gang = generation::of_gang(pod_gang);
        synced.get(&pod_gang.uid().unwrap_or_default()).is_some_and(|synced| synced.gang == gang)
    }

    /// Whether the objects exist for the PodGang's current generation.
    pub(super) fn is_current(&self, pod_gang: &PodGang) -> bool {
        let synced = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        synced.get(&pod_gang.uid().unwrap_or_default()).copied() == Some(Generations::of(pod_gang))
    }
}
