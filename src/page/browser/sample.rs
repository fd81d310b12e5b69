//! A small report with histories: a partly bound gang, a case without a history, and one with a cut history.

use conformance_contract::clauses::{CLAUSES, Feature};
use conformance_contract::target::Target;
use conformance_history::testing::{Story, canary, gated, object, one_clique, one_clique_gang, worker};
use conformance_history::{History, SharedMark};
use conformance_report::{
    CaseResult, Features, Judgement, Outcome, Report, TargetReport, Violation, testing,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

pub(super) fn page() -> String {
    let folder = tempfile::tempdir().unwrap();
    let short = folder.path().join("artifacts/short");
    std::fs::create_dir_all(&short).unwrap();
    history().write(std::fs::File::create(short.join("history.jsonl")).unwrap()).unwrap();
    let cut = folder.path().join("artifacts/cut");
    std::fs::create_dir_all(&cut).unwrap();
    let text = std::fs::read_to_string(short.join("history.jsonl")).unwrap();
    let end = text.find('\n').unwrap() + 40;
    std::fs::write(cut.join("history.jsonl"), &text[..end]).unwrap();
    conformance_page::page(&report(), folder.path()).unwrap()
}

fn history() -> History {
    let pod = |index, node| worker("short", index, node);
    let story = Story::on(Target::VOLCANO)
        .added(object("Node", "n0"))
        .mark(SharedMark::Submitted, json!({"name": "short"}))
        .added(one_clique("short", 3))
        .later(1)
        .added(one_clique_gang("short", 3))
        .added(object("PodGroup.scheduling.volcano.sh", "short-0"));
    let story = story.all_added((0..3).map(|index| gated(pod(index, None)))).later(1);
    let mut history = (0..3)
        .fold(story, |story, index| story.modified(pod(index, None)))
        .added(canary("canary-0", None))
        .later(1)
        .modified(pod(0, Some("n0")))
        .modified(pod(1, Some("n1")))
        .modified(canary("canary-0", Some("c")))
        .mark(SharedMark::SchedulerPassed, Value::Null)
        .end();
    history.header.case = "aon/one-pod-short".into();
    history
}

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
    let target = TargetReport::new("volcano", None, "v1.14.1", features).conclude(CLAUSES.iter(), cases);
    // The history starts at the same time.
    Report { date: Timestamp::UNIX_EPOCH + SignedDuration::from_secs(10), ..testing::report(vec![target]) }
}
