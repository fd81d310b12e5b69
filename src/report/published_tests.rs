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
    of(" | [volcano v1.14.1](grove.json) |\n|---");
    of("| [default-scheduler v1.36.4 (PodGroup scope)](reference.json) | 0.1.0 | not conformant: ");
    of("[AON-02](../docs/contract/aon.md#aon-02)");
    of("| `grove-conformance run --backend default-scheduler` |");
}

/// A report of one target, with an admission clause, two gang clauses and a recommendation.
fn small(file: &str, commit: &str, contract: &str, bound: Verdict) -> Published {
    let required = [("ADM-04", Verdict::Pass), ("AON-02", bound), ("AON-03", Verdict::Pass)];
    let of_level = |clauses: &[(&str, Verdict)]| {
        clauses.iter().map(|(id, verdict)| ((*id).to_owned(), *verdict)).collect::<BTreeMap<_, _>>()
    };
    let target = CompactTarget {
        backend: "volcano".to_owned(),
        variant: None,
        version: "v1.15.1".to_owned(),
        result: format!("the result of {file}"),
        counts: BTreeMap::new(),
        clauses: BTreeMap::from([
            (Level::Required, of_level(&required)),
            (Level::Recommended, of_level(&[("STAT-09", Verdict::Fail)])),
        ]),
    };
    let mut published = published(file, of_grove);
    let report = &mut published.report;
    report.operator.commit = Some(commit.repeat(20));
    report.suite = "0.2.0".to_owned();
    report.contract = contract.to_owned();
    report.date = "2026-11-29T10:00:00Z".parse().unwrap();
    report.targets = vec![target];
    published
}

#[test]
fn the_tables_of_two_commits_name_result_machine_commit_date_and_contract() {
    let reports =
        [small("new.json", "c3", VERSION, Verdict::Fail), small("old.json", "d4", "0.1.0", Verdict::Pass)];
    let page = results_page(&reports);
    let link = |commit: &str| {
        let whole = commit.repeat(20);
        format!("[{}](https://github.com/ai-dynamo/grove/commit/{whole})", &whole[..8])
    };
    let [new, old] = ["c3", "d4"].map(link);
    let results = format!(
        "\
| scheduler | operator | result | machine | suite | date | contract |
|---|---|---|---|---|---|---|
| [volcano v1.15.1](new.json) | {new} | the result of new.json | 2 vCPU, 8 GB | 0.2.0 at a1a1a1a1 | 2026-11-29 | {VERSION} |
| [volcano v1.15.1](old.json) | {old} | the result of old.json | 2 vCPU, 8 GB | 0.2.0 at a1a1a1a1 | 2026-11-29 | 0.1.0 (older) |
"
    );
    assert!(page.contains(&results), "{page}");
    let matrix = format!(
        "\
| operator | {new} | {old} |
| contract | {VERSION} | 0.1.0 (older) |
| admission | 1/1 | 1/1 |
| gang creation | – | – |
| all-or-nothing | 1/2, 1 fail | 2/2 |
"
    );
    assert!(page.contains(&matrix), "{page}");
    let readme = with_results(README, &reports).unwrap();
    let matrix = format!(
        "
### Operator grove-operator of ai-dynamo

| scheduler | [volcano v1.15.1](results/new.json) | [volcano v1.15.1](results/old.json) |
|---|---|---|
| operator | {new} | {old} |
| contract | {VERSION} | 0.1.0 (older) |
| gang creation | – | – |
| all-or-nothing | 1/2, 1 fail | 2/2 |
| topology | – | – |
| deletion | – | – |
| lifecycle | – | – |
| contention | – | – |
| recommended | 0/1, 1 fail | 0/1, 1 fail |
<!-- end results -->
"
    );
    assert!(readme.contains(&matrix), "{readme}");
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
