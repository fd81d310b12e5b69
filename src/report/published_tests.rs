use super::*;
use crate::{MergeInput, Report, Stated, fixture, write_compact};

fn published(file: &str, change: impl FnOnce(&mut Report)) -> Published {
    let mut report = fixture::all_backends();
    change(&mut report);
    let source = MergeInput { file: PathBuf::from(file), folder: PathBuf::new(), report };
    let stated = Stated { machine: "2 vCPU, 8 GB".to_owned(), commit: "a1".repeat(20), backends: Vec::new() };
    Published { file: file.to_owned(), report: CompactReport::of(vec![source], &stated).unwrap() }
}

fn of_grove(report: &mut Report) {
    report.operator.reference = false;
    report.operator.name = "grove-operator".to_owned();
    report.operator.organization = Some("ai-dynamo".to_owned());
    report.operator.url = Some("https://github.com/ai-dynamo/grove".to_owned());
    report.operator.commit = Some("b2".repeat(20));
}

fn both() -> Vec<Published> {
    vec![published("grove.json", of_grove), published("reference.json", |_| {})]
}

const README: &str = "# Title\n\n<!-- begin results: `grove-conformance report results` writes this part -->\n\
                      old\n<!-- end results -->\n\n## Next\n";

#[test]
fn every_operator_has_tables_under_its_name() {
    let page = results_page(&both());
    let of = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is not in {page}"));
    let reference = of("\n## Reference operator (grove-backend-controller)\n");
    let grove = of("\n## Operator grove-operator of ai-dynamo\n");
    assert!(reference < grove && grove < of("\n## Runs\n"), "{page}");
    let commit = "b2".repeat(20);
    of(&format!(
        "| [volcano v1.14.1](grove.json) | [b2b2b2b2](https://github.com/ai-dynamo/grove/commit/{commit}) |"
    ));
    of("| [default-scheduler v1.36.4 (PodGroup scope)](reference.json) | 0.1.0 |");
    of("[AON-02](../docs/contract/aon.md#aon-02)");
    of("| `grove-conformance run --backend default-scheduler` |");
}

#[test]
fn a_cell_counts_the_required_clauses_of_an_area() {
    use Verdict::{Fail, KnownDeviation, NotRun, Pass, Unsupported};
    assert_eq!(
        tally(&[Pass, Pass, Fail, NotRun, Unsupported, KnownDeviation]),
        "2/5, 1 fail, 1 deviate, 1 not run"
    );
    assert_eq!(tally(&[Unsupported]), "–");
    assert_eq!(tally(&[]), "–");
}

#[test]
fn an_older_contract_is_marked() {
    let older = published("old.json", |report| report.suite.contract = Some("0.1.0".to_owned()));
    assert!(results_page(&[older]).contains("| 0.1.0 (older) |"));
    assert_eq!(contract(VERSION), VERSION);
    assert_eq!(contract("9.0.0"), "9.0.0 (newer)");
    assert_eq!(contract("0.10.0"), "0.10.0 (newer)", "numbers are not compared as text");
}

#[test]
fn only_the_part_between_the_marks_is_replaced() {
    let written = with_results(README, &both()).unwrap();
    assert!(written.starts_with("# Title\n\n<!-- begin results") && written.ends_with("-->\n\n## Next\n"));
    assert!(written.contains("(results/grove.json)") && !written.contains("\nold\n"), "{written}");
    assert_eq!(with_results(&written, &both()).unwrap(), written);
    assert_eq!(with_results("# Title\n", &both()), None);
}

#[test]
fn a_folder_with_an_altered_report_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(read_published(folder.path()).unwrap().is_empty());
    for one in both() {
        write_compact(&folder.path().join(&one.file), &one.report).unwrap();
    }
    std::fs::write(folder.path().join("README.md"), "no report").unwrap();
    let found = read_published(folder.path()).unwrap();
    assert_eq!(results_page(&found), results_page(&both()));
    let path = folder.path().join("grove.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("\"fail\"", "\"pass\"", 1)).unwrap();
    let error = read_published(folder.path()).unwrap_err().to_string();
    assert!(error.contains("grove.json is not a valid compact report"), "{error}");
}

#[test]
fn the_published_pages_follow_from_the_published_reports() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let published = read_published(&root.join("results")).unwrap();
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    let hint = "is out of date: grove-conformance report results";
    assert!(read("results/README.md") == results_page(&published), "results/README.md {hint}");
    let readme = read("README.md");
    assert!(with_results(&readme, &published).as_ref() == Some(&readme), "README.md {hint}");
}
