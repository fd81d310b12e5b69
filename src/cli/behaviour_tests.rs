use conformance_contract::names;
use conformance_contract::target::Target;
use conformance_history::MarkName;
use conformance_history::testing::Story;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

const ID: &str = "waits/too-few-pods-on-pods";

/// The pod reports this reason; an empty reason means no condition.
fn recorded(reason: &str) -> History {
    let conditions = match reason {
        "" => json!([]),
        reason => json!([{"type": "PodScheduled", "status": "False", "reason": reason, "message": "2 of 3"}]),
    };
    let pod = json!({
        "kind": "Pod",
        "metadata": {"name": "waiting-0", "labels": {names::GANG: "waiting"}, "annotations": {"a": "b"}},
        "spec": {"containers": [{"name": "worker", "image": "pause".repeat(2000)}]},
        "status": {"conditions": conditions},
    });
    let mut history = Story::on(Target::AI_CONFORMANCE_VOLCANO)
        .added(pod)
        .mark(MarkName::of_case("observed"), Value::Null)
        .end();
    history.header.case = ID.into();
    history
}

fn observed(version: &str, rounds: &[History]) -> TempDir {
    answered(ID, version, rounds)
}

fn answered(id: &str, version: &str, rounds: &[History]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let observation = conformance_observe::observation(id).unwrap();
    let round = |(index, history): (usize, &History)| {
        let file = format!("histories/{index}.jsonl");
        let sha256 = write_history(&folder.path().join(&file), history).unwrap();
        (observation.answer(history), Some(Evidence { file, sha256, excerpt_of: None }))
    };
    let cell = conformance_observe::cell("volcano", version, rounds.iter().enumerate().map(round).collect());
    let question = conformance_observe::Question {
        id: id.into(),
        cells: vec![cell],
        ..conformance_observe::Question::default()
    };
    let document = Behaviour {
        api_version: Behaviour::API_VERSION.into(),
        kind: Behaviour::KIND.into(),
        kubernetes: "v1.36.5".into(),
        questions: vec![question],
        ..Behaviour::default()
    };
    home::write(&folder.path().join(DOCUMENT), document.write().unwrap()).unwrap();
    folder
}

fn published(folders: &[&TempDir]) -> TempDir {
    let results = tempfile::tempdir().unwrap();
    assert_eq!(publish_to(&results, folders).unwrap(), Exit::Conformant);
    results
}

fn publish_to(results: &TempDir, folders: &[&TempDir]) -> Result<Exit, Failure> {
    let folders = folders.iter().map(|folder| folder.path().to_owned()).collect();
    publish(&BehaviourArgs { folders, results: results.path().to_owned() })
}

fn excerpt_of(results: &TempDir, version: &str, name: &str) -> PathBuf {
    results.path().join(COLUMNS).join(format!("volcano-{version}-on-v1.36.5")).join(name)
}

#[test]
fn the_committed_answers_are_proven() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
    let found = problems(&results).unwrap();
    assert!(found.is_empty(), "{}", found.join("\n"));
    for column in read_columns(&results).unwrap() {
        assert!(column.rounds >= 5, "{}: {} rounds", folder_name(&column), column.rounds);
    }
}

#[test]
fn an_answer_is_published_with_an_excerpt() {
    let old = observed("v1.15.1", &[recorded("Unschedulable"), recorded("Unschedulable")]);
    let new = observed("v1.16.0", &[recorded("")]);
    let results = published(&[&new, &old]);
    let file = "waits-too-few-pods-on-pods.jsonl";
    let short = history(&excerpt_of(&results, "v1.15.1", file)).unwrap();
    let observation = conformance_observe::observation(ID).unwrap();
    assert_eq!(word(&observation.answer(&short)), "unschedulable");
    let text = std::fs::read_to_string(results.path().join(PAGE)).unwrap();
    assert!(
        text.contains(&format!("[unschedulable](behaviour/volcano-v1.15.1-on-v1.36.5/{file})")),
        "{text}"
    );
    assert!(text.contains("(v1.15.1 to v1.16.0): no-condition, was unschedulable"), "{text}");
}

#[test]
fn a_cell_that_varies_has_an_excerpt_for_each_answer() {
    let rounds = ["", "Unschedulable", "", "Unschedulable", ""].map(recorded);
    let results = tempfile::tempdir().unwrap();
    let published = publish_to(&results, &[&observed("v1.15.1", &rounds)]);
    assert_eq!(published.unwrap(), Exit::NotConformant, "it has no cause");
    let found = problems(results.path()).unwrap().join("\n");
    assert!(found.contains("write the cause") && found.contains("1 of 1 cells vary"), "{found}");
    for answer in ["no-condition", "unschedulable"] {
        let file = format!("waits-too-few-pods-on-pods-{answer}.jsonl");
        assert!(excerpt_of(&results, "v1.15.1", &file).is_file(), "{file}");
    }
}

