use std::time::{Duration, Instant};

use http::{Method, Version};
use http_body_util::BodyExt;
use rstest::rstest;
use serde_json::{Value, json};

use crate::testing::{POD, PODS, PROTOBUF, World, event, is_silent, piece};
use crate::{Match, Verb};

const VERSIONS: [Version; 2] = [Version::HTTP_11, Version::HTTP_2];

fn binding() -> Value {
    json!({"kind": "Binding", "metadata": {"name": "p"}})
}

#[tokio::test]
async fn without_rules_requests_pass_as_they_are() {
    for version in VERSIONS {
        let world = World::new().await;
        let client = world.client(version);
        assert_eq!(client.get(POD).await.unwrap().0, 200);
        let (status, body) = client.post(&format!("{POD}/binding?dryRun=All"), &binding()).await.unwrap();
        assert_eq!((status.as_u16(), body), (201, binding()));
        let asked = world.asked();
        assert_eq!(asked[1].path, format!("{POD}/binding?dryRun=All"));
        assert_eq!(asked[1].body, binding().to_string());
        assert!(asked.iter().all(|one| one.user == "the-scheduler"), "asked with the identity's certificate");
        assert_eq!(asked[0].version, Version::HTTP_2, "whatever the program speaks");
        assert_eq!(world.handle().count(&Match::of(&[Verb::Create], &["pods/binding"])), 1);
        assert_eq!(world.handle().count(&Match::writes().in_namespace("other")), 0);
        assert_eq!(world.handle().faults(), []);
    }
}

#[tokio::test]
async fn protobuf_passes_byte_for_byte() {
    let world = World::new().await;
    let client = world.client(Version::HTTP_2);
    let answer = client.ask(Method::GET, POD, &[("accept", PROTOBUF)], "").await.unwrap();
    assert_eq!(answer.headers()["content-type"], PROTOBUF);
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), &b"k8s\0\x01\xffpod"[..]);
    let body = &b"k8s\0\n\xfebinding"[..];
    client.ask(Method::POST, PODS, &[("content-type", PROTOBUF)], body).await.unwrap();
    assert_eq!(world.asked()[1].body, body);
    let mut watch = client.watch(PROTOBUF).await;
    // A frame that contains newlines, in two chunks.
    world.send(&b"\0\0\0\x07k8s\n"[..]);
    assert_eq!(piece(&mut watch).await.unwrap().unwrap(), &b"\0\0\0\x07k8s\n"[..]);
    world.send(&b"\n\xff"[..]);
    assert_eq!(piece(&mut watch).await.unwrap().unwrap(), &b"\n\xff"[..]);
}

#[tokio::test]
async fn nobody_connects_without_a_certificate_of_the_authority() {
    let (world, stranger) = (World::new().await, World::new().await);
    let client = stranger.client_of(&world.proxy.url(), Version::HTTP_2);
    client.get(POD).await.unwrap_err();
    assert!(world.asked().is_empty());
}

#[tokio::test]
async fn upgrades_are_refused() {
    let world = World::new().await;
    let headers = [("connection", "upgrade"), ("upgrade", "SPDY/3.1")];
    let client = world.client(Version::HTTP_11);
    let answer = client.ask(Method::POST, &format!("{POD}/exec"), &headers, "").await.unwrap();
    assert_eq!(answer.status(), 501);
    assert!(world.asked().is_empty());
}

