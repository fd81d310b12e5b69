//! The arguments of the pods of a run in a cluster: the options about what is tested and how. Options about
//! files and programs of this machine are refused.

use crate::Failure;
use crate::args::{ProviderName, RunArgs, Versions};
use clap::ValueEnum;

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

/// Derives a pod's arguments from those of the run. Options that only apply to this machine are refused.
pub(super) fn of(args: &RunArgs) -> Result<PodArgs, Failure> {
    if let Some(option) = refused(args) {
        return Err(Failure::Usage(format!(
            "{option} cannot be combined with --in-cluster: the pods test what runs in the cluster and cannot read files of this machine"
        )));
    }
    let mut words = vec![
        "run".to_owned(),
        "--provider=existing".into(),
        "--store-results".into(),
        "--report-dir=/results".into(),
        format!("--backend={}", args.backend),
    ];
    let mut add = |option: &str, value: &str| words.push(format!("--{option}={value}"));
    if !args.features.is_empty() {
        add("features", &args.features.join(","));
    }
    let name = |value: clap::builder::PossibleValue| value.get_name().to_owned();
    for profile in args.profile.iter().filter_map(ValueEnum::to_possible_value) {
        add("profile", &name(profile));
    }
    args.scope.iter().for_each(|scope| add("scope", scope));
    if let Some(Versions::One(version)) = args.kubernetes {
        add("kubernetes", version.minor());
    }
    args.cases.iter().for_each(|id| add("case", id));
    args.clauses.iter().for_each(|id| add("clause", id));
    for tier in args.tiers.iter().filter_map(ValueEnum::to_possible_value) {
        add("tier", &name(tier));
    }
    if let Some(count) = args.concurrency {
        add("concurrency", &count.to_string());
    }
    if args.timeout_scale != 1.0 {
        add("timeout-scale", &args.timeout_scale.to_string());
    }
    if let Some(seed) = args.seed {
        add("seed", &seed.to_string());
    }
    if args.retries > 0 {
        add("retries", &args.retries.to_string());
    }
    args.provider.nodes_where.iter().for_each(|label| add("nodes-where", label));
    if args.operator.is_existing() {
        add("operator", crate::args::EXISTING);
        add("operator-name", &args.provider.operator_name);
        add("operator-version", &args.provider.operator_version);
    }
    let flags = [
        ("probe-undeclared", args.probe_undeclared),
        ("strict", args.strict),
        ("every-scope", args.every_scope),
        ("every-crash-point", args.every_crash_point),
        ("gang-timeouts", args.gang_timeouts),
        ("beside-foreign-workloads", args.provider.beside_foreign_workloads),
        ("one-etcd", args.provider.one_etcd),
    ];
    let given = flags.iter().filter(|(_, given)| *given);
    words.extend(given.map(|(flag, _)| format!("--{flag}")));
    Ok(PodArgs(words))
}

fn refused(args: &RunArgs) -> Option<&'static str> {
    let (cluster, provider) = (&args.cluster_args, &args.provider);
    let given = [
        ("--provider kind", provider.provider == ProviderName::Kind),
        ("--kubernetes all", args.kubernetes == Some(Versions::All)),
        ("--workload", args.workload.is_some()),
        ("--generate", args.generate.is_some()),
        ("--generated", args.generated.is_some()),
        ("--scale", args.scale.is_some()),
        ("--trainjob", args.trainjob),
        ("--upgrade-from", args.upgrade_from.is_some()),
        ("--cluster", args.cluster.is_some()),
        ("--keep", args.keep),
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
        let own = ["run", "--in-cluster", "--kubeconfig=admin.conf", "--image=suite:1"];
        parsed(&own.iter().chain(words).map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_pod_gets_no_more_than_it_must() {
        let words = of(&submitted(&["--shards=2", "--case=aon/exact-fit-bound"])).unwrap().with_shares(2);
        insta::assert_snapshot!(words.join("\n"), @r"
        run
        --provider=existing
        --store-results
        --report-dir=/results
        --backend=default-scheduler
        --case=aon/exact-fit-bound
        --shards=2
        ");
    }

    /// A pod gets every option about what is tested and how; only the place differs.
    #[test]
    fn a_pod_judges_what_was_asked_for() {
        let asked = submitted(&[
            "--shards=3",
            "--backend=external:mine",
            "--features=AtomicPodGang,TopologyRequired",
            "--kubernetes=1.37",
            "--case=aon",
            "--case=topo/one-rack",
            "--clause=AON-02",
            "--tier=agnostic",
            "--tier=backend-specific",
            "--operator=existing",
            "--operator-name=ai-dynamo/grove of mine",
            "--operator-version=v1",
            "--probe-undeclared",
            "--concurrency=3",
            "--timeout-scale=2.5",
            "--retries=1",
            "--every-scope",
            "--every-crash-point",
            "--gang-timeouts",
            "--nodes-where=pool=lent",
            "--beside-foreign-workloads",
            "--one-etcd",
        ]);
        let mut read = parsed(&of(&asked).unwrap().with_shares(3));
        assert_eq!(read.provider.provider, ProviderName::Existing);
        read.provider.provider = asked.provider.provider;
        read.provider.kubeconfig = asked.provider.kubeconfig.clone();
        (read.in_cluster, read.image) = (asked.in_cluster, asked.image.clone());
        (read.store_results, read.report_dir) = (asked.store_results, asked.report_dir.clone());
        assert_eq!(format!("{read:?}"), format!("{asked:?}"));
    }

    #[test]
    fn a_profile_and_a_scope_are_passed_on() {
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
    fn what_goes_with_this_machine_only_is_refused(#[case] words: &[&str], #[case] named: &str) {
        let error = of(&submitted(words)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{named} cannot be combined with --in-cluster")), "{error}");
    }
}
