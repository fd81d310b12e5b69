//! Generations of a gang: how often gang termination has replaced its pods.
//!
//! Each generation gets new gang resources, if pods join them by name (TERM-07, TERM-08). Otherwise a
//! scheduler would count the bound pods of the former generation, or treat the minimum as already reached.
//!
//! Gang termination only increments the generation. Pods of an earlier generation are then replaced. So any
//! later reconciliation can finish a termination. A stale cache can delay it, but never start a second one.
//!
//! The base PodGang stores the generation of a PodCliqueSet replica, and the scaling group a count for each
//! of its replicas. A pod's generation is their sum. An update replaces a replica of a scaling group in the
//! same way. Updates have a separate count, because they do not respond to a breach.

use std::collections::BTreeMap;

use grove_api::names::{
    ANNOTATION_GENERATION, ANNOTATION_RECYCLED_REPLICAS, ANNOTATION_UPDATED_REPLICAS, LABEL_BASE_POD_GANG,
    LABEL_GENERATION, LABEL_POD_GANG, LABEL_SCALING_GROUP_REPLICA_INDEX,
};
use grove_api::{PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang};
use kube::ResourceExt;
use serde_json::{Value, json};

use super::caches::Caches;
use super::observed_pod::Pod;

pub(crate) fn of_gang(pod_gang: &PodGang) -> u64 {
    number(pod_gang.annotations().get(ANNOTATION_GENERATION))
}

pub(crate) fn of_pod(pod: &Pod) -> u64 {
    number(pod.labels().get(LABEL_GENERATION))
}

fn number(text: Option<&String>) -> u64 {
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The name is unique, because user-chosen names contain no dot.
pub(crate) fn named(pod_gang: &PodGang, name: String) -> String {
    match of_gang(pod_gang) {
        0 => name,
        generation => format!("{name}.{generation}"),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Breach,
    Update,
}

impl Cause {
    fn annotation(self) -> &'static str {
        match self {
            Self::Breach => ANNOTATION_RECYCLED_REPLICAS,
            Self::Update => ANNOTATION_UPDATED_REPLICAS,
        }
    }

    pub(crate) fn counts(self, pcsg: &PodCliqueScalingGroup) -> BTreeMap<i32, u64> {
        let counts = pcsg.annotations().get(self.annotation());
        counts.and_then(|counts| serde_json::from_str(counts).ok()).unwrap_or_default()
    }
}

/// `base` is the generation of the base PodGang.
pub(crate) fn of_replica(base: u64, pcsg: Option<&PodCliqueScalingGroup>, j: i32) -> u64 {
    let count = |cause: Cause| pcsg.and_then(|pcsg| cause.counts(pcsg).get(&j).copied()).unwrap_or(0);
    base + count(Cause::Breach) + count(Cause::Update)
}

impl Caches {
    pub(crate) fn generation_of(&self, pcs: &PodCliqueSet, pclq: &PodClique) -> u64 {
        let labels = pclq.labels();
        let base = labels.get(LABEL_BASE_POD_GANG).or(labels.get(LABEL_POD_GANG));
        let base = base.and_then(|base| self.own_pod_gang(pcs, base));
        let base = base.map_or(0, |base| of_gang(&base));
        let j = labels.get(LABEL_SCALING_GROUP_REPLICA_INDEX).and_then(|j| j.parse().ok());
        match j {
            Some(j) => of_replica(base, self.group_of(pclq).as_deref(), j),
            None => base,
        }
    }
}

/// Applies only to this version of the base PodGang, because the decision may be wrong for a newer version.
pub(crate) fn next_generation_patch(base: &PodGang, next: u64) -> Value {
    json!({"metadata": {
        "resourceVersion": base.metadata.resource_version,
        "annotations": {ANNOTATION_GENERATION: next.to_string()},
    }})
}

/// Increments the counts of `replicas`, and removes the counts of deleted replicas.
pub(crate) fn replace_replicas_patch(pcsg: &PodCliqueScalingGroup, cause: Cause, replicas: &[i32]) -> Value {
    let mut counts = cause.counts(pcsg);
    counts.retain(|j, _| *j < pcsg.spec.replicas);
    for j in replicas {
        *counts.entry(*j).or_default() += 1;
    }
    json!({"metadata": {
        "resourceVersion": pcsg.metadata.resource_version,
        "annotations": {cause.annotation(): json!(counts).to_string()},
    }})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_later_generations_are_part_of_a_name() {
        let mut pod_gang = PodGang::default();
        assert_eq!(named(&pod_gang, "wl-0-a".into()), "wl-0-a");
        pod_gang.annotations_mut().insert(ANNOTATION_GENERATION.into(), "2".into());
        assert_eq!(named(&pod_gang, "wl-0-a".into()), "wl-0-a.2");
    }

    #[test]
    fn each_replica_of_a_scaling_group_has_its_own_count() {
        let mut pcsg = PodCliqueScalingGroup::default();
        pcsg.spec.replicas = 3;
        let first = replace_replicas_patch(&pcsg, Cause::Breach, &[1]);
        let annotation =
            |patch: &Value| patch["metadata"]["annotations"][ANNOTATION_RECYCLED_REPLICAS].clone();
        assert_eq!(annotation(&first), json!(r#"{"1":1}"#));
        let counts = r#"{"1":1,"7":4}"#.to_owned();
        pcsg.annotations_mut().insert(ANNOTATION_RECYCLED_REPLICAS.to_owned(), counts);
        assert_eq!(
            annotation(&replace_replicas_patch(&pcsg, Cause::Breach, &[1, 2])),
            json!(r#"{"1":2,"2":1}"#),
            "replica 7 was scaled in"
        );
        assert_eq!(
            (of_replica(2, Some(&pcsg), 1), of_replica(2, Some(&pcsg), 0), of_replica(2, None, 1)),
            (3, 2, 2)
        );
        pcsg.annotations_mut().insert(ANNOTATION_UPDATED_REPLICAS.to_owned(), r#"{"1":2}"#.to_owned());
        assert_eq!((of_replica(2, Some(&pcsg), 1), of_replica(2, Some(&pcsg), 0)), (5, 2));
        let updated = replace_replicas_patch(&pcsg, Cause::Update, &[0]);
        let counts = &updated["metadata"]["annotations"][ANNOTATION_UPDATED_REPLICAS];
        assert_eq!(*counts, json!(r#"{"0":1,"1":2}"#));
    }
}