#[rstest]
#[case(409, "Conflict", None)]
#[case(410, "Expired", None)]
#[case(429, "TooManyRequests", Some(1))]
#[case(500, "InternalError", None)]
#[case(503, "ServiceUnavailable", None)]
#[tokio::test]
async fn the_nth_is_refused_with_a_status(
    #[case] code: u16,
    #[case] reason: &str,
    #[case] retry_after: Option<u32>,
) {
    let world = World::new().await;
    let mut action = json!({"refuse": {"code": code}});
    if let Some(seconds) = retry_after {
        action["refuse"]["retryAfterSeconds"] = seconds.into();
    }
    world.rule(json!({"match": {"verbs": ["create"], "resources": ["pods/binding"]},
                      "when": {"from": 2, "count": 1}, "action": action}));
    let client = world.client(Version::HTTP_2);
    for n in 1..=3 {
        assert_eq!(client.get(POD).await.unwrap().0, 200);
        let headers = [("content-type", PROTOBUF)];
        let path = format!("{POD}/binding");
        let answer = client.ask(Method::POST, &path, &headers, "k8s").await.unwrap();
        if n != 2 {
            assert_eq!(answer.status(), 201);
            continue;
        }
        assert_eq!(answer.status(), code);
        let said = answer.headers().get("retry-after").map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(said, retry_after.map(|seconds| seconds.to_string()));
        let status: Value =
            serde_json::from_slice(&answer.into_body().collect().await.unwrap().to_bytes()).unwrap();
        assert_eq!(status["kind"], "Status");
        assert_eq!((&status["reason"], &status["code"]), (&json!(reason), &json!(code)));
        assert_eq!(status["details"]["retryAfterSeconds"], json!(retry_after));
        assert_eq!(status["details"]["name"], "p");
    }
    assert_eq!(world.writes(), 2, "the server has not seen it");
    let line: Value = serde_json::from_str(&std::fs::read_to_string(world.log()).unwrap()).unwrap();
    assert_eq!(line["match"], 2);
    assert_eq!((&line["proxy"], &line["action"]), (&json!("scheduler"), &json!("refuse")));
    assert_eq!((&line["resource"], &line["name"]), (&json!("pods/binding"), &json!("p")));
}

#[tokio::test]
async fn a_request_is_dropped_before_the_server_and_an_answer_after_it() {
    for version in VERSIONS {
        for (action, reached) in [("drop", 0), ("loseAnswer", 1)] {
            let world = World::new().await;
            world.rule(json!({"match": {"verbs": ["create"]}, "when": {"count": 1}, "action": action}));
            let client = world.client(version);
            client.post(PODS, &binding()).await.unwrap_err();
            assert_eq!(world.writes(), reached, "{action} in {version:?}");
            assert_eq!(client.post(PODS, &binding()).await.unwrap().0, 201, "{action} in {version:?}");
        }
    }
}

#[tokio::test]
async fn a_request_is_held_until_it_is_released_or_abandoned() {
    let world = World::new().await;
    let (handle, client) = (world.handle(), world.client(Version::HTTP_2));
    for is_released in [true, false] {
        let before = world.writes();
        let rule = world.rule(json!({"match": {"verbs": ["create"]}, "action": "hold"}));
        let posted = tokio::spawn({
            let client = client.clone();
            async move { client.post(PODS, &binding()).await }
        });
        handle.until_applied(rule, 1).await;
        assert_eq!(client.get(POD).await.unwrap().0, 200, "others pass");
        assert_eq!(world.writes(), before);
        if is_released {
            handle.release(rule)
        } else {
            handle.abandon(rule)
        }
        assert_eq!(posted.await.unwrap().is_ok(), is_released);
        assert_eq!(world.writes(), before + usize::from(is_released));
    }
}

#[tokio::test]
async fn what_a_dead_client_asked_for_never_reaches_the_server() {
    for version in VERSIONS {
        let world = World::new().await;
        let (handle, client) = (world.handle(), world.client(version));
        let rule = world.rule(json!({"match": {"verbs": ["create"]}, "action": "hold"}));
        let posted = tokio::spawn(async move { client.post(PODS, &binding()).await });
        handle.until_applied(rule, 1).await;
        posted.abort();
        handle.abandon(rule);
        assert!(
            is_silent(async {
                while world.writes() == 0 {
                    tokio::task::yield_now().await
                }
            })
            .await
        );
    }
}

