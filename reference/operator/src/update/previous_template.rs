//! The old template of a PodClique's pods, until an update reaches them.
//!
//! A PodClique gets a new template at the same time as its PodCliqueSet, and its new pods use it. The
//! exception is a pod that is lost before the update step of its PodCliqueSet replica: it is created from the
//! old template. So a serving replica never has two versions, and a broken update reaches no replica before
//! its step (UPD-16). Until then an annotation of the PodClique stores the old template.

use std::collections::BTreeMap;

use grove_api::names::{ANNOTATION_PREVIOUS_TEMPLATE, GROVE_PREFIX, LABEL_POD_TEMPLATE_HASH};
use grove_api::{PodClique, PodCliqueSet, PodSpecJson};
use kube::ResourceExt;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::update_view::{awaits_turn, rolls};
use crate::cache::caches::Caches;
use crate::cache::observed_pod::Pod;
use crate::cache::pods::{is_live, own_pods};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PreviousTemplate {
    /// Number of pods at that time; pods with a higher index, from a later scale-out, are new.
    replicas: i32,
    /// Generation of those pods; gang termination creates new ones.
    generation: u64,
    labels: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    pod_spec: PodSpecJson,
}

pub(super) fn kept(pclq: &PodClique) -> Option<PreviousTemplate> {
    serde_json::from_str(pclq.annotations().get(ANNOTATION_PREVIOUS_TEMPLATE)?).ok()
}

/// Stores the template of `existing` in `wanted`, if every pod exists and has it. A stored template stays,
/// because no update step came since. If some pods already have another template, nothing is stored, and
/// recreated pods get the newest template.
pub(crate) fn keep(caches: &Caches, pcs: &PodCliqueSet, existing: &PodClique, wanted: &mut PodClique) {
    let hash = existing.labels().get(LABEL_POD_TEMPLATE_HASH);
    if !rolls(pcs) || hash == wanted.labels().get(LABEL_POD_TEMPLATE_HASH) || kept(existing).is_some() {
        return;
    }
    let has_it = |pod: &Pod| is_live(pod) && pod.labels().get(LABEL_POD_TEMPLATE_HASH) == hash;
    let pods = own_pods(caches, existing);
    let replicas = existing.spec.replicas;
    if i32::try_from(pods.len()) != Ok(replicas) || !pods.iter().all(|pod| has_it(pod)) {
        return;
    }
    let previous = PreviousTemplate {
        replicas,
        generation: caches.generation_of(pcs, existing),
        labels: existing.labels().clone(),
        annotations: existing.annotations().clone(),
        pod_spec: existing.spec.pod_spec.clone(),
    };
    wanted.annotations_mut().insert(ANNOTATION_PREVIOUS_TEMPLATE.to_owned(), json!(previous).to_string());
}

/// The PodClique with the old template, if the pod of that generation and index must be created from it.
pub(crate) fn as_it_was(
    pcs: &PodCliqueSet,
    pclq: &PodClique,
    (generation, index): (u64, i32),
) -> Option<PodClique> {
    let previous = kept(pclq).filter(|_| awaits_turn(pcs, pclq))?;
    if index >= previous.replicas || generation != previous.generation {
        return None;
    }
    let mut before = pclq.clone();
    // Labels that locate the PodClique keep their current values.
    let is_place = |key: &String| key.starts_with(GROVE_PREFIX) && key != LABEL_POD_TEMPLATE_HASH;
    let place = pclq.labels().clone().into_iter().filter(|(key, _)| is_place(key));
    before.metadata.labels = Some(previous.labels.into_iter().chain(place).collect());
    before.metadata.annotations = Some(previous.annotations);
    before.spec.pod_spec = previous.pod_spec;
    Some(before)
}

/// The patch that updates the stored template: removes it once its update step has come, and lowers the
/// number of pods after a scale-in.
pub(crate) fn due(pcs: &PodCliqueSet, pclq: &PodClique) -> Option<Value> {
    let annotation =
        |value: Value| json!({"metadata": {"annotations": {ANNOTATION_PREVIOUS_TEMPLATE: value}}});
    pclq.annotations().get(ANNOTATION_PREVIOUS_TEMPLATE)?;
    let Some(previous) = kept(pclq).filter(|_| awaits_turn(pcs, pclq)) else {
        return Some(annotation(Value::Null));
    };
    let replicas = pclq.spec.replicas;
    (replicas < previous.replicas)
        .then(|| annotation(json!(json!(PreviousTemplate { replicas, ..previous }).to_string())))
}

