//! What reconcilers share.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use grove_api::PodGang;
use kube::{Client, ResourceExt};

use super::caches::Caches;
use super::events::Events;
use super::faults::Faults;
use super::metrics::Metrics;
use super::pod_clique::Expectations;
use super::queues::Queues;
use crate::backend::Registry;
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
    /// Namespaces that are being deleted.
    pub ending: EndingNamespaces,
    /// Faults that are on.
    pub faults: Faults,
}

/// Up to which generation the backend's gang resources stand, per PodGang (GANG-07).
///
/// Kept in memory only: after a restart every PodGang is synced again before a gate comes off.
#[derive(Default)]
pub(super) struct SyncedGangs(Mutex<HashMap<String, i64>>);

impl SyncedGangs {
    /// The gang resources of this PodGang stand. True if that is news.
    pub(super) fn record(&self, pod_gang: &PodGang) -> bool {
        let (uid, generation) =
            (pod_gang.uid().unwrap_or_default(), pod_gang.metadata.generation.unwrap_or(0));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(uid, generation) != Some(generation)
    }

    /// They do not, or the PodGang is gone.
    pub(super) fn forget(&self, uid: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(uid);
    }

    /// Whether the objects exist, possibly from an earlier generation.
    pub(super) fn stand(&self, pod_gang: &PodGang) -> bool {
        let synced = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        synced.contains_key(&pod_gang.uid().unwrap_or_default())
    }

    /// Whether the objects exist for the PodGang's current generation.
    pub(super) fn is_current(&self, pod_gang: &PodGang) -> bool {
        let synced = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        synced.get(&pod_gang.uid().unwrap_or_default()).copied() == pod_gang.metadata.generation
    }
}
