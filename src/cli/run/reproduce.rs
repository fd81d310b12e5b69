use std::path::Path;

use conformance_contract::clauses::Workload;
use conformance_contract::kubernetes::Kubernetes;

use crate::options::ProviderName;
use crate::request::{
    Cases, ClusterRequest, Execution, NodesSource, OperatorRequest, OperatorSource, Request,
};

/// The command has `{case}` and `{target}` as placeholders.
pub(super) fn command(kubernetes: Kubernetes, request: &Request) -> String {
    let mut words = vec!["grove-conformance".to_owned(), verb(request)];
    words.extend(request.programs.words().into_iter().map(|word| format!("--component '{word}'")));
    let configs = request.programs.config_words();
    words.extend(configs.into_iter().map(|word| format!("--scheduler-config '{word}'")));
    words.extend(of_cluster(&request.cluster));
    words.extend(of_operator(&request.operator));
    if kubernetes != Kubernetes::default() {
        words.push(format!("--kubernetes {kubernetes}"));
    }
    words.extend(of_execution(&request.execution));
    words.push("{target}".into());
    words.join(" ")
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display())
}

fn verb(request: &Request) -> String {
    match &request.subject.cases {
        Cases::Suite(Workload::PodCliqueSets) => "run {case}".into(),
        Cases::Suite(Workload::TrainJobs) => "trainjobs {case}".into(),
        Cases::Suite(Workload::PlainPods) => "ai-conformance {case}".into(),
        Cases::Observations => "observe {case}".into(),
        Cases::Load(load) => {
            let mode = match (load.update, load.preempt) {
                (true, _) => " --update",
                (_, true) => " --preempt",
                _ => "",
            };
            format!("load --nodes {} --pods {}{mode}", load.nodes, load.pods)
        }
        Cases::Generated(generated) => match &generated.file {
            Some(file) => format!("fuzz {}", quoted(file)),
            // `run` knows a generated workload by its id.
            None => "run {case}".into(),
        },
        Cases::NearLimit(_) => "dev feasibility {case}".into(),
        Cases::OwnWorkload { file, nodes, .. } => {
            let nodes = match nodes {
                NodesSource::Shapes(words) => words.clone(),
                NodesSource::File(path) => quoted(path),
                // Name the copy, because the nodes of the cluster may change.
                NodesSource::Cluster { .. } => quoted(&request.output.folder.join(NodesSource::COPY)),
            };
            format!("workload {} --nodes {nodes}", quoted(file))
        }
    }
}

fn set(field: &str, value: &str) -> String {
    format!("--set '{field}={value}'")
}

fn of_cluster(cluster: &ClusterRequest) -> Vec<String> {
    let mut words = Vec::new();
    if cluster.provider != ProviderName::Local {
        words.push(format!("--provider {}", cluster.provider.word()));
    }
    words.extend(cluster.name.iter().map(|name| format!("--cluster {name}")));
    words.extend(cluster.kubeconfig.file.iter().map(|file| format!("--kubeconfig {}", quoted(file))));
    words.extend(cluster.kubeconfig.context.iter().map(|name| format!("--context '{name}'")));
    words.extend(cluster.nodes_where.iter().map(|label| format!("--nodes-where {label}")));
    words.extend(cluster.node_image.iter().map(|image| set("cluster.nodeImage", image)));
    words.extend(
        cluster.kind_config.iter().map(|file| set("cluster.kindConfig", &file.display().to_string())),
    );
    let flags = [("allowForeignWorkloads", cluster.allow_foreign_workloads), ("oneEtcd", cluster.one_etcd)];
    let given = flags.iter().filter(|(_, given)| *given);
    words.extend(given.map(|(field, _)| set(&format!("cluster.{field}"), "true")));
    words
}

