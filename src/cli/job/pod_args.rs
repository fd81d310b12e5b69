//! The arguments of the pods of `job`: the options that affect what is judged, and how.

use conformance_contract::clauses::{Class, Workload};
use conformance_contract::kubernetes::Kubernetes;

use crate::request::Request;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PodArgs(Vec<String>);

impl PodArgs {
    pub(super) fn with_shares(mut self, shares: usize) -> Vec<String> {
        if shares > 1 {
            self.0.push(format!("--set=pod.shards={shares}"));
        }
        self.0
    }
}

pub(super) fn of(request: &Request) -> PodArgs {
    let Request { subject, selection, operator, cluster, execution, output, .. } = request;
    let verb = match subject.workload() {
        Workload::PlainPods => "ai-conformance",
        Workload::PodCliqueSets | Workload::TrainJobs => "run",
    };
    let mut words = vec![
        verb.to_owned(),
        "--provider=existing".into(),
        "--set=pod.storeResults=true".into(),
        "--output=/results".into(),
        format!("--backend={}", subject.backend),
    ];
    let mut add = |option: &str, value: &str| words.push(format!("--{option}={value}"));
    let set = |field: &str, value: &str| ("set", format!("{field}={value}"));
    if !subject.features.is_empty() {
        let (option, value) = set("target.features", &subject.features.join(","));
        add(option, &value);
    }
    subject.scope.iter().for_each(|scope| add("scope", scope));
    for version in subject.versions.iter().filter(|version| **version != Kubernetes::default()) {
        add("kubernetes", version.minor());
    }
    selection.skip.iter().for_each(|id| add("skip", id));
    selection.classes.iter().for_each(|class| add("class", name_of(*class)));
    if execution.timeout_scale != 1.0 {
        add("timeout-scale", &execution.timeout_scale.to_string());
    }
    if let Some(seed) = execution.seed {
        add("seed", &seed.to_string());
    }
    if execution.retries > 0 {
        add("retries", &execution.retries.to_string());
    }
    cluster.nodes_where.iter().for_each(|label| add("nodes-where", label));
    if operator.source.is_existing() {
        add("operator", operator.source.word());
        for (field, value) in [("operator.name", &operator.name), ("operator.version", &operator.version)] {
            let (option, value) = set(field, value);
            add(option, &value);
        }
    }
    if let Some(count) = execution.concurrency {
        let (option, value) = set("execution.concurrency", &count.to_string());
        add(option, &value);
    }
    let flags = [
        ("quiet", output.quiet),
        ("fail-fast", execution.fail_fast),
        ("strict", execution.strict),
        ("depth=full", execution.is_full()),
        ("depth=quick", execution.is_quick()),
        ("set=operator.probeUndeclared=true", operator.probe_undeclared),
        ("set=cluster.allowForeignWorkloads=true", cluster.allow_foreign_workloads),
        ("set=cluster.oneEtcd=true", cluster.one_etcd),
    ];
    let given = flags.iter().filter(|(_, given)| *given);
    words.extend(given.map(|(flag, _)| format!("--{flag}")));
    words.extend(selection.words.iter().cloned());
    PodArgs(words)
}

fn name_of(class: Class) -> &'static str {
    match class {
        Class::Agnostic => "agnostic",
        Class::Sensitive => "sensitive",
        Class::CapabilityBound => "capability",
        Class::BackendSpecific => "backend-specific",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn submitted(words: &[&str]) -> Result<Request, String> {
        let line = format!("job --kubeconfig=admin.conf --image=suite:1 {}", words.join(" "));
        testing::job(&line).map(|(request, _)| request).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_pod_gets_only_the_options_that_differ_from_the_defaults() {
        let words = of(&submitted(&["--shards=2", "aon/exact-fit-bound"]).unwrap()).with_shares(2);
        insta::assert_snapshot!(words.join("\n"), @r"
        run
        --provider=existing
        --set=pod.storeResults=true
        --output=/results
        --backend=default-scheduler
        aon/exact-fit-bound
        --set=pod.shards=2
        ");
    }

    /// The request of a pod differs from that of the run only in the cluster and the folder.
    #[test]
    fn a_pod_gets_every_option_that_affects_the_result() {
        let run = submitted(&[
            "--backend=external:mine",
            "--set=target.features=AtomicPodGang,TopologyRequired",
            "--kubernetes=1.37",
            "aon",
            "topo/*",
            "AON-02",
            "--skip=aon/one-pod-short",
            "--skip=TOPO-01",
            "--fail-fast",
            "--quiet",
            "--class=agnostic",
            "--class=backend-specific",
            "--operator=existing",
            "--set=operator.name=ai-dynamo/grove",
            "--set=operator.version=v1",
            "--set=operator.probeUndeclared=true",
            "--set=execution.concurrency=3",
            "--timeout-scale=2.5",
            "--retries=1",
            "--strict",
            "--seed=9",
            "--depth=full",
            "--nodes-where=pool=lent",
            "--set=cluster.allowForeignWorkloads=true",
            "--set=cluster.oneEtcd=true",
        ]);
        let run = run.unwrap();
        let mut pod = testing::request(&of(&run).with_shares(1).join(" ")).unwrap();
        pod.cluster.kubeconfig = run.cluster.kubeconfig.clone();
        (pod.pod.store_results, pod.output.folder) = (run.pod.store_results, run.output.folder.clone());
        assert_eq!(format!("{pod:?}"), format!("{run:?}"));
    }

    #[test]
    fn a_pod_gets_the_subcommand_and_the_scope() {
        let plain = of(&submitted(&["--verb=ai-conformance"]).unwrap()).with_shares(1);
        assert_eq!(plain[0], "ai-conformance");
        let scope = of(&submitted(&["--scope=PodGang"]).unwrap()).with_shares(1);
        assert!(scope.contains(&"--scope=PodGang".to_owned()), "{scope:?}");
    }

    #[rstest::rstest]
    #[case(&["--provider=kind"], "--provider")]
    #[case(&["--component=etcd=/bin/true"], "--component")]
    #[case(&["--operator=exec:mine.yaml"], "--operator")]
    #[case(&["--shard=1/2"], "--shard")]
    #[case(&["--set=pod.storeResults=true"], "pod.storeResults")]
    fn options_about_this_machine_are_refused(#[case] words: &[&str], #[case] named: &str) {
        let line = format!("job --image=suite:1 {}", words.join(" "));
        let error = testing::job(&line).map(drop).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{named} cannot be combined with `job`")), "{error}");
    }
}
