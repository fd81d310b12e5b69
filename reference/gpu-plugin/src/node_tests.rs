use std::collections::{BTreeMap, BTreeSet};

use futures::stream;
use kube::api::ObjectMeta;
use kube::core::PartialObjectMetaExt;

use super::*;

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn node(labels: &[(&str, &str)], annotations: &[(&str, &str)]) -> View {
    let (labels, annotations) = (Some(map(labels)), Some(map(annotations)));
    let metadata = ObjectMeta { labels, annotations, ..ObjectMeta::default() };
    Ok(Some(metadata.into_response_partial()))
}

fn devices(count: u16, unhealthy: &[u16]) -> Devices {
    Devices { count, unhealthy: Unhealthy::These(unhealthy.iter().copied().collect::<BTreeSet<_>>()) }
}

async fn after(before: Devices, views: Vec<View>) -> (Devices, bool) {
    let rules = Rules { count_label: COUNT_LABEL.to_owned(), gpus: 4, ignores_annotation: false };
    after_by(&rules, before, views).await
}

async fn after_by(rules: &Rules, before: Devices, views: Vec<View>) -> (Devices, bool) {
    let (sender, devices) = watch::channel(before);
    let node_seen = Notify::new();
    follow(stream::iter(views), rules, &sender, &node_seen).await;
    let may_start = tokio::time::timeout(std::time::Duration::ZERO, node_seen.notified()).await.is_ok();
    (devices.borrow().clone(), may_start)
}

#[tokio::test]
async fn the_label_overrides_the_default_count() {
    assert_eq!(after(devices(4, &[]), vec![node(&[], &[])]).await, (devices(4, &[]), true));
    let eight = || node(&[(COUNT_LABEL, "8")], &[]);
    assert_eq!(after(devices(4, &[]), vec![eight()]).await, (devices(8, &[]), true));
    assert_eq!(after(devices(4, &[]), vec![eight(), node(&[], &[])]).await, (devices(4, &[]), true));
}

#[tokio::test]
async fn the_annotation_lists_the_unhealthy_gpus() {
    let some = || node(&[], &[(UNHEALTHY_ANNOTATION, "0,3")]);
    assert_eq!(after(devices(4, &[]), vec![some()]).await, (devices(4, &[0, 3]), true));
    let all = node(&[], &[(UNHEALTHY_ANNOTATION, "all")]);
    let all_unhealthy = Devices { count: 4, unhealthy: Unhealthy::All };
    assert_eq!(after(devices(4, &[]), vec![some(), all]).await, (all_unhealthy, true));
    assert_eq!(after(devices(4, &[]), vec![some(), node(&[], &[])]).await, (devices(4, &[]), true));
}

#[tokio::test]
async fn the_fault_ignore_unhealthy_ignores_the_annotation() {
    let rules = Rules { count_label: COUNT_LABEL.to_owned(), gpus: 4, ignores_annotation: true };
    let some = node(&[(COUNT_LABEL, "8")], &[(UNHEALTHY_ANNOTATION, "0,3")]);
    assert_eq!(after_by(&rules, devices(4, &[]), vec![some]).await, (devices(8, &[]), true));
}

#[tokio::test]
async fn an_invalid_value_keeps_the_last_valid_state() {
    let good = || node(&[(COUNT_LABEL, "8")], &[(UNHEALTHY_ANNOTATION, "1")]);
    let bad_count = node(&[(COUNT_LABEL, "many")], &[(UNHEALTHY_ANNOTATION, "2")]);
    assert_eq!(after(devices(4, &[]), vec![good(), bad_count]).await, (devices(8, &[2]), true));
    let bad_list = node(&[(COUNT_LABEL, "2")], &[(UNHEALTHY_ANNOTATION, "0;1")]);
    assert_eq!(after(devices(4, &[]), vec![good(), bad_list]).await, (devices(2, &[1]), true));
}

#[tokio::test]
async fn a_deleted_node_keeps_its_gpus() {
    let eight = node(&[(COUNT_LABEL, "8")], &[]);
    assert_eq!(after(devices(4, &[]), vec![eight, Ok(None)]).await, (devices(8, &[]), true));
}

#[tokio::test]
async fn the_plugin_does_not_start_before_the_node_is_seen() {
    let failed = || Err(watcher::Error::NoResourceVersion);
    assert_eq!(after(devices(4, &[]), vec![failed(), Ok(None), failed()]).await, (devices(4, &[]), false));
    assert_eq!(after(devices(4, &[]), vec![failed(), node(&[], &[])]).await, (devices(4, &[]), true));
}
