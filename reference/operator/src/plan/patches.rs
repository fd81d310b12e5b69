use std::collections::BTreeMap;

use grove_api::PodClique;
use grove_api::names::{GROVE_PREFIX, LABEL_POD_TEMPLATE_HASH};
use kube::ResourceExt;
use serde_json::{Map, Value, json};

use super::json_diff::merge_patch;

/// `None` if nothing differs. Labels and annotations that `wanted` lacks stay.
pub(crate) fn change<K: ResourceExt>(existing: &K, wanted: &K, [from, to]: [Value; 2]) -> Option<Value> {
    let mut patch = Map::new();
    let labels = differing(existing.labels(), wanted.labels());
    let annotations = differing(existing.annotations(), wanted.annotations());
    let metadata = [("labels", labels), ("annotations", annotations)];
    let metadata: Map<_, _> =
        metadata.into_iter().filter_map(|(key, map)| Some((key.to_owned(), map?))).collect();
    if !metadata.is_empty() {
        patch.insert("metadata".to_owned(), Value::Object(metadata));
    }
    if let Some(spec) = merge_patch(&from, &to) {
        patch.insert("spec".to_owned(), spec);
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

fn differing(existing: &BTreeMap<String, String>, wanted: &BTreeMap<String, String>) -> Option<Value> {
    let differing = wanted.iter().filter(|(key, value)| existing.get(*key) != Some(value));
    let differing: Map<_, _> = differing.map(|(key, value)| (key.clone(), json!(value))).collect();
    (!differing.is_empty()).then_some(Value::Object(differing))
}

/// Keeps `replicas`, which others scale. Removes labels of the old template, because pods inherit them.
pub(crate) fn pod_clique_change(
    existing: &PodClique,
    wanted: &PodClique,
) -> serde_json::Result<Option<Value>> {
    let mut spec = serde_json::to_value(&wanted.spec)?;
    spec["replicas"] = json!(existing.spec.replicas);
    let mut patch = change(existing, wanted, [serde_json::to_value(&existing.spec)?, spec]);
    let hash = |pclq: &PodClique| pclq.labels().get(LABEL_POD_TEMPLATE_HASH).cloned();
    if let Some(patch) = patch.as_mut().filter(|_| hash(existing) != hash(wanted)) {
        let pairs = [
            ("labels", existing.labels(), wanted.labels()),
            ("annotations", existing.annotations(), wanted.annotations()),
        ];
        for (field, before, after) in pairs {
            let removed =
                before.keys().filter(|key| !after.contains_key(*key) && !key.starts_with(GROVE_PREFIX));
            removed.for_each(|key| patch["metadata"][field][key] = Value::Null);
        }
    }
    Ok(patch)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pclq(hash: &str, labels: Value) -> PodClique {
        let mut pclq = json!({"metadata": {"labels": labels}, "spec": {"podSpec": {}, "replicas": 1}});
        pclq["metadata"]["labels"][LABEL_POD_TEMPLATE_HASH] = json!(hash);
        serde_json::from_value(pclq).unwrap()
    }

    #[test]
    fn a_new_template_removes_the_labels_of_the_old_one() {
        let existing = pclq("1", json!({"team": "a", "grove.io/kept": "1", "tier": "x"}));
        let patch = pod_clique_change(&existing, &pclq("2", json!({"tier": "y"}))).unwrap().unwrap();
        let labels = json!({"team": null, "tier": "y", LABEL_POD_TEMPLATE_HASH: "2"});
        assert_eq!(patch, json!({"metadata": {"labels": labels}}));
        assert_eq!(
            pod_clique_change(&existing, &pclq("1", json!({"tier": "x"}))).unwrap(),
            None,
            "another client added the label"
        );
    }
}
