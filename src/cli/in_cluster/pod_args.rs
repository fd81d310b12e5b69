//! The arguments of the pods of a run in a cluster: the options that determine what is tested and how.
//! Options about files and programs of this machine are refused.

use clap::ValueEnum;

use crate::Failure;
use crate::args::{ProviderName, RunArgs, Versions};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PodArgs(Vec<String>);

impl PodArgs {
    /// The arguments of a pod that runs one of `shares` shares.
    pub(super) fn with_shares(mut self, shares: usize) -> Vec<String> {
        if shares > 1 {
            self.0.push(format!("--shards={shares}"));
        }
        self.0
    }
}

/// Derives the arguments of a pod from those of the run.
pub(super) fn of(args: &RunArgs) -> Result<PodArgs, Failure> {
    if let Some(option) = first_refused(args) {
        return Err(Failure::Usage(format!(
            "{option} cannot be combined with --in-cluster: the pods test what runs in the cluster and cannot read files of this machine"
        )));
    }
    let mut words = vec![
        "run".to_owned(),
        "--provider=existing".into(),
        "--store-results".into(),
        "--output=/results".into(),
        format!("--backend={}", args.subject.backend),
    ];
    let mut add = |option: &str, value: &str| words.push(format!("--{option}={value}"));
    if !args.subject.features.is_empty() {
        add("features", &args.subject.features.join(","));
    }
    let name = |value: clap::builder::PossibleValue| value.get_name().to_owned();
    for profile in args.tools.profile.iter().filter_map(ValueEnum::to_possible_value) {
        add("profile", &name(profile));
    }
    args.subject.scope.iter().for_each(|scope| add("scope", scope));
    if let Some(Versions::One(version)) = args.subject.kubernetes {
        add("kubernetes", version.minor());
    }
    args.selection.skip.iter().for_each(|id| add("skip", id));
    for tier in args.selection.tiers.iter().filter_map(ValueEnum::to_possible_value) {
        add("tier", &name(tier));
    }
    if let Some(count) = args.execution.concurrency {
        add("concurrency", &count.to_string());
    }
    if args.execution.timeout_scale != 1.0 {
        add("timeout-scale", &args.execution.timeout_scale.to_string());
    }
    if let Some(seed) = args.workloads.seed {
        add("seed", &seed.to_string());
    }
    if args.execution.retries > 0 {
        add("retries", &args.execution.retries.to_string());
    }
    args.provider.nodes_where.iter().for_each(|label| add("nodes-where", label));
    if args.operator.is_existing() {
        add("operator", crate::args::EXISTING);
        add("operator-name", &args.provider.operator_name);
        add("operator-version", &args.provider.operator_version);
    }
    let flags = [
        ("probe-undeclared", args.probe_undeclared),
        ("quiet", args.output.quiet),
        ("fail-fast", args.selection.fail_fast),
        ("strict", args.execution.strict),
        ("depth=full", args.execution.is_full()),
        ("beside-foreign-workloads", args.provider.beside_foreign_workloads),
        ("one-etcd", args.provider.one_etcd),
    ];
    let given = flags.iter().filter(|(_, given)| *given);
    words.extend(given.map(|(flag, _)| format!("--{flag}")));
    words.extend(args.selection.words.iter().cloned());
    Ok(PodArgs(words))
}

