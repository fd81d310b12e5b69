//! The command line that runs one case again in the same way.

use std::path::Path;

use conformance_contract::kubernetes::Kubernetes;

use crate::args::{
    EXISTING, ExecutionArgs, Install, OperatorArgs, ProviderArgs, ProviderName, RunArgs, WorkloadArgs,
};
use crate::given;

/// The command, with `{case}` and `{target}` as placeholders.
pub(super) fn command(kubernetes: Kubernetes, args: &RunArgs) -> String {
    let mut words = vec!["grove-conformance run".to_owned()];
    words.extend(of_workload(&args.workloads));
    words.extend(
        given::flags(&args.cluster_args).map(|(flag, name, path)| format!("{flag} {name}{}", quoted(path))),
    );
    let tools = &args.tools;
    words.extend(tools.trainer_dir.iter().map(|dir| format!("--trainer-dir {}", quoted(dir))));
    words.extend(tools.trainer_source.iter().map(|dir| format!("--trainer-source {}", quoted(dir))));
    words.extend(args.execution.cluster.iter().map(|name| format!("--cluster {name}")));
    words.extend(of_provider(&args.provider));
    words.extend(args.upgrade_from.iter().map(|word| format!("--upgrade-from '{word}'")));
    words.extend(args.probe_undeclared.then(|| "--probe-undeclared".to_owned()));
    words.extend(of_operator(&args.operator, &args.provider));
    if kubernetes != Kubernetes::default() {
        words.push(format!("--kubernetes {kubernetes}"));
    }
    words.extend(of_execution(&args.execution, args.workloads.seed));
    words.push("{target}".into());
    words.join(" ")
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display())
}

fn of_provider(args: &ProviderArgs) -> Vec<String> {
    let mut words = Vec::new();
    match args.provider {
        ProviderName::Local => {}
        ProviderName::Kind => words.push("--provider kind".to_owned()),
        ProviderName::Existing => words.push("--provider existing".to_owned()),
    }
    words.extend(args.node_image.iter().map(|image| format!("--node-image {image}")));
    words.extend(args.kind_config.iter().map(|file| format!("--kind-config {}", quoted(file))));
    if args.install == Install::Helm {
        words.push("--install helm".into());
    }
    words.extend(args.charts.iter().map(|(name, chart)| format!("--chart '{name}={chart}'")));
    words.extend(args.kubeconfig.iter().map(|file| format!("--kubeconfig {}", quoted(file))));
    words.extend(args.context.iter().map(|name| format!("--context '{name}'")));
    words.extend(args.nodes_where.iter().map(|label| format!("--nodes-where {label}")));
    if args.beside_foreign_workloads {
        words.push("--beside-foreign-workloads".into());
    }
    if args.one_etcd {
        words.push("--one-etcd".into());
    }
    words
}

fn of_operator(operator: &OperatorArgs, provider: &ProviderArgs) -> Vec<String> {
    let mut words = Vec::new();
    words.extend(operator.started().map(|word| format!("--operator '{word}'")));
    if operator.is_existing() {
        words.push(format!("--operator {EXISTING}"));
        words.push(format!("--operator-name '{}'", provider.operator_name));
        words.push(format!("--operator-version '{}'", provider.operator_version));
    }
    words.extend(operator.declares.iter().map(|file| format!("--declares {}", quoted(file))));
    words
}

fn of_execution(args: &ExecutionArgs, seed: Option<u64>) -> Vec<String> {
    let mut words = Vec::new();
    words.extend(args.is_full().then(|| "--depth full".to_owned()));
    words.extend(args.strict.then(|| "--strict".to_owned()));
    words.extend(seed.map(|seed| format!("--seed {seed}")));
    if args.timeout_scale != 1.0 {
        words.push(format!("--timeout-scale {}", args.timeout_scale));
    }
    words
}

fn of_workload(args: &WorkloadArgs) -> Vec<String> {
    let mut words = vec![match (&args.workload, &args.nodes, &args.generated, &args.scale, args.pods) {
        (Some(file), Some(nodes), ..) => format!("--workload {} --nodes {nodes}", quoted(file)),
        (_, _, Some(file), ..) => format!("--generated {}", quoted(file)),
        (.., Some(nodes), Some(pods)) => format!("--scale {nodes} --pods {pods}"),
        _ => "{case}".to_owned(),
    }];
    words.extend(args.update.then(|| "--update".to_owned()));
    words
}
