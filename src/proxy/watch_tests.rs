use std::time::{Duration, Instant};

use http::Version;
use serde_json::json;

use crate::testing::{PROTOBUF, VERSIONS, World, chunk, event, is_silent};

#[tokio::test]
async fn a_watch_passes_event_by_event_and_ends_with_the_watch_of_the_server() {
    for version in VERSIONS {
        let world = World::new().await;
        let mut watch = world.client(version).watch("application/json").await;
        world.event("ADDED", "ns", "a");
        assert_eq!(event(&mut watch).await["object"]["metadata"]["name"], "a");
        world.send_to_watches(r#"{"type":"MODI"#);
        world.send_to_watches("FIED\",\"object\":{}}\n");
        assert_eq!(event(&mut watch).await["type"], "MODIFIED");
        world.end_watches();
        assert!(chunk(&mut watch).await.is_none());
    }
}

#[tokio::test]
async fn held_events_keep_their_order() {
    for version in VERSIONS {
        let world = World::new().await;
        let mut watch = world.client(version).watch("application/json").await;
        let rule = world
            .rule(json!({"match": {"verbs": ["watch"], "resources": ["pods"], "namespace": "late"},
                                     "action": {"holdEvents": {}}}));
        for (namespace, name) in [("ns", "a"), ("late", "b"), ("ns", "c")] {
            world.event("ADDED", namespace, name);
        }
        assert_eq!(event(&mut watch).await["object"]["metadata"]["name"], "a");
        world.handle().until_applied(rule, 1).await;
        assert!(is_silent(chunk(&mut watch)).await);
        world.handle().release(rule);
        let mut rest = Vec::new();
        while rest.iter().filter(|byte| **byte == b'\n').count() < 2 {
            rest.extend_from_slice(&chunk(&mut watch).await.unwrap().unwrap());
        }
        let rest = String::from_utf8(rest).unwrap();
        assert!(rest.find("\"b\"").unwrap() < rest.find("\"c\"").unwrap(), "{rest}");
    }
}

#[tokio::test]
async fn events_of_other_objects_pass_held_events() {
    let world = World::new().await;
    let mut watch = world.client(Version::HTTP_2).watch("application/json").await;
    let rule = world.rule(json!({"match": {"verbs": ["watch"], "name": "late-*"},
                                 "action": {"holdEvents": {"othersPass": true}}}));
    for (kind, name) in [("ADDED", "late-0"), ("ADDED", "b"), ("MODIFIED", "late-0")] {
        world.event(kind, "ns", name);
    }
    assert_eq!(event(&mut watch).await["object"]["metadata"]["name"], "b");
    world.handle().until_applied(rule, 2).await;
    world.end_watches();
    assert!(is_silent(chunk(&mut watch)).await);
    world.handle().release(rule);
    assert_eq!(event(&mut watch).await["type"], "ADDED");
    assert_eq!(event(&mut watch).await["type"], "MODIFIED");
    assert!(chunk(&mut watch).await.is_none());
}

#[tokio::test]
async fn a_held_watch_that_is_abandoned_is_lost() {
    let world = World::new().await;
    let mut watch = world.client(Version::HTTP_2).watch("application/json").await;
    let rule = world.rule(json!({"match": {"verbs": ["watch"]}, "action": {"holdEvents": {}}}));
    world.event("ADDED", "ns", "a");
    world.handle().until_applied(rule, 1).await;
    world.handle().abandon(rule);
    assert!(chunk(&mut watch).await.unwrap().is_err());
}

#[tokio::test]
async fn an_event_is_delayed_or_rewritten_or_ends_the_watch() {
    let world = World::new().await;
    let mut watch = world.client(Version::HTTP_2).watch("application/json").await;
    let watched = |name: &str| json!({"verbs": ["watch"], "resources": ["pods"], "name": name});
    world.rule(json!({"match": watched("late"), "action": {"delayEvents": {"milliseconds": 120}}}));
    world.rule(json!({"match": watched("odd"),
                      "action": {"rewriteObject": {"merge": {"spec": {"nodeName": "nowhere"}}}}}));
    world.rule(json!({"match": watched("broken"), "action": {"breakWatch": {"code": 410}}}));
    let begin = Instant::now();
    world.event("ADDED", "ns", "late");
    event(&mut watch).await;
    assert!(begin.elapsed() >= Duration::from_millis(120));
    world.event("ADDED", "ns", "odd");
    assert_eq!(event(&mut watch).await["object"]["spec"]["nodeName"], "nowhere");
    world.event("DELETED", "ns", "broken");
    let error = event(&mut watch).await;
    assert_eq!((&error["type"], &error["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert_eq!(error["object"]["reason"], "Expired");
    assert!(chunk(&mut watch).await.is_none());
}

#[tokio::test]
async fn a_frozen_watch_delivers_nothing_in_any_encoding() {
    for accept in [PROTOBUF, "application/json"] {
        let world = World::new().await;
        let mut watch = world.client(Version::HTTP_2).watch(accept).await;
        let rule =
            world.rule(json!({"match": {"verbs": ["watch"], "resources": ["pods"]}, "action": "freeze"}));
        world.event("ADDED", "ns", "a");
        world.handle().until_applied(rule, 1).await;
        assert!(is_silent(chunk(&mut watch)).await);
        world.handle().release(rule);
        assert_eq!(event(&mut watch).await["object"]["metadata"]["name"], "a");
    }
}

#[tokio::test]
async fn a_protobuf_watch_ends_when_a_rule_looks_into_it() {
    let world = World::new().await;
    let client = world.client(Version::HTTP_2);
    let mut watch = client.watch(PROTOBUF).await;
    let rule = world.rule(json!({"match": {"verbs": ["watch"]}, "action": {"holdEvents": {}}}));
    assert!(chunk(&mut watch).await.is_none());
    let mut again = client.watch(PROTOBUF).await;
    assert_eq!(world.requests()[1].accept, "application/json");
    world.event("ADDED", "ns", "a");
    world.handle().until_applied(rule, 1).await;
    world.handle().release(rule);
    assert_eq!(event(&mut again).await["type"], "ADDED");
}
