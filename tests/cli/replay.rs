use crate::{Cli, stderr, stdout};

/// A recording in kubectl's format: a gang of two. If `bound`, one pod is bound before the barrier.
fn recording(bound: bool) -> String {
    let pod = |name: &str, version: u32, node: &str| {
        let spec = if node.is_empty() { "{}".to_owned() } else { format!(r#"{{"nodeName":"{node}"}}"#) };
        format!(
            r#"{{"type":"MODIFIED","object":{{"kind":"Pod","metadata":{{"name":"{name}","uid":"{name}","namespace":"n","resourceVersion":"{version}","labels":{{"grove.io/podgang":"short-0","grove.io/podclique":"short-0-worker"}}}},"spec":{spec},"status":{{"conditions":[{{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/1 nodes"}}]}}}}}}"#
        )
    };
    [
        pod("a", 1, ""),
        pod("b", 2, ""),
        pod("a", 3, if bound { "node-1" } else { "" }),
        r#"{"type":"MARK","mark":"scheduler passed"}"#.to_owned(),
        pod("a", 4, "node-1"),
        pod("b", 5, "node-2"),
    ]
    .join("\n")
}

#[rstest::rstest]
#[case::bound_early(true, 1, "AON-02 fail")]
#[case::never_bound_early(false, 0, "AON-02 pass")]
fn a_recording_is_checked_offline(#[case] bound: bool, #[case] code: i32, #[case] expected: &str) {
    let cli = Cli::new();
    let manifest = cli.file(
        "short.yaml",
        "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: short}\nspec: {replicas: 1, template: \
         {cliques: [{name: worker, spec: {replicas: 2, podSpec: {}}}]}}\n",
    );
    let history = cli.file("history.jsonl", &recording(bound));
    let args =
        ["replay", &history, "--case", "aon/one-pod-short", "--manifest", &manifest, "--namespace", "n"];
    let output = cli.run(&args);
    assert_eq!(output.status.code(), Some(code), "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains(expected), "{}", stdout(&output));
    if bound {
        assert!(stdout(&output).contains("resourceVersion 3"), "the proof is missing: {}", stdout(&output));
    }
}

#[test]
fn a_failed_workload_names_the_known_deviation() {
    let header = r#"{"apiVersion":"conformance.grove.io/v1alpha1","kind":"History","case":"workload","target":"volcano","namespace":"n","submitted":{"short":{"kind":"PodCliqueSet","metadata":{"name":"short"},"spec":{"replicas":1,"template":{"cliques":[{"name":"worker","spec":{"replicas":2,"podSpec":{}}}]}}}}}"#;
    let cli = Cli::new();
    let history = cli.file("history.jsonl", &format!("{header}\n{}", recording(true)));
    let output = cli.run(&["replay", &history]);
    assert_eq!(output.status.code(), Some(1), "{}{}", stdout(&output), stderr(&output));
    let known = "\nknown: docs/findings/volcano.md, shown by case aon/nothing-requested on volcano";
    assert!(stdout(&output).contains(known), "{}", stdout(&output));
}
