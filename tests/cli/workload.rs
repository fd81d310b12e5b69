//! `workload`: files that are refused, and one that is judged.

use crate::{Cli, processes_of, stderr, stdout};

#[test]
fn invalid_yaml_is_reported_with_its_line_or_field() {
    let cli = Cli::new();
    for (text, expected) in
        [("kind: [", "line"), ("apiVersion: apps/v1\nkind: Deployment\n", "apiVersion is \"apps/v1\"")]
    {
        let file = cli.file("w.yaml", text);
        let output = cli.run(&["workload", &file, "--nodes", "8x8"]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

/// Nothing is started: the components are missing.
#[rstest::rstest]
#[case::request(
    "containers: [{name: c, resources: {requests: {rdma/ib: 8}}}]",
    "spec.template.cliques[0].spec.podSpec.containers[0].resources.requests[\"rdma/ib\"]: each pod of PodClique w-0-a \
     requests 8 rdma/ib, and no node has rdma/ib"
)]
#[case::cpu("containers: [{name: c, resources: {requests: {cpu: 64}}}]", "the largest node has 32")]
#[case::selector("nodeSelector: {accelerator: h100}", "no node has label accelerator")]
#[case::claim(
    "volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]",
    "no volume is provisioned here"
)]
#[case::scheduler("schedulerName: volcano", "pass --backend volcano, or remove the field")]
#[case::sidecar(
    "initContainers: [{name: s, restartPolicy: Always, resources: {limits: {nvidia.com/gpu: 1}}}], \
     containers: [{name: c, resources: {limits: {nvidia.com/gpu: 8}}}]",
    "requests 9 nvidia.com/gpu, and the largest node has 8"
)]
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
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains(expected), "{}", stderr(&output));
}

/// Needs the components, and Go once to build them.
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
