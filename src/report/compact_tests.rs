use conformance_contract::verdict::Outcome;

use super::*;
use crate::fixture;

fn source(name: &str, report: Report) -> MergeInput {
    MergeInput { file: PathBuf::from(name), folder: PathBuf::new(), report }
}

fn stated() -> Stated {
    Stated { machine: "2 vCPU, 8 GB".to_owned(), commit: "a1".repeat(20), backends: Vec::new() }
}

fn runs() -> Vec<MergeInput> {
    let mut kind = fixture::report();
    kind.provider.name = "kind".to_owned();
    kind.command = "grove-conformance run --provider kind -o /somewhere/kind".to_owned();
    kind.date = "2026-12-02T10:00:42Z".parse().unwrap();
    vec![source("kind", kind), source("local", fixture::report())]
}

fn compact() -> CompactReport {
    CompactReport::of(runs(), &stated()).unwrap()
}

#[test]
fn a_compact_report_has_each_verdict_once_and_the_command_of_each_run() {
    let compact = compact();
    let commands: Vec<&str> = compact.runs.iter().map(|run| run.command.as_str()).collect();
    assert_eq!(
        commands,
        ["grove-conformance run --backend default-scheduler", "grove-conformance run --provider kind"]
    );
    assert_eq!(compact.date, compact.runs[1].date, "the last run");
    assert_ne!(compact.runs[0].report, compact.runs[1].report);
    let report = fixture::report();
    let (target, full) = (&compact.targets[0], &report.targets[0]);
    assert_eq!(target.title(), "default-scheduler v1.36.4 (PodGroup scope)");
    let mut verdicts = target.clauses.values().flatten().map(|(id, verdict)| (id.as_str(), *verdict));
    assert!(verdicts.clone().any(|found| found == ("AON-02", Verdict::Fail)));
    assert_eq!(verdicts.clone().count(), full.clauses.len());
    assert!(verdicts.all(|(id, verdict)| {
        full.clauses.iter().any(|clause| clause.id == id && clause.outcome.verdict == verdict)
    }));
    assert_eq!(target.counts["AON"][&Level::Required]["fail"], 1);
    assert_eq!(compact.problems(), [] as [String; 0]);
}

#[test]
fn the_order_of_the_reports_does_not_matter() {
    let mut reversed = runs();
    reversed.reverse();
    assert_eq!(CompactReport::of(reversed, &stated()).unwrap(), compact());
}

#[test]
fn one_backend_of_many_can_be_selected() {
    let of = |backend: &str| {
        let stated = Stated { backends: vec![backend.to_owned()], ..stated() };
        CompactReport::of(vec![source("all", fixture::all_backends())], &stated)
    };
    let volcano = of("volcano").unwrap();
    assert_eq!(volcano.targets.iter().map(CompactTarget::title).collect::<Vec<_>>(), ["volcano v1.14.1"]);
    volcano.verify(vec![source("all", fixture::all_backends())]).unwrap();
    assert!(matches!(of("yunikorn").unwrap_err(), CompactError::NoTarget(name) if name == "yunikorn"));
}

#[test]
fn a_written_compact_report_is_read_back_and_verified() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("volcano.json");
    write_compact(&path, &compact()).unwrap();
    let read = read_compact(&path).unwrap();
    assert_eq!(read, compact());
    read.verify(runs()).unwrap();
}

/// Each edit replaces the first occurrence.
#[rstest::rstest]
#[case::verdict("\"AON-02\": \"fail\"", "\"AON-02\": \"pass\"", "digest: found")]
#[case::counts_too(
    "\"AON-02\": \"fail\"",
    "\"AON-02\": \"pass\"",
    "the counts do not follow from the clauses"
)]
#[case::clause("\"AON-02\": \"fail\"", "\"AON-99\": \"fail\"", "has no required clause AON-99")]
#[case::unknown_field("\"machine\":", "\"mood\": \"good\",\n  \"machine\":", "unknown field `mood`")]
#[case::spaces("\"machine\": ", "\"machine\":  ", "the text differs from what `report compact` writes")]
#[case::machine("2 vCPU, 8 GB", " ", "machine: state the processors")]
#[case::commit("\"commit\": \"a1", "\"commit\": \"A1", "want 40 hexadecimal digits")]
#[case::verdict_word("\"AON-02\": \"fail\"", "\"AON-02\": \"failed\"", "unknown variant `failed`")]
fn an_altered_compact_report_is_refused(#[case] before: &str, #[case] after: &str, #[case] message: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("volcano.json");
    let text = compact().text().unwrap();
    assert!(text.contains(before), "{text}");
    std::fs::write(&path, text.replacen(before, after, 1)).unwrap();
    let error = read_compact(&path).unwrap_err().to_string();
    assert!(error.contains(message), "{error}");
}

#[test]
fn a_consistent_forgery_does_not_follow_from_the_reports() {
    let mut forged = compact();
    let required = forged.targets[0].clauses.get_mut(&Level::Required).unwrap();
    required.insert("AON-02".to_owned(), Verdict::Pass);
    forged.targets[0].counts = counts(&forged.targets[0].clauses);
    forged.digest = forged.own_digest().unwrap();
    assert_eq!(forged.problems(), [] as [String; 0]);
    let error = forged.verify(runs()).unwrap_err().to_string();
    assert!(error.contains("digest, targets differ"), "{error}");
}

#[test]
fn an_older_contract_is_accepted() {
    let mut older = runs();
    for source in &mut older {
        source.report.suite.contract = Some("0.1.0".to_owned());
    }
    let mut compact = CompactReport::of(older.clone(), &stated()).unwrap();
    compact.targets[0].result = "a headline of that version".to_owned();
    compact.digest = compact.own_digest().unwrap();
    assert_eq!(compact.problems(), [] as [String; 0]);
    compact.verify(older).unwrap();
}

#[test]
fn incomplete_edited_and_merged_reports_are_refused() {
    let refused = |report: Report| {
        CompactReport::of(vec![source("one/report.yaml", report)], &stated()).unwrap_err().to_string()
    };
    assert!(refused(fixture::interrupted()).contains("an incomplete report is not published"));
    let mut edited = fixture::report();
    edited.targets[0].clauses[0].outcome = Outcome::fail("edited");
    assert!(refused(edited).starts_with("one/report.yaml: the report contradicts itself"));
    let mut merged = fixture::report();
    merged.command = "grove-conformance -v report merge a b -o c".to_owned();
    assert!(refused(merged).contains("give the reports of the runs"));
    let mut other = fixture::report();
    other.suite.version = "9.9.9".to_owned();
    let sources = vec![source("one", fixture::report()), source("other", other)];
    let error = CompactReport::of(sources, &stated()).unwrap_err().to_string();
    assert!(error.contains("are not about the same version of the suite"), "{error}");
    assert!(CompactReport::of(Vec::new(), &stated()).is_err());
}

#[rstest::rstest]
#[case("grove-conformance run -o /r/one aon", "grove-conformance run aon")]
#[case("grove-conformance run aon --output /r/one", "grove-conformance run aon")]
#[case("grove-conformance run --output=/r/one aon", "grove-conformance run aon")]
#[case("grove-conformance run -o '/r/one two' aon", "grove-conformance run -o '/r/one two' aon")]
fn a_command_is_published_without_its_folder(#[case] command: &str, #[case] published: &str) {
    assert_eq!(without_output(command), published);
}
