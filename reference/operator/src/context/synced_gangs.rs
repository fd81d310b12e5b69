//! Whether the gang resources of each PodGang exist.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use grove_api::PodGang;
use kube::ResourceExt;

use crate::cache::generation;

/// Up to which generation each PodGang's gang resources are synced (GANG-07).
///
/// Kept in memory only: after a restart, every PodGang is synced again before a gate is removed.
#[derive(Default)]
pub(crate) struct SyncedGangs(Mutex<HashMap<String, Known>>);

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
    pub(crate) fn record(&self, pod_gang: &PodGang) -> bool {
        self.set(pod_gang, Standing::Synced(Generations::of(pod_gang)))
    }

    /// Records that pods keep the gang resources of a deleted PodGang of this name. Returns true if that is
    /// new.
    pub(crate) fn hold(&self, pod_gang: &PodGang) -> bool {
        self.set(pod_gang, Standing::HeldByPods)
    }

    /// Called if gang resources are missing or the PodGang was deleted.
    pub(crate) fn forget(&self, uid: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(uid);
    }

    /// Whether the gang resources exist, possibly for an earlier generation of the PodGang object.
    pub(crate) fn stand(&self, pod_gang: &PodGang) -> bool {
        let gang = generation::of_gang(pod_gang);
        matches!(self.get(pod_gang), Some(Standing::Synced(synced)) if synced.gang == gang)
    }

    /// Whether the gang resources exist for the PodGang's current generation.
    pub(crate) fn is_current(&self, pod_gang: &PodGang) -> bool {
        self.get(pod_gang) == Some(Standing::Synced(Generations::of(pod_gang)))
    }

    /// Whether gang resources of a deleted PodGang of this name wait for their pods. This PodGang has none of
    /// its own yet.
    pub(crate) fn are_held(&self, pod_gang: &PodGang) -> bool {
        self.get(pod_gang) == Some(Standing::HeldByPods)
    }

    /// Records that a gang resource of the PodGang with this uid was deleted.
    pub(crate) fn lost_one(&self, uid: &str) {
        if let Some(known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get_mut(uid) {
            known.has_lost = true;
        }
    }

    /// Whether a gang resource was deleted since the last sync.
    pub(crate) fn has_lost(&self, pod_gang: &PodGang) -> bool {
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
