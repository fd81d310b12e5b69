use std::collections::HashMap;
use std::sync::Mutex;

use http::{Request, Response};
use kube::client::Body;
use serde_json::json;
use tower_test::mock;

use conformance_contract::target::Target;
use conformance_history::{KINDS, What};

use super::watching::WATCH_LIMIT;
use super::*;

/// Status code and body. A watch stays open if no response is left, or if the code is [`SILENCE`].
type Answer = (u16, String);

const SILENCE: u16 = 0;

/// Responses to lists and watches by plural, in order. The last response to a list repeats.
#[derive(Default)]
struct Server {
    lists: HashMap<&'static str, Vec<Answer>>,
    watches: HashMap<&'static str, Vec<Answer>>,
    requests: Vec<String>,
}

impl Server {
    fn list(mut self, plural: &'static str, answers: Vec<Answer>) -> Self {
        self.lists.insert(plural, answers);
        self
    }

    fn watch(mut self, plural: &'static str, answers: Vec<Answer>) -> Self {
        self.watches.insert(plural, answers);
        self
    }

    fn answer(&mut self, request: &Request<Body>) -> Option<Answer> {
        let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
        self.requests.push(format!("{path}?{query}"));
        if path == "/apis" {
            return Some((200, json!({"kind": "APIGroupList", "groups": []}).to_string()));
        }
        let plural = path.rsplit('/').next().unwrap_or_default();
        let next = |answers: Option<&mut Vec<Answer>>, repeats_last: bool| {
            let answers = answers?;
            match answers.len() {
                0 => None,
                1 if repeats_last => answers.first().cloned(),
                _ => Some(answers.remove(0)),
            }
        };
        if !query.contains("watch=true") {
            return next(self.lists.get_mut(plural), true).or_else(|| Some(listed(1, &[])));
        }
        // The first watch of each kind is accepted, as by a real API server, and then ends.
        let plural = self.watches.entry(KINDS.iter().find(|kind| kind.plural == plural)?.plural);
        next(Some(plural.or_insert_with(|| vec![watched(&[])])), false).filter(|(code, _)| *code != SILENCE)
    }

    fn start(self) -> (Client, Arc<Mutex<Self>>) {
        let (service, mut handle) = mock::pair::<Request<Body>, Response<Body>>();
        let server = Arc::new(Mutex::new(self));
        let answers = server.clone();
        tokio::spawn(async move {
            let mut open = Vec::new();
            while let Some((request, send)) = handle.next_request().await {
                let answer = answers.lock().unwrap().answer(&request);
                match answer {
                    Some((code, body)) => {
                        let body = Body::from(body.into_bytes());
                        send.send_response(Response::builder().status(code).body(body).unwrap());
                    }
                    None => open.push(send),
                }
            }
        });
        (Client::new(service, "default"), server)
    }
}

fn pod(name: &str, version: u64) -> Value {
    json!({"metadata": {"namespace": "ns", "name": name, "resourceVersion": version.to_string()}})
}

fn listed(version: u64, items: &[Value]) -> Answer {
    let metadata = json!({"resourceVersion": version.to_string()});
    (200, json!({"metadata": metadata, "items": items}).to_string())
}

fn watched(events: &[(&str, Value)]) -> Answer {
    let line =
        |(change, object): &(&str, Value)| json!({"type": change, "object": object}).to_string() + "\n";
    (200, events.iter().map(line).collect())
}

fn refused(code: u16, reason: &str) -> Answer {
    (code, json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": reason}).to_string())
}

const LIMIT: Duration = Duration::from_secs(20);

async fn recorder(server: Server) -> (Recorder, Tracked) {
    let recorder = Recorder::start(server.start().0, &BTreeSet::new(), &KINDS, LIMIT).await.unwrap();
    let tracked = recorder.track("ns", |_| false);
    (recorder, tracked)
}

fn lines(recorder: &Recorder) -> Vec<String> {
    let header = Header::new("test/case", Target::KUBE_POD_GROUP, "ns", Default::default());
    let line = |entry: &Entry| match &entry.what {
        What::Object(recorded) => {
            format!("{:?} {}", recorded.change, recorded.object["metadata"]["name"].as_str().unwrap())
        }
        What::Gap(gap) => format!("gap of {}: {}", gap.kind, gap.reason),
        What::Mark(mark) => mark.name.clone(),
    };
    recorder.history(header).entries.iter().map(line).collect()
}

async fn until(recorder: &Recorder, length: usize) -> Vec<String> {
    let mut changes = recorder.follow("ns");
    tokio::time::timeout(LIMIT, changes.wait_for(|now| *now >= length)).await.expect("in time").unwrap();
    lines(recorder)
}

#[rstest::rstest]
#[case::list(
    Server::default().list("pods", vec![refused(403, "no")]).list("nodes", vec![refused(403, "no")]),
    "this identity may not list nodes, list pods: no"
)]
#[case::watch(
    Server::default().watch("podgangs", vec![refused(403, "no"), refused(403, "no"), refused(403, "no")]),
    "this identity may not watch podgangs.scheduler.grove.io: no"
)]
#[tokio::test(start_paused = true)]
async fn every_missing_permission_is_named(#[case] server: Server, #[case] message: &str) {
    let error = Recorder::start(server.start().0, &BTreeSet::new(), &KINDS, LIMIT).await.err().unwrap();
    assert_eq!(error.to_string(), message);
}

