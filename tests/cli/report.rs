use conformance_contract::clauses::CLAUSES;
use conformance_report::{CaseResult, Features, Judgement, Outcome, TargetReport, testing};

use crate::{Cli, assert_fails, stderr, stdout};

#[test]
fn a_file_that_is_not_a_report_is_not_merged() {
    let cli = Cli::new();
    let file = cli.file("pod.yaml", "apiVersion: v1\nkind: Pod\n");
    let output = cli.run(&["report", "merge", &file, "-o", "merged"]);
    assert_fails(&output, 2, &["ConformanceReport, found v1 Pod"]);
    assert!(!cli.home.path().join("merged").exists(), "nothing was written");
}

fn report_with(outcome: Outcome) -> String {
    let judgement = Judgement { clause: "AON-01".into(), outcome, violations: Vec::new() };
    let case = CaseResult::new("aon/exact-fit-bound", "a gang that fits", vec![judgement]);
    let target = TargetReport::new(
        "volcano",
        None,
        "v1.14.1",
        Features {
            supported: vec![conformance_contract::clauses::Feature::GangScheduling],
            ..Features::default()
        },
    );
    let report = testing::report(vec![target.conclude(CLAUSES.iter(), vec![case])]);
    serde_json::to_string(&report).expect("a report is JSON")
}

#[test]
fn reports_are_rendered_compared_and_tabulated() {
    let cli = Cli::new();
    for (folder, outcome) in [("old", Outcome::pass()), ("new", Outcome::fail("2 of 3 pods are bound"))] {
        std::fs::create_dir(cli.home.path().join(folder)).expect("a folder can be made");
        cli.file(&format!("{folder}/report.json"), &report_with(outcome));
    }
    let page = cli.run(&["report", "html", "old"]);
    assert_eq!(page.status.code(), Some(0), "{}", stderr(&page));
    let text = std::fs::read_to_string(cli.home.path().join("old/report.html")).expect("it is written");
    assert!(text.contains("<h1") && text.contains("AON-01"));
    for (args, code, expected) in [
        (["old", "new"], 1, "# Regressed: 1 clause, 1 feature"),
        (["new", "old"], 0, "# No regression"),
        (["old", "old"], 0, "# No regression"),
    ] {
        let output = cli.run(&["report", "compare", args[0], args[1]]);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", stderr(&output));
        assert!(stdout(&output).starts_with(expected), "{args:?}: {}", stdout(&output));
    }
    let both =
        cli.run(&["report", "compare", "old", "new", "--out", "new/changes.html", "--out", "changes.md"]);
    assert_eq!(both.status.code(), Some(1), "{}", stderr(&both));
    let text = std::fs::read_to_string(cli.home.path().join("new/changes.html")).expect("it is written");
    assert!(text.contains("href=\"report.html#AON-01\""), "{text}");
    assert!(cli.home.path().join("changes.md").exists());
    let table = cli.run(&["report", "table", "old", "new"]);
    assert_eq!(table.status.code(), Some(0), "{}", stderr(&table));
    assert!(stdout(&table).contains("| volcano |"), "{}", stdout(&table));
    let edited = report_with(Outcome::fail("x")).replacen("\"verdict\":\"fail\"", "\"verdict\":\"pass\"", 1);
    cli.file("old/report.json", &edited);
    let refused = cli.run(&["report", "evidence", "old/report.json"]);
    assert_fails(&refused, 2, &["the report contradicts itself"]);
}

#[test]
fn a_folder_without_results_is_not_recovered() {
    let cli = Cli::new();
    let output = cli.run(&["report", "recover", "nowhere"]);
    assert_fails(&output, 2, &["nowhere/results.jsonl: No such file"]);
    std::fs::create_dir(cli.home.path().join("killed")).expect("a folder can be made");
    cli.file("killed/results.jsonl", "");
    let output = cli.run(&["report", "recover", "killed"]);
    assert_fails(&output, 2, &["killed before its first case"]);
}

fn with_compact_report() -> Cli {
    let cli = Cli::new();
    for folder in ["full", "results"] {
        std::fs::create_dir(cli.home.path().join(folder)).expect("a folder can be made");
    }
    cli.file("full/report.json", &report_with(Outcome::fail("2 of 3 pods are bound")));
    cli.file(
        "README.md",
        "<!-- begin results: `grove-conformance report results` writes this part -->\n<!-- end results -->\n",
    );
    let commit = "a1".repeat(20);
    let args = ["report", "compact", "full", "--machine", "2 vCPU, 8 GB", "--commit", &commit];
    let output = cli.run(&[&args[..], &["--out", "results/volcano.json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    cli
}

#[test]
fn compact_reports_become_the_tables_of_two_pages() {
    let cli = with_compact_report();
    let check = cli.run(&["report", "results", "--check"]);
    assert_fails(&check, 2, &["results/README.md is out of date"]);
    for args in [&["report", "results"][..], &["report", "results", "--check"]] {
        let output = cli.run(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
    }
    for (file, link) in [("README.md", "](results/volcano.json)"), ("results/README.md", "](volcano.json)")] {
        let text = std::fs::read_to_string(cli.home.path().join(file)).expect("it is written");
        assert!(text.contains(link), "{file}: {text}");
    }
}

#[test]
fn a_contributed_report_is_checked_against_the_full_report() {
    let cli = with_compact_report();
    for args in [
        &["report", "check", "results/volcano.json"][..],
        &["report", "check", "results/volcano.json", "full"],
    ] {
        let output = cli.run(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
    }
    cli.file("full/report.json", &report_with(Outcome::pass()));
    let another = cli.run(&["report", "check", "results/volcano.json", "full"]);
    assert_fails(&another, 2, &["does not follow from these reports"]);
    let file = cli.home.path().join("results/volcano.json");
    let text = std::fs::read_to_string(&file).expect("it is written");
    std::fs::write(&file, text.replacen("\"AON-01\": \"fail\"", "\"AON-01\": \"pass\"", 1))
        .expect("it can be edited");
    for args in [&["report", "check", "results/volcano.json"][..], &["report", "results"]] {
        let edited = cli.run(args);
        assert_fails(&edited, 2, &["the counts do not follow from the clauses"]);
    }
}
