//! Runs that are interrupted or killed.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::{Cli, processes_of, stderr, stdout};

/// Starts a run of a few cases, waits until one has passed, and sends it these signals in sequence. Returns
/// its output and exit code.
fn interrupted(cli: &Cli, signals: &[&str]) -> (String, Option<i32>) {
    let run = ["run", "aon", "--scope", "PodGroup", "--set", "execution.concurrency=2", "-o", "report"];
    let child = cli
        .command(&run)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program runs");
    let results = cli.home.path().join("report/results.jsonl");
    let begin = Instant::now();
    let has_passed =
        || std::fs::read_to_string(&results).is_ok_and(|text| text.contains(r#""verdict":"pass""#));
    while !has_passed() {
        assert!(begin.elapsed() < Duration::from_secs(120), "no case passed");
        std::thread::sleep(Duration::from_millis(50));
    }
    let begin = Instant::now();
    for signal in signals {
        let sent = Command::new("kill").args([*signal, &child.id().to_string()]).status().expect("kill runs");
        assert!(sent.success());
    }
    let output = child.wait_with_output().expect("it ends");
    // It takes 5 s on an idle machine. Other tests run at the same time.
    assert!(begin.elapsed() < Duration::from_secs(15), "it ended {:.1?} after the signal", begin.elapsed());
    (format!("{}{}", stdout(&output), stderr(&output)), output.status.code())
}

/// Needs the components, and Go once to build them.
#[rstest::rstest]
#[case("-INT", "interrupted: finishing", "SIGINT")]
#[case("-TERM", "terminated: finishing", "SIGTERM")]
fn an_interrupted_run_cleans_up_and_writes_an_incomplete_report(
    #[case] signal: &str,
    #[case] expected: &str,
    #[case] cause: &str,
) {
    let cli = Cli::new();
    let (said, code) = interrupted(&cli, &[signal]);
    assert_eq!(code, Some(3), "{said}");
    for text in [expected, &format!("Incomplete: interrupted ({cause});"), "wrote report/report.yaml"] {
        assert!(said.contains(text), "{text}: {said}");
    }
    let state = cli.home.path().join("state");
    assert_eq!(processes_of(&state), 0, "processes are left");
    let left: Vec<_> = std::fs::read_dir(state.join("clusters")).into_iter().flatten().flatten().collect();
    assert!(left.iter().all(|entry| !entry.path().is_dir()), "folders of clusters are left: {left:?}");
    let report = std::fs::read_to_string(cli.home.path().join("report/report.json")).expect("it is written");
    let report: serde_json::Value = serde_json::from_str(&report).expect("it is JSON");
    assert_eq!(report["incomplete"], true);
    let cases = report["targets"][0]["cases"].as_array().expect("it lists cases");
    let count_of = |verdict: &str| cases.iter().filter(|case| case["verdict"] == verdict).count();
    assert!(count_of("pass") >= 1, "what had ended is kept");
    let cut = |case: &&serde_json::Value| case["reasons"][0] == "interrupted" && case["attempts"] == 1;
    let cut: Vec<_> = cases.iter().filter(cut).collect();
    for case in &cut {
        let history = format!("report/{}/history.jsonl", case["artifacts"].as_str().expect("it is kept"));
        let replayed = cli.run(&["replay", &history]);
        assert_eq!(replayed.status.code(), Some(3), "{}", stdout(&replayed));
        assert!(stdout(&replayed).contains("not-run"), "{}", stdout(&replayed));
    }
    assert!(count_of("not-run") > cut.len(), "no case began after the signal");
    let merged = cli.run(&["report", "merge", "report/report.yaml", "-o", "merged"]);
    assert_eq!(merged.status.code(), Some(3), "{}", stderr(&merged));
}

/// Needs the components, and Go once to build them.
#[test]
fn a_report_is_recovered_from_a_killed_run() {
    let cli = Cli::new();
    let (said, code) = interrupted(&cli, &["-KILL"]);
    assert_eq!(code, None, "{said}");
    assert!(!cli.home.path().join("report/report.yaml").exists());
    let output = cli.run(&["report", "recover", "report"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stdout(&output).contains("Incomplete: the run was killed;"), "{}", stdout(&output));
    let report = std::fs::read_to_string(cli.home.path().join("report/report.json")).expect("it is written");
    let report: serde_json::Value = serde_json::from_str(&report).expect("it is JSON");
    let cases = report["targets"][0]["cases"].as_array().expect("it lists cases");
    assert!(cases.iter().any(|case| case["verdict"] == "pass"), "the case that had passed: {cases:?}");
    let again = cli.run(&["report", "recover", "report"]);
    assert_eq!(again.status.code(), Some(3), "{}", stderr(&again));
}