fn of_operator(operator: &OperatorRequest) -> Vec<String> {
    let mut words = Vec::new();
    words.extend(operator.upgrade_from.iter().map(|source| format!("--upgrade-from '{}'", source.word())));
    if operator.source != OperatorSource::Reference {
        words.push(format!("--operator '{}'", operator.source.word()));
    }
    if operator.source.is_existing() {
        words.push(set("operator.name", &operator.name));
        words.push(set("operator.version", &operator.version));
    }
    words.extend(
        operator.declaration.iter().map(|file| set("operator.declaration", &file.display().to_string())),
    );
    words.extend(operator.probe_undeclared.then(|| set("operator.probeUndeclared", "true")));
    words
}

fn of_execution(execution: &Execution) -> Vec<String> {
    let mut words = Vec::new();
    words.extend(execution.is_full().then(|| "--depth full".to_owned()));
    words.extend(execution.strict.then(|| "--strict".to_owned()));
    words.extend(execution.seed.map(|seed| format!("--seed {seed}")));
    if execution.timeout_scale != 1.0 {
        words.push(format!("--timeout-scale {}", execution.timeout_scale));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::request;

    /// The printed command parses to the request of the run, restricted to one case.
    #[rstest::rstest]
    #[case("run --backend volcano", "grove-conformance run {case} {target}")]
    #[case(
        "run mig --upgrade-from kubernetes=1.36",
        "grove-conformance run {case} --upgrade-from 'kubernetes=1.36' {target}"
    )]
    #[case("trainjobs --backend volcano", "grove-conformance trainjobs {case} {target}")]
    #[case("ai-conformance --seed 7", "grove-conformance ai-conformance {case} --seed 7 {target}")]
    #[case(
        "load --nodes 50x8 --pods 300 --update",
        "grove-conformance load --nodes 50x8 --pods 300 --update {target}"
    )]
    #[case(
        "load --nodes 9x8 --pods 72 --preempt",
        "grove-conformance load --nodes 9x8 --pods 72 --preempt {target}"
    )]
    #[case("fuzz --count 3 --seed 5", "grove-conformance run {case} --seed 5 {target}")]
    #[case(
        "run --provider existing --kubeconfig k --operator existing --set cluster.oneEtcd=true --strict",
        "grove-conformance run {case} --provider existing --kubeconfig 'k' --set 'cluster.oneEtcd=true' --operator \
         'existing' --set 'operator.name=unnamed' --set 'operator.version=unknown' --strict {target}"
    )]
    fn the_command_runs_the_case_in_the_same_way(#[case] line: &str, #[case] expected: &str) {
        let request = Request { programs: Default::default(), ..request(line).unwrap() };
        assert_eq!(command(Kubernetes::default(), &request), expected);
    }

    #[test]
    fn the_command_of_a_workload_names_its_nodes() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let (workload, nodes) = (path("w.yaml"), path("nodes.yaml"));
        let pcs = "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: w}\nspec: {replicas: 1, template: \
                   {cliques: [{name: a, spec: {replicas: 1, podSpec: {containers: [{name: c}]}}}]}}\n";
        std::fs::write(&workload, pcs).unwrap();
        std::fs::write(&nodes, "{apiVersion: v1, kind: Node}\n").unwrap();
        let of = |given: &str| request(&format!("workload {workload} --nodes {given} -o out")).unwrap();
        let nodes_of = |request: Request| {
            let command =
                command(Kubernetes::default(), &Request { programs: Default::default(), ..request });
            let words = command.strip_prefix(&format!("grove-conformance workload '{workload}' --nodes "));
            words.and_then(|words| words.strip_suffix(" {target}")).map(str::to_owned)
        };
        assert_eq!(nodes_of(of("2x8")).as_deref(), Some("2x8"));
        assert_eq!(nodes_of(of(&nodes)), Some(format!("'{nodes}'")));
        let mut copied = of("2x8");
        if let Cases::OwnWorkload { nodes, .. } = &mut copied.subject.cases {
            *nodes = NodesSource::Cluster { copy: String::new() };
        }
        assert_eq!(nodes_of(copied).as_deref(), Some("'out/nodes.yaml'"));
    }
}
