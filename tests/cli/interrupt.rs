use std::process::Command;
use std::time::{Duration, Instant};

use crate::{Cli, processes_of, stderr, stdout};

/// Maximum time from the signal to the end of the run: on an idle machine, and while other tests run.
const IDLE_LIMIT: Duration = Duration::from_secs(5);
const BUSY_LIMIT: Duration = Duration::from_secs(15);

/// Sends the signals one after the other, once a case has passed. Returns the output and the exit code.
fn interrupted(cli: &Cli, signals: &[&str]) -> (String, Option<i32>) {
    let run = ["run", "aon", "--scope", "PodGroup", "--set", "execution.concurrency=2", "-o", "report"];
    let results = cli.home.path().join("report/results.jsonl");
    let has_passed =
        || std::fs::read_to_string(&results).is_ok_and(|text| text.contains(r#""verdict":"pass""#));
    interrupted_when(cli, &run, has_passed, signals, BUSY_LIMIT)
}

fn interrupted_when(
    cli: &Cli,
    args: &[&str],
    is_ready: impl Fn() -> bool,
    signals: &[&str],
    limit: Duration,
) -> (String, Option<i32>) {
    let child = cli
        .command(args)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program runs");
    let begin = Instant::now();
    while !is_ready() {
        assert!(
            begin.elapsed() < Duration::from_secs(120),
            "the program did not reach the state that the test waits for"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    let begin = Instant::now();
    for signal in signals {
        let sent = Command::new("kill").args([*signal, &child.id().to_string()]).status().expect("kill runs");
        assert!(sent.success());
    }
    let output = child.wait_with_output().expect("it ends");
    assert!(begin.elapsed() < limit, "the program ended {:.1?} after the signal", begin.elapsed());
    (format!("{}{}", stdout(&output), stderr(&output)), output.status.code())
}

fn assert_nothing_is_left(cli: &Cli) {
    let state = cli.home.path().join("state");
    assert_eq!(processes_of(&state), 0, "processes are left");
    let left: Vec<_> = std::fs::read_dir(state.join("clusters")).into_iter().flatten().flatten().collect();
    assert!(left.iter().all(|entry| !entry.path().is_dir()), "folders of clusters are left: {left:?}");
}

/// 125 gangs of 8 pods, which all fit. The signal comes after the API server has audited 1,000 requests about
/// pods: the operator's writes and the bindings.
#[rstest::rstest]
#[case("-INT", "SIGINT")]
#[case("-TERM", "SIGTERM")]
#[ignore = "needs an idle machine; ci/full runs it"]
fn a_workload_of_1000_pods_is_interrupted_within_5_seconds(#[case] signal: &str, #[case] cause: &str) {
    let cli = Cli::new();
    let file = cli.file(
        "w.yaml",
        "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: w}\nspec: {replicas: 125, template: \
         {cliques: [{name: a, spec: {roleName: a, replicas: 8, podSpec: {containers: [{name: c, image: none, \
         resources: {limits: {nvidia.com/gpu: 1}}}]}}}]}}\n",
    );
    let args = ["workload", &file, "--nodes", "125x8", "--scope", "PodGang", "-o", "report"];
    let clusters = cli.home.path().join("state/clusters");
    let has_many_pods = || {
        let folders = std::fs::read_dir(&clusters).into_iter().flatten().flatten();
        let logs = folders.filter_map(|folder| std::fs::read_to_string(folder.path().join("audit.log")).ok());
        logs.map(|log| log.matches(r#""resource":"pods""#).count()).max() >= Some(1_000)
    };
    let (said, code) = interrupted_when(&cli, &args, has_many_pods, &[signal], IDLE_LIMIT);
    assert_eq!(code, Some(3), "{said}");
    for text in ["cancelling 1 running case", &format!("Incomplete: interrupted ({cause});")] {
        assert!(said.contains(text), "{text}: {said}");
    }
    assert_nothing_is_left(&cli);
    let report = std::fs::read_to_string(cli.home.path().join("report/report.json")).expect("it is written");
    let report: serde_json::Value = serde_json::from_str(&report).expect("it is JSON");
    assert_eq!(report["incomplete"], true);
}

#[rstest::rstest]
#[case("-INT", "interrupted: cancelling", "SIGINT")]
#[case("-TERM", "terminated: cancelling", "SIGTERM")]
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
    assert_nothing_is_left(&cli);
    let report = std::fs::read_to_string(cli.home.path().join("report/report.json")).expect("it is written");
    let report: serde_json::Value = serde_json::from_str(&report).expect("it is JSON");
    assert_eq!(report["incomplete"], true);
    let cases = report["targets"][0]["cases"].as_array().expect("it lists cases");
    let count_of = |verdict: &str| cases.iter().filter(|case| case["verdict"] == verdict).count();
    assert!(count_of("pass") >= 1, "the results of ended cases are kept");
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
