use std::path::Path;

use crate::{Cli, assert_fails, processes_of, stderr, stdout};

const SET: &str = "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: w}\nspec: {replicas: 1, template: \
                   {cliques: [{name: a, spec: {roleName: a, replicas: 2, podSpec: {containers: [{name: c}]}}}]}}\n";

#[test]
fn invalid_yaml_is_reported_with_its_line() {
    let cli = Cli::new();
    let file = cli.file("w.yaml", "kind: [");
    let output = cli.run(&["workload", &file, "--nodes", "8x8"]);
    assert_fails(&output, 2, &["line"]);
}

#[rstest::rstest]
#[case::gzip(b"\x1f\x8b\x08", "w.yaml: the file is compressed with gzip: decompress it with gunzip")]
#[case::not_utf_8(b"a: \xfc", "w.yaml: the file is not UTF-8 at byte 3 (from 0): save it as UTF-8")]
#[case::empty(b"", "w.yaml: the manifest has no PodCliqueSet: add one of apiVersion grove.io/v1alpha1")]
#[case::template(
    b"kind: PodCliqueSet\nmetadata:\n  name: {{ .Release.Name }}\n",
    "line 3 has {{, so the file may be a template: render it first, for example with helm template"
)]
#[case::values(
    b"image: v1\n",
    "w.yaml: document 1: kind is missing: if the file has Helm values, render the chart"
)]
fn a_file_that_is_no_manifest_is_a_usage_error(#[case] bytes: &[u8], #[case] expected: &str) {
    let cli = Cli::new();
    std::fs::write(cli.home.path().join("w.yaml"), bytes).expect("a file can be written");
    let output = cli.run(&["workload", "w.yaml", "--nodes", "4x8"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains(expected), "{}", stderr(&output));
}

#[test]
fn standard_input_is_a_usage_error() {
    let output = Cli::new().run(&["workload", "-", "--nodes", "4x8"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("save it to a file, and pass the file"), "{}", stderr(&output));
}

const LARGE: &str = r#"{
	"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": {"name": "w"},
	"spec": {"replicas": 1, "template": {"cliques": [{"name": "a", "spec": {"roleName": "a", "replicas": 9, "podSpec": {
		"containers": [{"name": "c", "image": "registry.k8s.io\/pause:3.10", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}}}]}}
}
"#;

#[rstest::rstest]
#[case::json(LARGE.to_owned())]
#[case::json_in_windows_format(format!("\u{feff}{}", LARGE.replace('\n', "\r\n")))]
#[case::yaml_in_windows_format(format!(
    "\u{feff}{}",
    SET.replace("replicas: 2", "replicas: 9")
        .replace("{name: c}", "{name: c, stdin: no, resources: {limits: {nvidia.com/gpu: 8}}}")
        .replace('\n', "\r\n")
))]
fn json_and_files_of_windows_are_read(#[case] text: String) {
    let cli = Cli::new();
    let file = cli.file("w.yaml", &text);
    let output = cli.run(&["workload", &file, "--nodes", "4x8"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("9 pods request 72 nvidia.com/gpu"), "{}", stderr(&output));
}

#[rstest::rstest]
#[case::request(
    "containers: [{name: c, resources: {requests: {rdma/ib: 8}}}]",
    "spec.template.cliques[0].spec.podSpec.containers[0].resources.requests[\"rdma/ib\"]: each pod of PodClique w-0-a \
     requests 8 rdma/ib, and no node has rdma/ib"
)]
#[case::scheduler("schedulerName: volcano", "pass --backend volcano, or remove the field")]
fn a_workload_that_fits_no_node_is_a_usage_error(#[case] pod_spec: &str, #[case] expected: &str) {
    let cli = Cli::new();
    let file = cli.file(
        "w.yaml",
        &format!(
            "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {{name: w}}\nspec: {{replicas: 1, template: \
             {{cliques: [{{name: a, spec: {{roleName: a, replicas: 2, podSpec: {{{pod_spec}}}}}}}]}}}}\n"
        ),
    );
    let output = cli.run(&["workload", &file, "--nodes", "4x8,2x4", "--backend", "default-scheduler"]);
    assert_fails(&output, 2, &[expected]);
}

#[rstest::rstest]
#[case::unknown_kind(
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n",
    &[],
    "document 2: Deployment of apps/v1 is not supported: remove the document; a manifest can have PodCliqueSet"
)]
#[case::cluster_scoped(
    "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1\n",
    &["--provider", "kind"],
    "the manifest has cluster-scoped PriorityClass high (document 2): pass --provider local, or remove them"
)]
#[case::queue_of_another_backend(
    "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: q}\n",
    &["--scope", "PodGang"],
    "document 2: Queue q belongs to volcano, and the run tests default-scheduler: pass --backend volcano"
)]
fn a_document_that_cannot_be_applied_is_a_usage_error(
    #[case] document: &str,
    #[case] options: &[&str],
    #[case] expected: &str,
) {
    let cli = Cli::new();
    let file = cli.file("w.yaml", &format!("{SET}---\n{document}"));
    let output = cli.run(&[&["workload", &file, "--nodes", "4x8"], options].concat());
    assert_fails(&output, 2, &[expected]);
}

fn workloads(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/workloads").join(name).display().to_string()
}