#[test]
fn a_run_replaces_the_answers_of_its_version() {
    let results = published(&[&observed("v1.15.1", &[recorded("")])]);
    let again = observed("v1.15.1", &[recorded("Unschedulable")]);
    assert_eq!(publish_to(&results, &[&again]).unwrap(), Exit::Conformant);
    let text = std::fs::read_to_string(results.path().join(PAGE)).unwrap();
    assert!(text.contains("[unschedulable]") && !text.contains("[no-condition]"), "{text}");
    let twice = publish_to(&results, &[&again, &again]).unwrap_err().to_string();
    assert!(twice.contains("several folders have answers for"), "{twice}");
    let other = answered("waits/too-little-room-on-pods", "v1.15.1", &[recorded("")]);
    assert_eq!(publish_to(&results, &[&again, &other]).unwrap(), Exit::Conformant);
    let text = std::fs::read_to_string(results.path().join(PAGE)).unwrap();
    assert!(text.contains("[unschedulable]") && text.contains("[no-condition]"), "{text}");
}

/// Without a copy of KAI, `observe --backend all` has no answer for it.
#[test]
fn a_scheduler_without_answers_is_not_published() {
    let mut unanswered = recorded("");
    unanswered.entries.pop();
    let (open, answered) = (observed("v1.15.1", &[unanswered]), observed("v1.16.0", &[recorded("")]));
    let results = published(&[&open, &answered]);
    assert!(!excerpt_of(&results, "v1.15.1", DOCUMENT).exists());
    assert!(excerpt_of(&results, "v1.16.0", DOCUMENT).exists());
}

/// The other rounds of such a cell were lost.
#[test]
fn an_answer_of_too_few_rounds_has_no_excerpt() {
    let distribution = [("bound".to_owned(), 1)].into();
    let cell = Cell { outcome: Outcome::NoAnswer, distribution, ..Cell::default() };
    assert!(is_shown(&cell, "") && !is_shown(&cell, "bound"));
}

#[test]
fn a_changed_history_is_not_published() {
    let run = observed("v1.15.1", &[recorded("")]);
    write_history(&run.path().join("histories/0.jsonl"), &recorded("Unschedulable")).unwrap();
    let results = tempfile::tempdir().unwrap();
    let failure = publish_to(&results, &[&run]).unwrap_err().to_string();
    assert!(failure.contains("the digest of the file differs from that in behaviour.json"), "{failure}");
}

#[test]
fn answers_that_the_histories_do_not_give_are_not_published() {
    let run = observed("v1.15.1", &[recorded("")]);
    let path = run.path().join(DOCUMENT);
    let text = std::fs::read_to_string(&path).unwrap();
    home::write(&path, text.replace("\"no-condition\": 1", "\"unschedulable\": 1")).unwrap();
    let results = tempfile::tempdir().unwrap();
    let failure = publish_to(&results, &[&run]).unwrap_err().to_string();
    assert!(failure.contains("give other answers: observe again"), "{failure}");
}

#[rstest::rstest]
#[case::page("../../behaviour.md", Some("text"), "differs from its documents")]
#[case::foreign_file("stray.jsonl", Some("text"), "no document names this file")]
#[case::other_content("waits-too-few-pods-on-pods.jsonl", Some(""), "the history has no header")]
#[case::missing("waits-too-few-pods-on-pods.jsonl", None, "No such file")]
fn a_change_of_published_files_is_found(
    #[case] name: &str,
    #[case] content: Option<&str>,
    #[case] wanted: &str,
) {
    let results = published(&[&observed("v1.15.1", &[recorded("")])]);
    assert_eq!(problems(results.path()).unwrap(), Vec::<String>::new());
    let path = excerpt_of(&results, "v1.15.1", name);
    match content {
        Some(content) => std::fs::write(&path, content).unwrap(),
        None => std::fs::remove_file(&path).unwrap(),
    }
    let found = problems(results.path()).unwrap().join("\n");
    assert!(found.contains(wanted), "{found}");
}

/// The digest of the excerpt is correct, so only the replay finds the other answer.
#[test]
fn an_excerpt_with_another_answer_is_found() {
    let results = published(&[&observed("v1.15.1", &[recorded("")])]);
    let path = excerpt_of(&results, "v1.15.1", "waits-too-few-pods-on-pods.jsonl");
    let before = digest(&path).unwrap();
    let short = excerpt(conformance_observe::observation(ID).unwrap(), &recorded("Unschedulable")).unwrap();
    let after = write_history(&path, &short).unwrap();
    for file in [path.with_file_name(DOCUMENT), results.path().join(PAGE)] {
        let text = std::fs::read_to_string(&file).unwrap();
        home::write(&file, text.replace(&before, &after)).unwrap();
    }
    let found = problems(results.path()).unwrap().join("\n");
    assert!(
        found.contains("the excerpt gives the answer \"unschedulable\", which the table does not show there"),
        "{found}"
    );
}