#[tokio::test]
async fn a_request_is_delayed() {
    let world = World::new().await;
    world.rule(json!({"match": {"verbs": ["get"]}, "action": {"delay": {"milliseconds": 120}}}));
    let (client, begin) = (world.client(Version::HTTP_2), Instant::now());
    assert_eq!(client.get(POD).await.unwrap().0, 200);
    assert!(begin.elapsed() >= Duration::from_millis(120));
}

#[tokio::test]
async fn a_request_is_sent_twice() {
    let world = World::new().await;
    world.rule(json!({"match": {"verbs": ["create"]}, "action": "duplicate"}));
    let answer = world.client(Version::HTTP_2).post(PODS, &binding()).await.unwrap();
    assert_eq!((answer.0.as_u16(), answer.1), (201, binding()));
    assert_eq!(world.writes(), 2);
}

#[tokio::test]
async fn bodies_and_answers_are_rewritten() {
    let world = World::new().await;
    let client = world.client(Version::HTTP_2);
    let patch = json!([{"op": "replace", "path": "/metadata/name", "value": "q"}]);
    world.rule(json!({"match": {"verbs": ["create"]}, "action": {"rewriteRequest": {"json": patch}}}));
    client.post(PODS, &binding()).await.unwrap();
    let sent: Value = serde_json::from_slice(&world.asked()[0].body).unwrap();
    assert_eq!(sent["metadata"]["name"], "q");
    client.ask(Method::POST, PODS, &[("content-type", PROTOBUF)], "k8s").await.unwrap();
    assert_eq!(world.asked()[1].body, "k8s");
    assert_eq!(world.handle().faults()[1].skipped, Some("the body is not JSON"));
    let merge = json!({"status": {"phase": "Odd"}});
    world.rule(json!({"match": {"verbs": ["get", "list"], "resources": ["pods"], "name": "[pb]"},
                      "action": {"rewriteObject": {"merge": merge}}}));
    assert_eq!(client.get(PODS).await.unwrap().1["items"][0]["status"], Value::Null);
    world.rule(json!({"match": {"verbs": ["get", "list"], "name": "b"},
                      "action": {"rewriteObject": {"merge": merge}}}));
    let list = client.get(PODS).await.unwrap().1;
    assert_eq!(list["items"][0]["status"], Value::Null);
    assert_eq!(list["items"][1]["status"]["phase"], "Odd");
}

#[tokio::test]
async fn a_rewritten_request_that_the_server_rejects_was_no_fault() {
    let world = World::new().await;
    let client = world.client(Version::HTTP_2);
    let patch = json!([{"op": "replace", "path": "/metadata/name", "value": true}]);
    let rule =
        world.rule(json!({"match": {"verbs": ["create"]}, "action": {"rewriteRequest": {"json": patch}}}));
    assert_eq!(client.post(PODS, &binding()).await.unwrap().0, 422);
    assert_eq!(world.handle().applied(rule), 0);
    assert_eq!(world.handle().faults()[0].skipped, Some("the API server calls the changed request invalid"));
}

/// The proxy requests JSON if a rule looks into objects that the program requests in protobuf.
#[tokio::test]
async fn an_answer_in_protobuf_is_asked_for_in_json_if_a_rule_looks_into_it() {
    let world = World::new().await;
    world.rule(json!({"match": {"verbs": ["get"], "resources": ["pods"]},
                      "action": {"rewriteObject": {"merge": {"spec": {"nodeName": "n"}}}}}));
    let client = world.client(Version::HTTP_2);
    let headers = [("accept", "application/vnd.kubernetes.protobuf, application/json")];
    let answer = client.ask(Method::GET, POD, &headers, "").await.unwrap();
    assert_eq!(answer.headers()["content-type"], "application/json");
    let pod: Value = serde_json::from_slice(&answer.into_body().collect().await.unwrap().to_bytes()).unwrap();
    assert_eq!(pod["spec"]["nodeName"], "n");
    assert_eq!(world.asked()[0].accept, "application/json");
}