#[rstest::rstest]
#[case::refused_once(vec![refused(403, "not yet"), listed(1, &[])])]
#[case::not_served(vec![refused(404, "NotFound")])]
#[case::late(vec![refused(500, "InternalError"), refused(503, "Overloaded"), listed(1, &[])])]
#[tokio::test(start_paused = true)]
async fn a_transient_error_of_a_list_is_no_failure(#[case] lists: Vec<Answer>) {
    let (recorder, _tracked) = recorder(Server::default().list("podgangs", lists)).await;
    assert_eq!(recorder.failure(), None);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_cannot_be_listed_is_named() {
    let server = Server::default().list("services", vec![refused(500, "InternalError")]);
    let error = Recorder::start(server.start().0, &BTreeSet::new(), &KINDS, LIMIT).await.err().unwrap();
    assert_eq!(error.to_string(), "the recorder could not list and watch Service within 20 s: InternalError");
}

#[tokio::test(start_paused = true)]
async fn a_watch_resumes_at_its_last_version() {
    let events = vec![
        watched(&[]),
        watched(&[
            ("ADDED", pod("p", 5)),
            ("BOOKMARK", json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": "8"}})),
        ]),
        refused(500, "InternalError"),
        watched(&[("DELETED", pod("p", 9))]),
    ];
    let (client, server) = Server::default().watch("pods", events).start();
    // The first watch ends immediately. The second watch starts after `track`, because nothing here waits.
    let recorder = Recorder::start(client, &BTreeSet::new(), &KINDS, LIMIT).await.unwrap();
    let _tracked = recorder.track("ns", |_| false);
    let log = until(&recorder, 1).await;
    assert_eq!(log.last().map(String::as_str), Some("Deleted p"), "{log:?}");
    let requests = server.lock().unwrap().requests.clone();
    let from = |version: u64| format!("timeoutSeconds=290&resourceVersion={version}");
    for version in [1, 8] {
        let wanted = from(version);
        assert!(
            requests.iter().any(|path| path.contains("/pods?watch") && path.ends_with(&wanted)),
            "{requests:#?}"
        );
    }
    assert_eq!(recorder.failure(), None);
}

#[rstest::rstest]
#[case::refused(refused(410, "too old"))]
#[case::watched(watched(&[("ERROR", json!({"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old"}))]))]
#[tokio::test(start_paused = true)]
async fn a_lost_watch_leaves_a_gap(#[case] lost: Answer) {
    let lists = vec![listed(5, &[]), listed(9, &[pod("new", 7)])];
    let pods = vec![watched(&[]), refused(500, "away"), lost];
    let (recorder, _tracked) = recorder(Server::default().list("pods", lists).watch("pods", pods)).await;
    assert_eq!(until(&recorder, 2).await, ["gap of Pod: too old", "Added new"]);
}

#[rstest::rstest]
#[case::no_objects(vec![listed(1, &[])], None)]
#[case::behind(
    vec![listed(1, &[]), listed(9, &[pod("p", 7)])],
    Some("the watches did not deliver Pod p at resourceVersion 7 within 20 s")
)]
#[case::refused(vec![listed(1, &[]), refused(500, "broken")], Some("failed to list Pod for comparison: "))]
#[tokio::test(start_paused = true)]
async fn settle_reports_why_a_log_is_incomplete(#[case] lists: Vec<Answer>, #[case] reason: Option<&str>) {
    let (recorder, _tracked) = recorder(Server::default().list("pods", lists)).await;
    let settled = recorder.settle("ns", LIMIT).await.map_err(|error| error.to_string());
    match reason {
        None => assert_eq!(settled, Ok(())),
        Some(reason) => {
            assert!(settled.as_ref().is_err_and(|error| error.starts_with(reason)), "{settled:?}")
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_does_not_deliver_a_listed_object_restarts() {
    let watches = vec![watched(&[]), (SILENCE, String::new()), watched(&[("ADDED", pod("p", 7))])];
    let lists = vec![listed(1, &[]), listed(9, &[pod("p", 7)])];
    let (recorder, _tracked) = recorder(Server::default().list("pods", lists).watch("pods", watches)).await;
    recorder.settle("ns", LIMIT).await.unwrap();
    assert_eq!(lines(&recorder), ["Added p"], "without a gap, because it resumes at its last version");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_lost_its_connection_restarts() {
    let watches = vec![watched(&[]), (SILENCE, String::new()), watched(&[("ADDED", pod("p", 7))])];
    let (recorder, _tracked) = recorder(Server::default().watch("pods", watches)).await;
    let mut changes = recorder.follow("ns");
    let delivered = changes.wait_for(|length| *length > 0);
    tokio::time::timeout(2 * WATCH_LIMIT, delivered).await.expect("in time").unwrap();
    assert_eq!(lines(&recorder), ["Added p"], "without a gap, because it resumes at its last version");
}

#[tokio::test(start_paused = true)]
async fn a_long_list_is_requested_in_pages() {
    let more = json!({"metadata": {"resourceVersion": "5", "continue": "more"}, "items": [pod("a", 3)]});
    let (client, server) =
        Server::default().list("pods", vec![(200, more.to_string()), listed(5, &[pod("b", 4)])]).start();
    let (version, items) = list(&client, Kind::named("Pod").unwrap(), Some("ns")).await.unwrap();
    assert_eq!((version.as_str(), items.len()), ("5", 2));
    let requests = server.lock().unwrap().requests.clone();
    assert_eq!(
        requests,
        ["/api/v1/namespaces/ns/pods?limit=500", "/api/v1/namespaces/ns/pods?limit=500&continue=more"]
    );
}
