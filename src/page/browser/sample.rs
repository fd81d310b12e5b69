//! A report with its histories, small and made by hand: a gang that is bound in part, a case without a history, and one whose
//! history is broken.

use conformance_contract::clauses::{CLAUSES, Feature};
use conformance_contract::target::Target;
use conformance_history::testing::{Story, its_gang, object, one_clique};
use conformance_history::{History, SharedMark};
use conformance_report::{CaseResult, Features, Judgement, Outcome, ProfileReport, Report, Violation};
use serde_json::{Value, json};

/// Its folder.
pub(super) fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let short = folder.path().join("artifacts/short");
    std::fs::create_dir_all(&short).unwrap();
    history().write(std::fs::File::create(short.join("history.jsonl")).unwrap()).unwrap();
    let cut = folder.path().join("artifacts/cut");
    std::fs::create_dir_all(&cut).unwrap();
    let text = std::fs::read_to_string(short.join("history.jsonl")).unwrap();
    let end = text.find('\n').unwrap() + 40;
    std::fs::write(cut.join("history.jsonl"), &text[..end]).unwrap();
    let page = conformance_page::page(&report(), folder.path()).unwrap();
    std::fs::write(folder.path().join("report.html"), page).unwrap();
    folder
}

fn pod(index: u32, gated: bool, node: Option<&str>) -> Value {
    let gates = if gated { json!([{"name": "grove.io/podgang-pending-creation"}]) } else { json!([]) };
    let labels = json!({
        "grove.io/podgang": "short-0",
        "grove.io/podclique": "short-0-worker",
        "grove.io/podclique-pod-index": index.to_string(),
    });
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": format!("short-0-worker-{index}"), "labels": labels},
        "spec": {"schedulerName": "volcano", "schedulingGates": gates, "nodeName": node},
    })
}

fn canary(node: Option<&str>) -> Value {
    let labels = json!({"conformance.grove.io/canary": "true"});
    json!({"kind": "Pod", "metadata": {"name": "canary-0", "labels": labels}, "spec": {"nodeName": node}})
}

fn history() -> History {
    let pods = |story: Story, gated| {
        (0..3).fold(story, |story, index| match gated {
            true => story.added(pod(index, true, None)),
            false => story.modified(pod(index, false, None)),
        })
    };
    let story = Story::on(Target::VOLCANO)
        .added(object("Node", "n0"))
        .mark(SharedMark::Submitted, json!({"name": "short"}))
        .added(one_clique("short", 3))
        .later(1)
        .added(its_gang("short", 3))
        .added(object("PodGroup.scheduling.volcano.sh", "short-0"));
    let story = pods(pods(story, true).later(1), false);
    let mut history = story
        .added(canary(None))
        .later(1)
        .modified(pod(0, false, Some("n0")))
        .modified(pod(1, false, Some("n1")))
        .modified(canary(Some("c")))
        .mark(SharedMark::SchedulerPassed, Value::Null)
        .end();
    history.header.case = "aon/one-pod-short".into();
    history
}

/// The resourceVersion of a pod's binding in the history.
fn bound(name: &str) -> String {
    let history = history();
    let version = history.named("Pod", name).find(|version| version.pod().node().is_some()).unwrap();
    version.revision().to_string()
}

fn report() -> Report {
    let proof = |name: &str, node: &str| json!({"what": format!("bound to {node}"), "kind": "Pod", "namespace": "ns", "name": name, "resourceVersion": bound(name)});
    let violation = json!({
        "case": "aon/one-pod-short",
        "code": "bound-in-part",
        "message": "2 of 3 pods are bound",
        "proof": [proof("short-0-worker-0", "n0"), proof("short-0-worker-1", "n1")],
    });
    let violation: Violation = serde_json::from_value(violation).unwrap();
    let case = |id: &str, clause: &str, outcome: Outcome, violations, artifacts: &str| {
        let judgement = Judgement { clause: clause.into(), outcome, violations };
        CaseResult {
            artifacts: Some(format!("artifacts/{artifacts}")),
            ..CaseResult::new(id, "a gang", vec![judgement])
        }
    };
    let features = Features { supported: vec![Feature::TopologyRequired], ..Features::default() };
    let cases = vec![
        case("aon/one-pod-short", "AON-02", Outcome::fail("2 of 3 pods are bound"), vec![violation], "short"),
        case("aon/fits", "AON-01", Outcome::pass(), Vec::new(), "fits"),
        case("aon/cut", "AON-03", Outcome::pass(), Vec::new(), "cut"),
    ];
    let profile = ProfileReport::new("volcano", None, "v1.14.1", features).conclude(CLAUSES, cases);
    serde_json::from_value(json!({
        "apiVersion": "conformance.grove.io/v1alpha1",
        "kind": "ConformanceReport",
        "date": "1970-01-01T00:00:10Z",
        "suite": {"version": env!("CARGO_PKG_VERSION")},
        "command": "grove-conformance run",
        "implementation": {"name": "sample", "version": "1", "ours": false},
        "provider": {"name": "local", "kubernetesVersion": "v1.36.4"},
        "components": [],
        "settings": {"timeoutScale": 1.0, "concurrency": 1},
        "profiles": [profile],
        "timings": {"buildSeconds": 0.0, "clusterReadySeconds": 1.0, "totalSeconds": 10.0},
    }))
    .unwrap()
}
