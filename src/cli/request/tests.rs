use super::*;
use crate::testing::{job, request};

fn failure(line: &str) -> String {
    request(line).unwrap_err().to_string()
}

#[test]
fn a_run_without_options_has_the_defaults() {
    let request = request("run").unwrap();
    assert_eq!(request.subject.backend, "default-scheduler");
    assert_eq!(request.subject.versions, [Kubernetes::default()]);
    assert_eq!(request.operator.source, OperatorSource::Reference);
    assert_eq!(request.cluster.provider, ProviderName::Local);
    assert_eq!((request.execution.timeout_scale, request.execution.seed()), (1.0, 1));
    assert_eq!(request.output.folder.display().to_string(), "conformance-report");
}

#[test]
fn a_gang_scope_selects_its_version_of_kubernetes() {
    let versions = |line: &str| request(line).unwrap().subject.versions;
    assert_eq!(versions("run --scope Tree"), [Kubernetes::V1_37]);
    assert_eq!(versions("run --kubernetes all"), Kubernetes::ALL);
    assert_eq!(versions("run --upgrade-from kubernetes=1.36"), [Kubernetes::V1_37]);
    assert_eq!(versions("run --upgrade-from kubernetes=1.36 --scope PodGang"), [Kubernetes::V1_37]);
}

#[rstest::rstest]
#[case::with_scopes("default-scheduler", Some("PodGroup"))]
#[case::some_with_scopes("all", Some("PodGroup"))]
#[case::without_scopes("volcano", None)]
fn the_scope_of_a_manifest_counts_only_for_backends_with_scopes(
    #[case] backend: &str,
    #[case] expected: Option<&str>,
) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("w.yaml");
    let manifest = "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: w, annotations: \
                    {scheduling.grove.io/gang-scope: PodGroup}}\nspec: {replicas: 1, template: {cliques: [{name: a, spec: \
                    {podSpec: {containers: [{name: c}]}}}]}}\n";
    std::fs::write(&file, manifest).unwrap();
    let line = format!("workload {} --nodes 1x0 --backend {backend}", file.display());
    assert_eq!(request(&line).unwrap().subject.scope.as_deref(), expected);
}

#[test]
fn each_subcommand_has_its_cases() {
    let cases = |line: &str| request(line).unwrap().subject.cases;
    assert!(matches!(cases("run"), Cases::Suite(Workload::PodCliqueSets)));
    assert!(matches!(cases("trainjobs"), Cases::Suite(Workload::TrainJobs)));
    assert!(matches!(cases("ai-conformance"), Cases::Suite(Workload::PlainPods)));
    assert!(matches!(cases("observe"), Cases::Observations));
    assert!(matches!(cases("load --nodes 50x8 --pods 300"), Cases::Load(_)));
    let Cases::Generated(generated) = cases("fuzz --count 3 --seed 5") else {
        panic!("no generated workloads")
    };
    let ids: Vec<_> = generated.cases.iter().map(|case| case.id).collect();
    assert_eq!(ids, ["generated/5", "generated/6", "generated/7"]);
}

#[rstest::rstest]
#[case("run --strict --set execution.strict=false", true)]
#[case("run --strict=false --set execution.strict=true", false)]
#[case("run --set execution.strict=true", true)]
#[case("run", false)]
fn an_option_overrides_a_setting(#[case] line: &str, #[case] strict: bool) {
    assert_eq!(request(line).unwrap().execution.strict, strict);
}

