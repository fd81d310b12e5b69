//! State that all reconcilers share.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use grove_api::PodGang;
use grove_api::names::LABEL_SCHEDULER_NAME;
use kube::{Client, ResourceExt};

use super::caches::Caches;
use super::events::Events;
use super::flow::Flow;
use super::init_access::InitAccess;
use super::metrics::Metrics;
use super::pod_clique::Expectations;
use super::pod_gang_names::PodGangNames;
use super::pod_gang_status::Wordings;
use super::queues::Queues;
use super::remembered_replicas::RememberedReplicas;
use super::written_versions::WrittenVersions;
use crate::backend::{Registry, Served, generation};
use crate::controller::namespace_termination::EndingNamespaces;

pub(super) struct Context {
    pub client: Client,
    pub registry: Registry,
    pub caches: Caches,
    pub queues: Queues,
    pub events: Events,
    pub metrics: Metrics,
    pub synced: SyncedGangs,
    pub wordings: Wordings,
    pub flow: Flow,
    pub expectations: Expectations,
    pub written: WrittenVersions,
    pub remembered: RememberedReplicas,
    pub init_access: InitAccess,
    pub init_image: String,
    pub ending: EndingNamespaces,
    pub pod_gang_names: PodGangNames,
}

impl Context {
    pub(super) fn serve(&self, pod_gang: &PodGang) -> Served {
        let scheduler = pod_gang.labels().get(LABEL_SCHEDULER_NAME).map(String::as_str);
        self.registry.serve(scheduler, self.caches.set_of(pod_gang).as_deref())
    }
}

/// Up to which generation each PodGang's gang resources are synced (GANG-07).
///
/// Kept in memory only: after a restart, every PodGang is synced again before a gate is removed.
#[derive(Default)]
pub(super) struct SyncedGangs(Mutex<HashMap<String, Known>>);

struct Known {
    standing: Standing,
    /// Whether a gang resource was deleted since the last sync.
    has_lost: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Synced(Generations),
    /// Pods keep the gang resources of a deleted PodGang with the same name alive.
    HeldByPods,
}

/// `metadata.generation`, and the number of gang terminations.
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
    /// Records that all gang resources exist. Returns true if that is new.
    pub(super) fn record(&self, pod_gang: &PodGang) -> bool {
        self.set(pod_gang, Standing::Synced(Generations::of(pod_gang)))
    }

    /// Records that pods keep the gang resources of a deleted PodGang of this name. Returns true if that is
    /// new.
    pub(super) fn hold(&self, pod_gang: &PodGang) -> bool {
        self.set(pod_gang, Standing::HeldByPods)
    }

    /// Called if gang resources are missing or the PodGang was deleted.
    pub(super) fn forget(&self, uid: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(uid);
    }

    /// Whether the gang resources exist, possibly for an earlier generation of the PodGang object.
    pub(super) fn stand(&self, pod_gang: &PodGang) -> bool {
        let gang = generation::of_gang(pod_gang);
        matches!(self.get(pod_gang), Some(Standing::Synced(synced)) if synced.gang == gang)
    }

    /// Whether the gang resources exist for the PodGang's current generation.
    pub(super) fn is_current(&self, pod_gang: &PodGang) -> bool {
        self.get(pod_gang) == Some(Standing::Synced(Generations::of(pod_gang)))
    }

    /// Whether gang resources of a deleted PodGang of this name wait for their pods. This PodGang has none of
    /// its own yet.
    pub(super) fn are_held(&self, pod_gang: &PodGang) -> bool {
        self.get(pod_gang) == Some(Standing::HeldByPods)
    }

    /// Records that a gang resource of the PodGang with this uid was deleted.
    pub(super) fn lost_one(&self, uid: &str) {
        if let Some(known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get_mut(uid) {
            known.has_lost = true;
        }
    }

    /// Whether a gang resource was deleted since the last sync.
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