#[tokio::test]
async fn a_watch_passes_event_by_event_and_ends_with_the_servers() {
    for version in VERSIONS {
        let world = World::new().await;
        let mut watch = world.client(version).watch("application/json").await;
        world.event("ADDED", "ns", "a");
        assert_eq!(event(&mut watch).await["object"]["metadata"]["name"], "a");
        // In chunks that are not whole events.
        world.send(r#"{"type":"MODI"#);
        world.send("FIED\",\"object\":{}}\n");
        assert_eq!(event(&mut watch).await["type"], "MODIFIED");
        world.end_watches();
        assert!(piece(&mut watch).await.is_none());
    }
}

#[tokio::test]
async fn events_are_held_in_their_order_until_released() {
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
        assert!(is_silent(piece(&mut watch)).await);
        world.handle().release(rule);
        let mut rest = Vec::new();
        while rest.iter().filter(|byte| **byte == b'\n').count() < 2 {
            rest.extend_from_slice(&piece(&mut watch).await.unwrap().unwrap());
        }
        let rest = String::from_utf8(rest).unwrap();
        assert!(rest.find("\"b\"").unwrap() < rest.find("\"c\"").unwrap(), "{rest}");
    }
}

#[tokio::test]
async fn held_objects_come_late_and_others_in_time() {
    let world = World::new().await;
    let mut watch = world.client(Version::HTTP_2).watch("application/json").await;
    let rule = world.rule(json!({"match": {"verbs": ["watch"], "name": "late-*"},
                                 "action": {"holdEvents": {"othersPass": true}}}));
    for (kind, name) in [("ADDED", "late-0"), ("ADDED", "b"), ("MODIFIED", "late-0")] {
        world.event(kind, "ns", name);
    }
    assert_eq!(event(&mut watch).await["object"]["metadata"]["name"], "b");
    world.handle().until_applied(rule, 2).await;
    // Held events remain when the server ends the watch.
    world.end_watches();
    assert!(is_silent(piece(&mut watch)).await);
    world.handle().release(rule);
    assert_eq!(event(&mut watch).await["type"], "ADDED");
    assert_eq!(event(&mut watch).await["type"], "MODIFIED");
    assert!(piece(&mut watch).await.is_none());
}

#[tokio::test]
async fn a_held_watch_that_is_abandoned_is_lost() {
    let world = World::new().await;
    let mut watch = world.client(Version::HTTP_2).watch("application/json").await;
    let rule = world.rule(json!({"match": {"verbs": ["watch"]}, "action": {"holdEvents": {}}}));
    world.event("ADDED", "ns", "a");
    world.handle().until_applied(rule, 1).await;
    world.handle().abandon(rule);
    assert!(piece(&mut watch).await.unwrap().is_err());
}

#[tokio::test]
async fn events_are_delayed_rewritten_and_broken() {
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
    assert!(piece(&mut watch).await.is_none());
}

#[tokio::test]
async fn a_frozen_watch_delivers_nothing_in_whatever_encoding() {
    for accept in [PROTOBUF, "application/json"] {
        let world = World::new().await;
        let mut watch = world.client(Version::HTTP_2).watch(accept).await;
        let rule =
            world.rule(json!({"match": {"verbs": ["watch"], "resources": ["pods"]}, "action": "freeze"}));
        world.event("ADDED", "ns", "a");
        world.handle().until_applied(rule, 1).await;
        assert!(is_silent(piece(&mut watch)).await);
        world.handle().release(rule);
        assert_eq!(event(&mut watch).await["object"]["metadata"]["name"], "a");
    }
}