#[rstest::rstest]
#[case("run --operator existing", "pass --provider existing")]
#[case("run --upgrade-from existing", "the harness starts the operator that is replaced")]
#[case("run --upgrade-from reference --provider kind", "--upgrade-from starts local processes")]
#[case("run --upgrade-from kubernetes=1.36 --provider kind", "--upgrade-from starts local processes")]
#[case("run --upgrade-from kubernetes=1.35", "kubernetes=1.35: unknown version of Kubernetes")]
#[case("run --upgrade-from kubernetes=1.37", "expected 1.36")]
#[case("run --upgrade-from kubernetes=1.36 --kubernetes 1.36", "upgrades to Kubernetes 1.37")]
#[case("run --upgrade-from kubernetes=1.36 --kubernetes all", "pass --kubernetes 1.37, or omit it")]
#[case("fuzz --count 1 --upgrade-from kubernetes=1.36", "does not apply to `fuzz`")]
#[case("run --nodes-where pool=gpu", "pass --provider existing")]
#[case("run --provider existing --nodes-where gpu", "expected KEY=VALUE")]
#[case("run --context dev", "--kubeconfig and --context need --provider existing")]
#[case("run --provider kind --cluster dev", "--provider kind creates its own cluster")]
#[case("run --timeout-scale 0", "expected a number between 0.01 and 100")]
#[case("run --kubernetes all --scope PodGang", "omit --scope")]
#[case("run --kubernetes all --cluster dev", "creates a cluster for each version: omit --cluster")]
#[case("run --set operator.declaration=d.yaml", "operator.declaration needs --operator")]
#[case("run --set pod.shards=2", "needs a pod of an Indexed Job")]
#[case("run --component volcano=chart:pinned", "needs --provider kind")]
#[case("run --provider kind --scheduler-config kube-scheduler=stock", "configures local processes")]
#[case("run --provider kind --set programs.offline=true", "kind builds and pulls images")]
#[case("run --cluster dev --scheduler-config kube-scheduler=stock", "pass it to `cluster create`")]
#[case("run --provider existing --component vc-scheduler=src:x", "install the scheduler there")]
#[case(
    "run --provider kind --component kube-scheduler=src:x",
    "the suite cannot deploy this program in a cluster"
)]
#[case("run --component trainer-controller-manager=src:x", "only `trainjobs` runs the trainer")]
#[case("run --hold-on-failure --retries 1", "--hold-on-failure keeps the first failure: omit --retries")]
#[case("trainjobs --kubernetes all", "`trainjobs` runs on one version")]
#[case("trainjobs --scope PodGang", "--scope does not apply to `trainjobs`")]
#[case("trainjobs --set cluster.provider=kind", "starts the trainer as a local process")]
#[case("ai-conformance --provider kind", "or existing for your own cluster")]
#[case("observe --kubernetes all", "`observe` runs on one version")]
#[case("observe --scope PodGang", "--scope does not apply to `observe`")]
#[case("observe --baseline report.yaml", "--baseline does not apply to `observe`")]
#[case("observe --set cluster.provider=kind", "starts schedulers as local processes")]
#[case("observe --set selection.cases=aon", "does not apply to `observe`")]
#[case("load --nodes 50 --pods 300", "--nodes 50: expected NODESxGPUS")]
#[case("load --nodes 10x8 --pods 300", "300 pods request 230 GPUs, and the nodes have 80: pass fewer pods")]
#[case("load --nodes 50x8 --pods 300 --provider kind", "pass --provider local")]
#[case("load --nodes 50x8 --pods 300 --depth full", "--depth does not apply to `load`")]
#[case(
    "load --nodes 50x8 --pods 300 --set selection.cases=aon",
    "section `selection` of the configuration does not apply"
)]
#[case("fuzz --set selection.skip=aon", "section `selection` of the configuration does not apply")]
fn contradictions_are_usage_errors(#[case] line: &str, #[case] expected: &str) {
    let failure = failure(line);
    assert!(failure.contains(expected), "{failure}");
}

#[test]
fn a_run_builds_programs_unless_it_is_offline() {
    assert!(!request("run").unwrap().programs.offline);
    assert!(request("run --set programs.offline=true").unwrap().programs.offline);
    // The programs of a job are in its image.
    assert!(job("job --image suite:1 --set programs.offline=true").unwrap().0.programs.offline);
}

#[test]
fn a_job_runs_in_an_existing_cluster() {
    let (request, job) = job("job --image suite:1 --shards 3 aon").unwrap();
    assert_eq!(request.cluster.provider, ProviderName::Existing);
    assert_eq!((job.image.as_str(), job.shards), ("suite:1", 3));
    assert_eq!(request.selection.words, ["aon"]);
}
