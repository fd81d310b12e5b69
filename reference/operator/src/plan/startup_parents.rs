use grove_api::names::{LABEL_BASE_POD_GANG, LABEL_POD_GANG};
use grove_api::{PodClique, PodCliqueSet};
use kube::ResourceExt;

use super::pod_clique_object::parents_of;
use super::startup_order::Parent;
use crate::backend::idle;
use crate::cache::caches::Caches;

/// The PodCliques whose pods must be Ready before `pclq` starts. Idle PodCliques are not awaited.
pub(crate) fn awaited(caches: &Caches, pcs: &PodCliqueSet, pclq: &PodClique) -> Vec<Parent> {
    let mut parents = parents_of(pcs, pclq);
    if !parents.is_empty() {
        let base = pclq.labels().get(LABEL_BASE_POD_GANG).or(pclq.labels().get(LABEL_POD_GANG));
        let base = base.and_then(|base| caches.own_pod_gang(pcs, base));
        parents.retain(|parent| base.as_ref().is_none_or(|base| !idle::is_idle(base, &parent.name)));
    }
    parents
}
