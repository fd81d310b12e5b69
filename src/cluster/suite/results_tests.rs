use std::sync::{Arc, Mutex};

use http::Method;
use serde_json::{Value, json};

use super::*;
use crate::testing::api_server;

type Maps = Arc<Mutex<BTreeMap<String, Value>>>;

/// An API server that stores ConfigMaps. Like a real one, it rejects a ConfigMap of more than 1 MiB.
fn client(maps: Maps) -> Client {
    api_server(move |method, uri, body| {
        let name = uri.path().rsplit('/').next().unwrap_or_default().to_owned();
        let mut maps = maps.lock().unwrap();
        let missing =
            json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": ""});
        match *method {
            Method::POST => {
                let created: ConfigMap = serde_json::from_value(body).unwrap();
                let bytes: usize = created.binary_data.iter().flatten().map(|(_, bytes)| bytes.0.len()).sum();
                assert!(bytes < 1024 * 1024, "{bytes}");
                let created = serde_json::to_value(created).unwrap();
                let name = created["metadata"]["name"].as_str().unwrap().to_owned();
                assert!(maps.insert(name, created.clone()).is_none(), "the ConfigMap existed");
                (201, created)
            }
            Method::DELETE => match maps.remove(&name) {
                Some(_) => (200, json!({"kind": "Status", "status": "Success"})),
                None => (404, missing),
            },
            _ if name == "configmaps" => {
                let heads = maps.values().filter(|map| map["metadata"]["labels"][HEAD] == "head");
                let heads: Vec<_> = heads.cloned().collect();
                (200, json!({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {}, "items": heads}))
            }
            _ => maps.get(&name).map_or((404, missing), |map| (200, map.clone())),
        }
    })
}

fn archive(bytes: usize, seed: u8) -> Vec<u8> {
    (0..bytes).map(|index| (index % 251) as u8 ^ seed).collect()
}

#[rstest::rstest]
#[case::small(10, 1)]
#[case::one_full_chunk(CHUNK, 1)]
#[case::several_chunks(2 * CHUNK + 1, 3)]
#[tokio::test]
async fn stored_results_are_fetched_unchanged(#[case] bytes: usize, #[case] chunks: usize) {
    let maps = Maps::default();
    let client = client(maps.clone());
    let (first, second) = (archive(bytes, 1), archive(bytes, 2));
    store(&client, "ns", (0, 2), &first, None).await.unwrap();
    store(&client, "ns", (1, 2), &second, Some("two histories".into())).await.unwrap();
    assert_eq!(maps.lock().unwrap().len(), 2 * (chunks + 1));
    let fetched = fetch(&client, "ns").await.unwrap();
    let archives: Vec<_> = fetched.values().map(|stored| &stored.as_ref().unwrap().archive).collect();
    assert_eq!(archives, [&first, &second]);
    let head = &fetched[&1].as_ref().unwrap().head;
    assert_eq!((head.chunks, head.shares, head.left_out.as_deref()), (chunks, 2, Some("two histories")));
}

#[tokio::test]
async fn a_second_pod_replaces_the_results_of_the_first() {
    let client = client(Maps::default());
    store(&client, "ns", (0, 1), &archive(2 * CHUNK, 1), None).await.unwrap();
    store(&client, "ns", (0, 1), &archive(100, 2), None).await.unwrap();
    let fetched = fetch(&client, "ns").await.unwrap();
    assert_eq!(fetched[&0].as_ref().unwrap().archive, archive(100, 2));
}

#[tokio::test]
async fn missing_and_mixed_chunks_are_reported() {
    let maps = Maps::default();
    let client = client(maps.clone());
    store(&client, "ns", (0, 2), &archive(2 * CHUNK, 1), None).await.unwrap();
    store(&client, "ns", (1, 2), &archive(2 * CHUNK, 1), None).await.unwrap();
    {
        let mut maps = maps.lock().unwrap();
        maps.remove("results-1-2");
        let other = maps["results-2-1"].clone();
        maps.get_mut("results-2-2").unwrap()["binaryData"] = other["binaryData"].clone();
    }
    let fetched = fetch(&client, "ns").await.unwrap();
    assert_eq!(fetched[&0].as_ref().unwrap_err().to_string(), "its results results-1-2 are missing");
    assert_eq!(fetched[&1].as_ref().unwrap_err().to_string(), "its results are a mix of two pods' results");
}

#[tokio::test]
async fn a_head_of_another_version_is_an_error() {
    let maps = Maps::default();
    let head = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {(KEY): "{}"},
        "metadata": {"name": "results-1", "labels": {(HEAD): "head"}}});
    maps.lock().unwrap().insert("results-1".into(), head);
    let error = fetch(&client(maps), "ns").await.unwrap_err().to_string();
    assert!(error.contains("ns/results-1") && error.contains("another version"), "{error}");
}