/// The first option that a pod cannot have.
fn first_refused(args: &RunArgs) -> Option<&'static str> {
    let (cluster, provider) = (&args.cluster_args, &args.provider);
    let given = [
        ("--provider kind", provider.provider == ProviderName::Kind),
        ("--kubernetes all", args.subject.kubernetes == Some(Versions::All)),
        ("--workload", args.workloads.workload.is_some()),
        ("--generate", args.workloads.generate.is_some()),
        ("--generated", args.workloads.generated.is_some()),
        ("--scale", args.workloads.scale.is_some()),
        ("--trainjob", args.tools.trainjob),
        ("--upgrade-from", args.upgrade_from.is_some()),
        ("--cluster", args.execution.cluster.is_some()),
        ("--keep", args.execution.keep),
        ("--operator", args.operator.started().is_some()),
        ("--declares", args.operator.declares.is_some()),
        ("--bin", !cluster.bins.is_empty()),
        ("--kai-dir", cluster.kai_dir.is_some()),
        ("--kai-source", cluster.kai_source.is_some()),
        ("--scheduler-source", !cluster.scheduler_sources.is_empty()),
        ("--node-image", provider.node_image.is_some()),
        ("--kind-config", provider.kind_config.is_some()),
        ("--chart", !provider.charts.is_empty()),
    ];
    given.into_iter().find_map(|(option, given)| given.then_some(option))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Verb};

    fn parsed(words: &[String]) -> RunArgs {
        let program = "grove-conformance".to_owned();
        match Cli::try_parse_from(std::iter::once(&program).chain(words)).unwrap().verb {
            Verb::Run(args) => *args,
            other => panic!("{other:?}"),
        }
    }

    fn submitted(words: &[&str]) -> RunArgs {
        let submit = ["run", "--in-cluster", "--kubeconfig=admin.conf", "--image=suite:1"];
        parsed(&submit.iter().chain(words).map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_pod_gets_only_the_options_that_differ_from_the_defaults() {
        let words = of(&submitted(&["--shards=2", "aon/exact-fit-bound"])).unwrap().with_shares(2);
        insta::assert_snapshot!(words.join("\n"), @r"
        run
        --provider=existing
        --store-results
        --output=/results
        --backend=default-scheduler
        aon/exact-fit-bound
        --shards=2
        ");
    }

    /// Except for the cluster and the folder, a pod's arguments are those of the run.
    #[test]
    fn a_pod_gets_every_option_that_affects_the_result() {
        let run = submitted(&[
            "--shards=3",
            "--backend=external:mine",
            "--features=AtomicPodGang,TopologyRequired",
            "--kubernetes=1.37",
            "aon",
            "topo/*",
            "AON-02",
            "--skip=aon/one-pod-short",
            "--skip=TOPO-01",
            "--fail-fast",
            "--quiet",
            "--tier=agnostic",
            "--tier=backend-specific",
            "--operator=existing",
            "--operator-name=ai-dynamo/grove of mine",
            "--operator-version=v1",
            "--probe-undeclared",
            "--concurrency=3",
            "--timeout-scale=2.5",
            "--retries=1",
            "--depth=full",
            "--nodes-where=pool=lent",
            "--beside-foreign-workloads",
            "--one-etcd",
        ]);
        let mut pod = parsed(&of(&run).unwrap().with_shares(3));
        assert_eq!(pod.provider.provider, ProviderName::Existing);
        pod.provider.provider = run.provider.provider;
        pod.provider.kubeconfig = run.provider.kubeconfig.clone();
        (pod.share.in_cluster, pod.share.image) = (run.share.in_cluster, run.share.image.clone());
        (pod.share.store_results, pod.report_dir) = (run.share.store_results, run.report_dir.clone());
        assert_eq!(format!("{pod:?}"), format!("{run:?}"));
    }

    #[test]
    fn a_pod_gets_the_profile_and_the_scope() {
        let profile = of(&submitted(&["--profile=ai-conformance"])).unwrap().with_shares(1);
        assert!(profile.contains(&"--profile=ai-conformance".to_owned()), "{profile:?}");
        let scope = of(&submitted(&["--scope=PodGang"])).unwrap().with_shares(1);
        assert!(scope.contains(&"--scope=PodGang".to_owned()), "{scope:?}");
    }

    #[rstest::rstest]
    #[case(&["--provider=kind"], "--provider kind")]
    #[case(&["--bin=etcd=/bin/true"], "--bin")]
    #[case(&["--kubernetes=all"], "--kubernetes all")]
    #[case(&["--operator=exec:mine.yaml"], "--operator")]
    #[case(&["--generate=5"], "--generate")]
    fn options_about_this_machine_are_refused(#[case] words: &[&str], #[case] named: &str) {
        let error = of(&submitted(words)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{named} cannot be combined with --in-cluster")), "{error}");
    }
}