#[test]
fn a_folder_whose_manifests_are_refused_ends_with_a_table() {
    let cli = Cli::new();
    let folder = cli.home.path().join("manifests");
    std::fs::create_dir(&folder).expect("a folder can be made");
    let folder = folder.display().to_string();
    let output = cli.run(&["workload", &folder, "--nodes", "4x8"]);
    assert_fails(&output, 2, &["has no *.yaml or *.yml file"]);
    for name in ["large.yaml", "queue.yaml"] {
        let from = workloads(&format!("folder/{name}"));
        std::fs::copy(from, Path::new(&folder).join(name)).expect("a file can be copied");
    }
    let output = cli.run(&["workload", &folder, "--nodes", "4x8", "--scope", "PodGang"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let table = stdout(&output);
    let row = |name: &str| table.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default();
    assert!(row("large.yaml").contains("not feasible"), "{table}");
    assert!(row("queue.yaml").contains("not supported"), "{table}");
    let output = cli.run(&["workload", &folder, "--nodes", "4"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "the options are wrong");
    assert!(stderr(&output).contains("--nodes 4: expected NODESxGPUS"), "{}", stderr(&output));
}

#[rstest::rstest]
#[case::admitted("", 0, "AON-02  S pass")]
#[case::rejected(
    "    resourceClaimTemplates: [{name: claim, templateSpec: {spec: {}}}]\n",
    2,
    "at least one device request is required"
)]
fn a_workload_of_the_user_is_checked_or_refused(
    #[case] field: &str,
    #[case] code: i32,
    #[case] expected: &str,
) {
    let cli = Cli::new();
    let file = cli.file(
        "mine.yaml",
        &format!(
            "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {{name: mine}}\nspec:\n  replicas: 1\n  template:\n\
             {field}    cliques:\n    - name: worker\n      spec:\n        roleName: worker\n        replicas: 3\n        \
             podSpec: {{containers: [{{name: c, image: registry.k8s.io/pause:3.10}}]}}\n"
        ),
    );
    let output = cli.run(&["workload", &file, "--nodes", "2x0", "--scope", "PodGroup"]);
    let all = format!("{}{}", stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(code), "{all}");
    assert!(all.contains(expected), "{all}");
    assert_eq!(processes_of(&cli.home.path().join("state")), 0, "processes are left");
}

#[test]
fn a_workload_has_its_companions_and_volumes() {
    let cli = Cli::new();
    let output =
        cli.run(&["workload", &workloads("companions.yaml"), "--nodes", "5x8", "--scope", "PodGroup"]);
    let all = format!("{}{}", stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(0), "{all}");
    for clause in ["GANG-01", "AON-01", "AON-02", "AON-03", "DEL-01"] {
        let has_passed = all.lines().any(|line| line.contains(clause) && line.contains("pass"));
        assert!(has_passed, "{clause} is not judged: {all}");
    }
    assert_eq!(processes_of(&cli.home.path().join("state")), 0, "processes are left");
}

#[test]
fn every_manifest_of_a_folder_is_judged_or_refused() {
    let cli = Cli::new();
    let output = cli.run(&["workload", &workloads("folder"), "--nodes", "4x8", "--scope", "PodGroup"]);
    let table = stdout(&output);
    assert_eq!(output.status.code(), Some(2), "{table}{}", stderr(&output));
    let rows = [
        ("fits.yaml", "judged: passed"),
        ("invalid.yml", "refused by admission"),
        ("large.yaml", "not feasible"),
        ("queue.yaml", "not supported"),
    ];
    for (name, outcome) in rows {
        let is_row = |line: &&str| line.trim_start().starts_with(name) && line.contains(outcome);
        assert!(table.lines().any(|line| is_row(&line)), "{name}: {outcome}: {table}{}", stderr(&output));
    }
    let report = cli.home.path().join("conformance-report/fits/report.yaml");
    assert!(report.is_file(), "{} is missing", report.display());
}

/// Features of upstream's samples and e2e manifests, and manifests that once got a wrong verdict.
#[test]
#[ignore = "takes more than a minute; ci/full runs it"]
fn manifests_like_upstreams_have_the_expected_outcomes() {
    let cli = Cli::new();
    let (folder, nodes) = (workloads("features"), workloads("features/nodes.yaml"));
    let output = cli.run(&["workload", &folder, "--nodes", &nodes, "--scope", "PodGang"]);
    let table = stdout(&output);
    let outcomes = [
        ("autoscaled.yaml", "judged: passed"),
        ("environment.yaml", "judged: passed"),
        ("explicit-order.yaml", "judged: passed"),
        ("exported.yaml", "judged: passed"),
        ("in-order.yaml", "judged: passed"),
        ("larger-than-a-rack.yaml", "not feasible"),
        ("memberships.yaml", "judged: passed"),
        ("merge-keys.yaml", "judged: passed"),
        ("no-replicas.yaml", "not supported"),
        ("no-such-volume.yaml", "refused by admission"),
        ("nvlink.yaml", "refused by admission"),
        ("on-delete.yaml", "judged: passed"),
        ("one-host-per-clique.yaml", "refused by admission"),
        ("one-rack-per-group.yaml", "refused by admission"),
        ("one-rack.yaml", "judged: passed"),
        ("one-zone.yaml", "not feasible"),
        ("replicas.yaml", "judged: passed"),
        ("scaled-gangs.yaml", "judged: passed"),
        ("shared-claim.yaml", "not feasible"),
        ("spread-hosts.yaml", "judged: passed"),
        ("surplus.yaml", "judged: passed"),
        ("tainted-nodes.yaml", "judged: passed"),
        ("termination-delay.yaml", "judged: passed"),
        ("whole-group.yaml", "judged: passed"),
    ];
    for (name, outcome) in outcomes {
        let row = table.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default();
        assert!(row.contains(outcome), "{name}: {outcome}: {table}{}", stderr(&output));
    }
    assert_eq!(output.status.code(), Some(2), "some are refused: {table}");
    assert_eq!(processes_of(&cli.home.path().join("state")), 0, "processes are left");
}