#[tokio::test]
async fn a_watch_in_protobuf_ends_when_a_rule_wants_to_look_into_it() {
    let world = World::new().await;
    let client = world.client(Version::HTTP_2);
    let mut watch = client.watch(PROTOBUF).await;
    let rule = world.rule(json!({"match": {"verbs": ["watch"]}, "action": {"holdEvents": {}}}));
    assert!(piece(&mut watch).await.is_none());
    let mut again = client.watch(PROTOBUF).await;
    assert_eq!(world.asked()[1].accept, "application/json");
    world.event("ADDED", "ns", "a");
    world.handle().until_applied(rule, 1).await;
    world.handle().release(rule);
    assert_eq!(event(&mut again).await["type"], "ADDED");
}

/// The n-th write is committed, its response is lost, and no other write follows.
#[tokio::test]
async fn halted_at_the_nth_write() {
    let world = World::new().await;
    let (handle, client) = (world.handle(), world.client(Version::HTTP_2));
    let rule = world.rule(json!({"match": {"verbs": Verb::WRITES, "namespace": "ns"},
                                 "when": {"from": 2, "count": 1}, "action": "halt"}));
    assert_eq!(client.post("/api/v1/namespaces/other/pods", &binding()).await.unwrap().0, 201);
    assert_eq!(client.post(PODS, &binding()).await.unwrap().0, 201);
    let second = tokio::spawn({
        let client = client.clone();
        async move { client.post(PODS, &binding()).await }
    });
    handle.until_applied(rule, 1).await;
    assert_eq!(world.writes(), 3, "applied once it is committed");
    let later = tokio::spawn({
        let client = client.clone();
        async move { client.post("/api/v1/namespaces/other/pods", &binding()).await }
    });
    assert!(
        is_silent(async {
            while world.writes() == 3 {
                tokio::task::yield_now().await
            }
        })
        .await
    );
    assert_eq!(client.get(POD).await.unwrap().0, 200, "reads go on");
    handle.release(rule);
    second.await.unwrap().unwrap_err();
    later.await.unwrap().unwrap_err();
    assert_eq!(client.post(PODS, &binding()).await.unwrap().0, 201);
}

#[tokio::test]
async fn a_proxy_that_is_dropped_ends_its_connections() {
    let world = World::new().await;
    let client = world.client(Version::HTTP_2);
    let rule = world.rule(json!({"match": {"verbs": ["get"]}, "action": "notify"}));
    client.get(POD).await.unwrap();
    assert_eq!(world.handle().applied(rule), 1);
    drop(world.proxy);
    client.get(POD).await.unwrap_err();
}

/// Compares the median times of requests through the proxy and directly to the server. It uses the best of
/// several rounds, because a busy machine adds time that the proxy does not.
#[tokio::test(flavor = "multi_thread")]
async fn it_adds_less_than_a_millisecond() {
    const REQUESTS: usize = 200;
    let world = World::new().await;
    world.rule(json!({"match": {"verbs": ["create"], "resources": ["pods/binding"]}, "action": "notify"}));
    let mut best = Duration::MAX;
    for version in VERSIONS {
        let (through, direct) = (world.client(version), world.client_of(&world.server, version));
        for _ in 0..5 {
            let (mut proxied, mut plain) = (Vec::new(), Vec::new());
            for _ in 0..REQUESTS {
                for (client, times) in [(&through, &mut proxied), (&direct, &mut plain)] {
                    let begin = Instant::now();
                    client.get(POD).await.unwrap();
                    times.push(begin.elapsed());
                }
            }
            let median = |times: &mut Vec<Duration>| {
                times.sort();
                times[REQUESTS / 2]
            };
            let added = median(&mut proxied).saturating_sub(median(&mut plain));
            tracing::info!(?version, ?added, "the proxy adds");
            best = best.min(added);
        }
    }
    #[expect(clippy::print_stderr, reason = "the figure is what the test is run for")]
    {
        eprintln!("the proxy adds {best:?} to a request");
    }
    assert!(best <= Duration::from_millis(1), "{best:?}");
}
