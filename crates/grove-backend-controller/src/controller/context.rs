//! What reconcilers share.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use grove_api::PodGang;
use grove_api::names::LABEL_SCHEDULER_NAME;
use kube::{Client, ResourceExt};

use super::caches::Caches;
use super::events::Events;
use super::faults::Faults;
use super::flow::Flow;
use super::init_access::InitAccess;
use super::metrics::Metrics;
use super::pod_clique::Expectations;
use super::pod_gang_status::Wordings;
use super::queues::Queues;
use super::remembered_replicas::RememberedReplicas;
use super::written_versions::WrittenVersions;
use crate::backend::{Registry, Served, generation};
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
    /// When the words of statuses may change.
    pub wordings: Wordings,
    /// How much is under way.
    pub flow: Flow,
    /// Pods written but not yet in the cache.
    pub expectations: Expectations,
    /// Versions written but not yet in the cache.
    pub written: WrittenVersions,
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

impl Context {
    /// The backend of a PodGang.
    pub(super) fn serve(&self, pod_gang: &PodGang) -> Served {
        let scheduler = pod_gang.labels().get(LABEL_SCHEDULER_NAME).map(String::as_str);
        self.registry.serve(scheduler, self.caches.set_of(pod_gang).as_deref())
    }
}

/// Up to which generation the backend's gang resources stand, per PodGang (GANG-07).
///
/// Of the object, and of the gang. Kept in memory only: after a restart every PodGang is synced again before a gate comes off.
#[derive(Default)]
pub(super) struct SyncedGangs(Mutex<HashMap<String, Known>>);

/// What is known of a PodGang's gang resources.
struct Known {
    standing: Standing,
    /// One of them has gone since.
    has_lost: bool,
}

/// How it is with the gang resources of a PodGang.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// They stand for it.
    Synced(Generations),
    /// Those of a deleted PodGang of its name are kept by pods.
    HeldByPods,
}

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
        self.set(pod_gang, Standing::Synced(Generations::of(pod_gang)))
    }

    /// Those of a deleted PodGang of this name are kept by pods. True if that is news.
    pub(super) fn hold(&self, pod_gang: &PodGang) -> bool {
        self.set(pod_gang, Standing::HeldByPods)
    }

    /// They do not stand, or the PodGang is gone.
    pub(super) fn forget(&self, uid: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(uid);
    }

    /// Whether the gang's objects exist, possibly from an earlier generation of the PodGang object.
    pub(super) fn stand(&self, pod_gang: &PodGang) -> bool {
        let gang = generation::of_gang(pod_gang);
        matches!(self.get(pod_gang), Some(Standing::Synced(synced)) if synced.gang == gang)
    }

    /// Whether the objects exist for the PodGang's current generation.
    pub(super) fn is_current(&self, pod_gang: &PodGang) -> bool {
        self.get(pod_gang) == Some(Standing::Synced(Generations::of(pod_gang)))
    }

    /// Whether those of a deleted PodGang of this name wait for its pods to go. None of its own has been made then.
    pub(super) fn are_held(&self, pod_gang: &PodGang) -> bool {
        self.get(pod_gang) == Some(Standing::HeldByPods)
    }

    /// A gang resource has gone whose PodGang has that uid.
    pub(super) fn lost_one(&self, uid: &str) {
        if let Some(known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get_mut(uid) {
            known.has_lost = true;
        }
    }

    /// Whether a gang resource of it has gone since they all stood.
    pub(super) fn has_lost(&self, pod_gang: &PodGang) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&pod_gang.uid().unwrap_or_default()).is_some_and(|known| known.has_lost)
    }

    fn get(&self, pod_gang: &PodGang) -> Option<Standing> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&pod_gang.uid().unwrap_or_default()).map(|known| known.standing)
    }

    fn set(&self, pod_gang: &PodGang, standing: Standing) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = all.insert(pod_gang.uid().unwrap_or_default(), Known { standing, has_lost: false });
        before.is_none_or(|before| before.standing != standing)
    }
}
