//! The old template of a PodClique's pods, stored until an update reaches them. A pod that is lost before the
//! update step of its PodCliqueSet replica is created again from the old template. So a replica never has two
//! versions before its step, and a broken update does not reach it (UPD-16).

use std::collections::BTreeMap;

use grove_api::names::{ANNOTATION_PREVIOUS_TEMPLATE, GROVE_PREFIX, LABEL_POD_TEMPLATE_HASH};
use grove_api::{PodClique, PodCliqueSet, PodSpecJson};
use kube::ResourceExt;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::update_view::{awaits_update_step, rolls};
use crate::cache::caches::Caches;
use crate::cache::observed_pod::Pod;
use crate::cache::pods::{is_live, own_pods};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PreviousTemplate {
    /// Number of pods when the template was stored. Pods with a higher index have the new template.
    replicas: i32,
    /// Generation of these pods. Pods that gang termination recreates have the new template.
    generation: u64,
    labels: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    pod_spec: PodSpecJson,
}

pub(super) fn stored(pclq: &PodClique) -> Option<PreviousTemplate> {
    serde_json::from_str(pclq.annotations().get(ANNOTATION_PREVIOUS_TEMPLATE)?).ok()
}

/// Stores the template of `existing` in `wanted`, but only if every pod exists and has this template. A
/// template that is already stored stays, because the pods still have it.
pub(crate) fn store(caches: &Caches, pcs: &PodCliqueSet, existing: &PodClique, wanted: &mut PodClique) {
    let hash = existing.labels().get(LABEL_POD_TEMPLATE_HASH);
    if !rolls(pcs) || hash == wanted.labels().get(LABEL_POD_TEMPLATE_HASH) || stored(existing).is_some() {
        return;
    }
    let has_template = |pod: &Pod| is_live(pod) && pod.labels().get(LABEL_POD_TEMPLATE_HASH) == hash;
    let pods = own_pods(caches, existing);
    let replicas = existing.spec.replicas;
    if i32::try_from(pods.len()) != Ok(replicas) || !pods.iter().all(|pod| has_template(pod)) {
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

/// `None` unless the pod of this generation and index must be created from the stored template.
pub(crate) fn with_stored_template(
    pcs: &PodCliqueSet,
    pclq: &PodClique,
    (generation, index): (u64, i32),
) -> Option<PodClique> {
    let previous = stored(pclq).filter(|_| awaits_update_step(pcs, pclq))?;
    if index >= previous.replicas || generation != previous.generation {
        return None;
    }
    let mut before = pclq.clone();
    // Labels that locate the PodClique keep their current values.
    let is_location = |key: &String| key.starts_with(GROVE_PREFIX) && key != LABEL_POD_TEMPLATE_HASH;
    let location = pclq.labels().clone().into_iter().filter(|(key, _)| is_location(key));
    before.metadata.labels = Some(previous.labels.into_iter().chain(location).collect());
    before.metadata.annotations = Some(previous.annotations);
    before.spec.pod_spec = previous.pod_spec;
    Some(before)
}

/// Removes the template once the update step has started. Lowers the number of pods after a scale-in.
pub(crate) fn due_patch(pcs: &PodCliqueSet, pclq: &PodClique) -> Option<Value> {
    let annotation =
        |value: Value| json!({"metadata": {"annotations": {ANNOTATION_PREVIOUS_TEMPLATE: value}}});
    pclq.annotations().get(ANNOTATION_PREVIOUS_TEMPLATE)?;
    let Some(previous) = stored(pclq).filter(|_| awaits_update_step(pcs, pclq)) else {
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

    /// Replica 0 is in the update step; the PodClique of the given replica stores the old template of 2 pods.
    fn updating(replica: i32) -> (PodCliqueSet, PodClique) {
        let pcs = json!({"metadata": {"name": "wl"}, "spec": {"replicas": 2, "template": {"cliques": [
            {"name": "a", "spec": {"replicas": 2, "podSpec": {"containers": [{"name": "new"}]}}},
        ]}}});
        let mut pcs: PodCliqueSet = serde_json::from_value(pcs).unwrap();
        let hash = crate::plan::pod_clique_object::generation_hash(&pcs);
        let status = json!({"currentGenerationHash": hash, "updateProgress": {
            "updateStartedAt": "2026-01-01T00:00:00Z", "currentlyUpdating": [{"replicaIndex": 0}],
        }});
        pcs.status = Some(serde_json::from_value(status).unwrap());
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
        (pcs, serde_json::from_value(pclq).unwrap())
    }

    #[rstest::rstest]
    #[case::lost_before_the_step(1, 0, 1, true)]
    #[case::created_by_scale_out(1, 0, 2, false)]
    #[case::recycled(1, 1, 1, false)]
    #[case::lost_during_the_step(0, 0, 1, false)]
    fn only_a_pod_lost_before_the_step_gets_the_old_template(
        #[case] replica: i32,
        #[case] generation: u64,
        #[case] index: i32,
        #[case] restored: bool,
    ) {
        let (pcs, pclq) = updating(replica);
        let before = with_stored_template(&pcs, &pclq, (generation, index));
        assert_eq!(before.is_some(), restored);
        if let Some(before) = before {
            assert_eq!(before.spec.pod_spec.0["containers"][0]["name"], "old");
            assert_eq!(before.labels()[LABEL_POD_TEMPLATE_HASH], "old");
            assert_eq!(before.labels()[LABEL_PCS_REPLICA_INDEX], "1");
            assert_eq!(before.labels()["team"], "t");
        }
    }

    #[test]
    fn the_template_is_removed_in_the_step_and_shrinks_with_a_scale_in() {
        let (pcs, pclq) = updating(0);
        let removal = json!({"metadata": {"annotations": {ANNOTATION_PREVIOUS_TEMPLATE: null}}});
        assert_eq!(due_patch(&pcs, &pclq), Some(removal));
        let (pcs, mut pclq) = updating(1);
        assert_eq!(due_patch(&pcs, &pclq), None);
        pclq.spec.replicas = 1;
        let patch = due_patch(&pcs, &pclq).unwrap();
        let template = patch["metadata"]["annotations"][ANNOTATION_PREVIOUS_TEMPLATE].as_str().unwrap();
        assert!(template.contains("\"replicas\":1"), "{template}");
    }

    #[test]
    fn the_template_is_removed_after_the_update() {
        let (mut pcs, pclq) = updating(1);
        let status = pcs.status.as_mut().unwrap();
        let progress = status.update_progress.as_mut().unwrap();
        progress.update_ended_at = progress.update_started_at.clone();
        assert!(with_stored_template(&pcs, &pclq, (0, 0)).is_none());
        assert!(due_patch(&pcs, &pclq).is_some());
        pcs.status = None;
        assert!(
            with_stored_template(&pcs, &pclq, (0, 0)).is_some(),
            "the status does not report the update yet"
        );
    }
}
