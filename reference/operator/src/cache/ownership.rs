//! Without upstream's finalizers, no deletion gets stuck while the controller is down (DEL-06, DEL-07). But a
//! cache may still show objects of a deleted owner of the same name, so compare uids (DEL-08).

use std::sync::Arc;

use grove_api::{PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::DynamicObject;
use kube::{Resource, ResourceExt};

use super::caches::{Caches, object_key};

pub(crate) fn owner_reference<K: Resource<DynamicType = ()>>(owner: &K) -> Option<OwnerReference> {
    let reference = owner.controller_owner_ref(&());
    reference.map(|reference| OwnerReference { block_owner_deletion: Some(true), ..reference })
}

pub(crate) fn controller(object: &impl ResourceExt) -> Option<&OwnerReference> {
    object.owner_references().iter().find(|owner| owner.controller == Some(true))
}

pub(crate) fn is_controlled_by(object: &impl ResourceExt, owner: &impl ResourceExt) -> bool {
    let uid = owner.meta().uid.as_ref();
    uid.is_some() && controller(object).map(|controller| &controller.uid) == uid
}

/// Compares kind and name, but not the uid: the controller is `owner`, or a deleted object of the same name.
pub(crate) fn is_of_namesake<O: Resource<DynamicType = ()>>(object: &impl ResourceExt, owner: &O) -> bool {
    controller(object)
        .is_some_and(|controller| controller.kind == O::kind(&()) && controller.name == owner.name_any())
}

fn is_terminating(object: &impl ResourceExt) -> bool {
    object.meta().deletion_timestamp.is_some()
}

/// The finalizer of a third party that keeps an object which is being deleted, possibly indefinitely.
pub(crate) fn kept_by(object: &impl ResourceExt) -> Option<&str> {
    let mut finalizers = object.finalizers().iter().map(String::as_str);
    let kept = finalizers.find(|finalizer| !is_kubernetes_finalizer(finalizer));
    kept.filter(|_| is_terminating(object))
}

/// Kubernetes removes its own finalizers; some have no domain. Those of `x-k8s.io` belong to third parties.
pub(crate) fn is_kubernetes_finalizer(finalizer: &str) -> bool {
    let Some((domain, _)) = finalizer.split_once('/') else { return true };
    ["kubernetes.io", "k8s.io"].into_iter().any(|own| {
        domain.strip_suffix(own).is_some_and(|subdomain| subdomain.is_empty() || subdomain.ends_with('.'))
    })
}

impl Caches {
    /// Whether the PodGang is being deleted or its PodCliqueSet no longer exists. Reconcilers must ignore it.
    pub(crate) fn is_abandoned(&self, pod_gang: &PodGang) -> bool {
        is_terminating(pod_gang)
            || (controller(pod_gang).is_some() && self.pod_clique_set_of(pod_gang).is_none())
    }

    pub(crate) fn pod_clique_set_of(&self, object: &impl ResourceExt) -> Option<Arc<PodCliqueSet>> {
        let owner = controller(object)?;
        let pcs = self.pod_clique_sets.get(object.namespace().as_deref(), &owner.name)?;
        (!is_terminating(&*pcs) && is_controlled_by(object, &*pcs)).then_some(pcs)
    }

    pub(crate) fn group_of(&self, pclq: &PodClique) -> Option<Arc<PodCliqueScalingGroup>> {
        let owner = controller(pclq)?;
        let pcsg = self.scaling_groups.get(pclq.namespace().as_deref(), &owner.name)?;
        (!is_terminating(&*pcsg) && is_controlled_by(pclq, &*pcsg)).then_some(pcsg)
    }

    /// The PodCliqueSet of a PodClique. `None` unless every owner in between exists.
    pub(crate) fn root_of(&self, pclq: &PodClique) -> Option<Arc<PodCliqueSet>> {
        match controller(pclq)?.kind == PodCliqueSet::kind(&()) {
            true => self.pod_clique_set_of(pclq),
            false => self.pod_clique_set_of(&*self.group_of(pclq)?),
        }
    }

    pub(crate) fn gang_resources_of(&self, pod_gang: &PodGang) -> Vec<Arc<DynamicObject>> {
        let key = object_key(&pod_gang.namespace().unwrap_or_default(), &pod_gang.name_any());
        let found = self.gang_resources.iter().flat_map(|cache| cache.indexed(&key));
        found.filter(|object| is_controlled_by(&**object, pod_gang)).collect()
    }

    /// `None` if the PodGang belongs to a deleted PodCliqueSet of the same name.
    pub(crate) fn own_pod_gang(&self, pcs: &PodCliqueSet, pod_gang: &str) -> Option<Arc<PodGang>> {
        let pod_gang = self.pod_gangs.get(pcs.namespace().as_deref(), pod_gang)?;
        // A PodGang without a controller was created by hand and belongs to no other PodCliqueSet.
        let is_own = controller(&*pod_gang).is_none() || is_controlled_by(&*pod_gang, pcs);
        (is_own && !is_terminating(&*pod_gang)).then_some(pod_gang)
    }
}