#[cfg(test)]
mod tests {
    use grove_api::names::LABEL_PCS_REPLICA_INDEX;

    use super::*;

    /// A PodCliqueSet whose replica 0 is in the update step, and a PodClique that stores the old template of
    /// 2 pods.
    fn updating(replica: i32) -> (PodCliqueSet, PodClique) {
        let set = json!({"metadata": {"name": "wl"}, "spec": {"replicas": 2, "template": {"cliques": [
            {"name": "a", "spec": {"replicas": 2, "podSpec": {"containers": [{"name": "new"}]}}},
        ]}}});
        let mut set: PodCliqueSet = serde_json::from_value(set).unwrap();
        let hash = crate::plan::pod_clique_object::generation_hash(&set);
        let status = json!({"currentGenerationHash": hash, "updateProgress": {
            "updateStartedAt": "2026-01-01T00:00:00Z", "currentlyUpdating": [{"replicaIndex": 0}],
        }});
        set.status = Some(serde_json::from_value(status).unwrap());
        let previous = PreviousTemplate {
            replicas: 2,
            generation: 0,
            labels: BTreeMap::from([
                (LABEL_POD_TEMPLATE_HASH.into(), "old".into()),
                ("team".into(), "t".into()),
            ]),
            annotations: BTreeMap::new(),
            pod_spec: PodSpecJson(json!({"containers": [{"name": "old"}]}).into()),
        };
        let pclq = json!({
            "metadata": {
                "name": format!("wl-{replica}-a"),
                "labels": {LABEL_PCS_REPLICA_INDEX: replica.to_string(), LABEL_POD_TEMPLATE_HASH: "new"},
                "annotations": {ANNOTATION_PREVIOUS_TEMPLATE: json!(previous).to_string()},
            },
            "spec": {"replicas": 2, "podSpec": {"containers": [{"name": "new"}]}},
        });
        (set, serde_json::from_value(pclq).unwrap())
    }

    #[rstest::rstest]
    #[case::lost_before_its_turn(1, 0, 1, true)]
    #[case::of_a_scale_out(1, 0, 2, false)]
    #[case::recycled(1, 1, 1, false)]
    #[case::in_its_turn(0, 0, 1, false)]
    fn who_comes_back_as_it_was(
        #[case] replica: i32,
        #[case] generation: u64,
        #[case] index: i32,
        #[case] restored: bool,
    ) {
        let (set, pclq) = updating(replica);
        let before = as_it_was(&set, &pclq, (generation, index));
        assert_eq!(before.is_some(), restored);
        if let Some(before) = before {
            assert_eq!(before.spec.pod_spec.0["containers"][0]["name"], "old");
            assert_eq!(before.labels()[LABEL_POD_TEMPLATE_HASH], "old");
            assert_eq!(before.labels()[LABEL_PCS_REPLICA_INDEX], "1");
            assert_eq!(before.labels()["team"], "t");
        }
    }

    #[test]
    fn nothing_is_kept_beyond_the_turn() {
        let (set, pclq) = updating(0);
        let gone = json!({"metadata": {"annotations": {ANNOTATION_PREVIOUS_TEMPLATE: null}}});
        assert_eq!(due(&set, &pclq), Some(gone));
        let (set, mut pclq) = updating(1);
        assert_eq!(due(&set, &pclq), None);
        pclq.spec.replicas = 1;
        let patch = due(&set, &pclq).unwrap();
        let said = patch["metadata"]["annotations"][ANNOTATION_PREVIOUS_TEMPLATE].as_str().unwrap();
        assert!(said.contains("\"replicas\":1"), "{said}");
    }

    #[test]
    fn an_update_that_is_over_leaves_nothing() {
        let (mut set, pclq) = updating(1);
        let status = set.status.as_mut().unwrap();
        let progress = status.update_progress.as_mut().unwrap();
        progress.update_ended_at = progress.update_started_at.clone();
        assert!(as_it_was(&set, &pclq, (0, 0)).is_none());
        assert!(due(&set, &pclq).is_some());
        set.status = None;
        assert!(as_it_was(&set, &pclq, (0, 0)).is_some(), "the status does not tell of it yet");
    }
}
