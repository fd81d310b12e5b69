//! Which pods are of which generation.
//!
//! A recycle raises a number, and that is all it does: pods whose number is lower than it should be are deleted, and made
//! anew with the right one. So a recycle is begun by one write, is finished by whoever comes to it, and a stale cache can
//! hold it up but never begin another. The base PodGang has the number of a PodCliqueSet replica, the scaling group those of
//! its replicas; a pod's number is their sum, which only grows.

use std::collections::BTreeMap;

use grove_api::names::{
    ANNOTATION_GENERATION, ANNOTATION_RECYCLED_REPLICAS, LABEL_BASE_POD_GANG, LABEL_POD_GANG,
    LABEL_SCALING_GROUP_REPLICA_INDEX,
};
use grove_api::{PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang};
use kube::ResourceExt;
use serde_json::{Value, json};

use super::caches::Caches;
use crate::backend::generation;

/// How often each replica of a scaling group has been recycled alone, by index.
pub(super) fn recycled_replicas(pcsg: &PodCliqueScalingGroup) -> BTreeMap<i32, u64> {
    let said = pcsg.annotations().get(ANNOTATION_RECYCLED_REPLICAS);
    said.and_then(|said| serde_json::from_str(said).ok()).unwrap_or_default()
}

/// The generation that the pods of a scaling group's replica should be of, in the base PodGang's generation.
pub(super) fn of_replica(base: u64, pcsg: Option<&PodCliqueScalingGroup>, j: i32) -> u64 {
    base + pcsg.and_then(|pcsg| recycled_replicas(pcsg).get(&j).copied()).unwrap_or(0)
}

impl Caches {
    /// The generation that the pods of a PodClique should be of.
    pub(super) fn generation_of(&self, pcs: &PodCliqueSet, pclq: &PodClique) -> u64 {
        let labels = pclq.labels();
        let base = labels.get(LABEL_BASE_POD_GANG).or(labels.get(LABEL_POD_GANG));
        let base = base.and_then(|base| self.gang_of_set(pcs, base));
        let base = base.map_or(0, |base| generation::of_gang(&base));
        let j = labels.get(LABEL_SCALING_GROUP_REPLICA_INDEX).and_then(|j| j.parse().ok());
        match j {
            Some(j) => of_replica(base, self.group_of(pclq).as_deref(), j),
            None => base,
        }
    }
}

/// The patch that begins the next generation of a PodCliqueSet replica. It applies only to this very version of its base
/// PodGang: whoever decided on an older one has not seen what came of it.
pub(super) fn next_of_gang(base: &PodGang, next: u64) -> Value {
    json!({"metadata": {
        "resourceVersion": base.metadata.resource_version,
        "annotations": {ANNOTATION_GENERATION: next.to_string()},
    }})
}

/// The same for these replicas of a scaling group.
pub(super) fn next_of_replicas(pcsg: &PodCliqueScalingGroup, replicas: &[i32]) -> Value {
    let mut recycled = recycled_replicas(pcsg);
    recycled.retain(|j, _| *j < pcsg.spec.replicas);
    for j in replicas {
        *recycled.entry(*j).or_default() += 1;
    }
    json!({"metadata": {
        "resourceVersion": pcsg.metadata.resource_version,
        "annotations": {ANNOTATION_RECYCLED_REPLICAS: json!(recycled).to_string()},
    }})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_replica_has_its_own_number() {
        let mut pcsg = PodCliqueScalingGroup::default();
        pcsg.spec.replicas = 3;
        let first = next_of_replicas(&pcsg, &[1]);
        let annotation =
            |patch: &Value| patch["metadata"]["annotations"][ANNOTATION_RECYCLED_REPLICAS].clone();
        assert_eq!(annotation(&first), json!(r#"{"1":1}"#));
        let said = r#"{"1":1,"7":4}"#.to_owned();
        pcsg.annotations_mut().insert(ANNOTATION_RECYCLED_REPLICAS.to_owned(), said);
        assert_eq!(
            annotation(&next_of_replicas(&pcsg, &[1, 2])),
            json!(r#"{"1":2,"2":1}"#),
            "what is scaled in is forgotten"
        );
        assert_eq!(
            (of_replica(2, Some(&pcsg), 1), of_replica(2, Some(&pcsg), 0), of_replica(2, None, 1)),
            (3, 2, 2)
        );
    }
}
