use std::collections::HashMap;

use grove_api::PodGang;
use kube::ResourceExt;
use parking_lot::Mutex;

use crate::cache::generation;

/// The state of the gang resources, by uid of the PodGang (GANG-07). It exists only in memory: after a
/// restart, every PodGang is synced again before a gate is removed.
#[derive(Default)]
pub(crate) struct SyncedGangs(Mutex<HashMap<String, Known>>);

struct Known {
    state: ResourceState,
    has_deleted_resource: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ResourceState {
    Synced(Generations),
    /// Gang resources of a deleted PodGang of the same name exist until its pods are deleted.
    HeldByPods,
}

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
    /// Returns true if the state has changed.
    pub(crate) fn record(&self, pod_gang: &PodGang) -> bool {
        self.set_state(pod_gang, ResourceState::Synced(Generations::of(pod_gang)))
    }

    /// Returns true if the state has changed.
    pub(crate) fn record_held(&self, pod_gang: &PodGang) -> bool {
        self.set_state(pod_gang, ResourceState::HeldByPods)
    }

    pub(crate) fn forget(&self, uid: &str) {
        self.0.lock().remove(uid);
    }

    /// Whether the gang resources exist, possibly for an earlier generation of the PodGang object.
    pub(crate) fn are_synced(&self, pod_gang: &PodGang) -> bool {
        let gang = generation::of_gang(pod_gang);
        matches!(self.state(pod_gang), Some(ResourceState::Synced(synced)) if synced.gang == gang)
    }

    pub(crate) fn is_current(&self, pod_gang: &PodGang) -> bool {
        self.state(pod_gang) == Some(ResourceState::Synced(Generations::of(pod_gang)))
    }

    pub(crate) fn are_held_by_pods(&self, pod_gang: &PodGang) -> bool {
        self.state(pod_gang) == Some(ResourceState::HeldByPods)
    }

    pub(crate) fn record_deleted_resource(&self, uid: &str) {
        if let Some(known) = self.0.lock().get_mut(uid) {
            known.has_deleted_resource = true;
        }
    }

    pub(crate) fn has_deleted_resource(&self, pod_gang: &PodGang) -> bool {
        let all = self.0.lock();
        all.get(&pod_gang.uid().unwrap_or_default()).is_some_and(|known| known.has_deleted_resource)
    }

    fn state(&self, pod_gang: &PodGang) -> Option<ResourceState> {
        let all = self.0.lock();
        all.get(&pod_gang.uid().unwrap_or_default()).map(|known| known.state)
    }

    fn set_state(&self, pod_gang: &PodGang, state: ResourceState) -> bool {
        let mut all = self.0.lock();
        let before =
            all.insert(pod_gang.uid().unwrap_or_default(), Known { state, has_deleted_resource: false });
        before.is_none_or(|before| before.state != state)
    }
}
