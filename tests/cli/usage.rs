use crate::{Cli, assert_fails};

#[rstest::rstest]
#[case(&["run", "--frobnicate"], "--frobnicate")]
#[case(&["run", "--backend", "default-schedular"], "did you mean \"default-scheduler\"?")]
#[case(&["run", "--scope", "Podgang"], "did you mean \"PodGang\"?")]
#[case(&["run", "aon/exact-fit-bond"], "did you mean \"aon/exact-fit-bound\"?")]
#[case(&["run", "AONN-02"], "did you mean \"AON-02\"?")]
#[case(&["run", "tpo/*"], "\"tpo/*\" matches no case and no clause")]
#[case(&["run", "--case", "aon/one-pod-short"], "--case aon/one-pod-short is now written: run aon/one-pod-short")]
#[case(&["run", "--depth", "deep"], "[possible values: quick, default, full]")]
#[case(&["up"], "up is now written: cluster create")]
#[case(&["run", "--skip", "aon/exact-fit-bond"], "did you mean \"aon/exact-fit-bound\"?")]
#[case(&["run", "del", "--skip", "del"], "--skip del: every selected case is skipped")]
#[case(&["run", "--fail-fast", "--set", "output.accept=known.yaml"], "known.yaml: No such file")]
#[case(&["run", "--shard", "4/3"], "expected I/N, the Ith of N shards")]
#[case(&["run", "--set", "target.features=AtomicPodGang"], "the features of default-scheduler are built in")]
#[case(
    &["run", "--backend", "external:mine", "--set", "target.features=Atomic"],
    "did you mean \"AtomicPodGang\"?"
)]
#[case(&["run", "--backend", "external:mine"], "pass --provider existing")]
#[case(
    &["run", "--provider", "existing", "--operator", "existing", "--set", "operator.declaration=d.yaml"],
    "d.yaml: No such file"
)]
#[case(&["run", "--operator", "mine"], "existing")]
#[case(&["run", "--provider", "existing", "--set", "pod.shards=2"], "a pod of an Indexed Job, which has JOB_COMPLETION_INDEX")]
#[case(&["run", "--plan"], "--plan describes a run in your own cluster: pass --provider existing")]
#[case(&["run", "--scheduler-config", "kube-scheduler"], "expected NAME=FILE or NAME=stock")]
#[case(&["run", "--scheduler-config", "kube-scheduler=nowhere.yaml"], "nowhere.yaml: No such file")]
#[case(&["run", "-f", "nowhere.yaml"], "nowhere.yaml: No such file")]
#[case(&["run", "--set", "cluster.onEtcd=true"], "did you mean \"cluster.oneEtcd\"?")]
#[case(&["job"], "--image <IMAGE>")]
#[case(&["job", "--kubeconfig", "nowhere", "--image", "suite:1"], "nowhere: no such file")]
#[case(
    &["job", "--kubeconfig", "nowhere", "--image", "suite:1", "--component", "etcd=/bin/true"],
    "--component cannot be combined with `job`"
)]
#[case(&["job", "--kubeconfig", "k", "--image", "i", "--shard", "1/2"], "--shard cannot be combined with `job`")]
#[case(&["job", "--kubeconfig", "k", "--image", "i", "aon/exact-fit-bond"], "did you mean")]
#[case(&["report", "fetch", "--kubeconfig", "nowhere"], "nowhere: no such file")]
#[case(&["cluster", "create", "--operator", "mine"], "existing")]
#[case(&["cluster", "delete", "nowhere"], "no cluster \"nowhere\" is running")]
#[case(&["run", "--component", "volcano"], "expected NAME=PATH")]
#[case(&["run", "--component", "volcano=chart:@1.14.4"], "needs --provider kind")]
#[case(&["run", "--provider", "kind", "--component", "volcanoo=chart:@1.14.4"], "did you mean \"volcano\"?")]
#[case(&["run", "--provider", "kind", "--component", "volcano=chart:x@"], "expected CHART, CHART@VERSION or @VERSION")]
#[case(&["run", "--component", "etcd=version:latest"], "expected a version such as 1.37.2")]
#[case(&["run", "--component", "kube-scheduler=version:1.35.0"], "no target for Kubernetes 1.35; known: 1.36")]
#[case(&["run", "--component", "kai-scheduler=version:0.17.0"], "version:V works only for etcd, ")]
#[case(&["run", "--component", "kube-apiserver=version:1.37.0"], "the cluster has Kubernetes 1.36: pass --kubernetes 1.37")]
#[case(
    &["run", "--kubernetes", "all", "--component", "kube-apiserver=version:1.36.1"],
    "the cluster has Kubernetes 1.37: pass --kubernetes 1.36"
)]
#[case(
    &["run", "--component", "etcd=version:3.6.9", "--set", "programs.offline=true"],
    "programs.offline builds nothing"
)]
#[case(&["run", "--kubernetes", "1.38", "--set", "programs.offline=true"], "Kubernetes 1.38 is a preview, which is built")]
#[case(&["run", "--kubernetes", "1.38", "--provider", "kind"], "a preview, which has no node image")]
#[case(&["cluster", "create", "--component", "etcd=version:3.6.9", "--offline"], "programs.offline builds nothing")]
#[case(
    &["run", "--component", "kube-scheduler=version:1.36.1", "--provider", "kind"],
    "nodes of a kind cluster have the pinned programs"
)]
#[case(
    &["run", "--component", "vc-scheduler=version:1.14.1", "--provider", "existing"],
    "nothing is installed in your own cluster"
)]
#[case(
    &["dev", "mutants", "restless", "--component", "etcd=version:3.6.9"],
    "mutants run pinned versions and checkouts (src:DIR) only"
)]
#[case(
    &["dev", "mutants", "restless", "--component", "kai-scheduler=src:nowhere"],
    "the folder does not exist"
)]
#[case(&["ai-conformance", "--backend", "volcanoo"], "did you mean \"volcano\"?")]
#[case(&["ai-conformance", "--kubernetes", "all"], "omit --kubernetes all")]
#[case(&["observe", "bound/lost-pod"], "did you mean \"bound/lost-pod-replaced\"?")]
#[case(&["observe", "--against", "nowhere.json"], "--against nowhere.json: No such file")]
#[case(&["observe", "--fail-on-change"], "--against <FILE>")]
#[case(&["observe", "--backend", "volcanoo"], "did you mean \"volcano\"?")]
#[case(&["run", "--cluster", "nowhere"], "no cluster \"nowhere\" is running")]
#[case(&["workload", "nowhere.yaml", "--nodes", "8x8"], "nowhere.yaml")]
#[case(&["workload", "w.yaml"], "--nodes")]
#[case(&["workload", "w.yaml", "--nodes", "8y8"], "--nodes 8y8: expected NODESxGPUS")]
#[case(&["workload", "w.yaml", "--nodes", "nowhere.yaml"], "--nodes nowhere.yaml: No such file")]
#[case(&["workload", "w.yaml", "--nodes", "1001x8"], "expected NODESxGPUS")]
#[case(&["workload", "w.yaml", "--nodes", "nodes"], "--nodes nodes: No such file")]
#[case(&["workload", "w.yaml", "--nodes", "."], "pass NODESxGPUS, or a file of Nodes")]
#[case(&["workload", "w.yaml", "--nodes-from", "nowhere"], "--nodes-from: --kubeconfig nowhere: no such file")]
#[case(&["workload", "w.yaml", "--nodes", "8x8", "--nodes-from", "k"], "cannot be used with")]
#[case(&["workload", "w.yaml", "--nodes", "8x8", "--nodes-from-context", "c"], "cannot be used with")]
#[case(&["workload", "w.yaml", "--nodes-from-context", "c"], "--nodes-from <KUBECONFIG>")]
#[case(
    &["run", "--operator", "reference", "--set", "operator.declaration=d.yaml"],
    "the declaration of the reference operator is built in"
)]
#[case(&["run", "--upgrade-from", "upstrem=x"], "--upgrade-from: operator upstrem=x: unknown kind of operator")]
#[case(&["run", "--upgrade-from", "exec:nowhere.yaml"], "--upgrade-from: nowhere.yaml")]
#[case(&["load", "--nodes", "50x8"], "--pods")]
#[case(&["load", "--pods", "300"], "--nodes")]
#[case(&["load", "--nodes", "50x8", "--pods", "300", "--backend", "all"], "`load` measures one backend at a time")]
#[case(&["load", "--nodes", "50x8", "--pods", "300", "--backend", "kai-scheduler"], "pass default-scheduler, volcano or koord-scheduler")]
#[case(&["load", "--nodes", "50x8", "--pods", "300", "--kubernetes", "all"], "omit --kubernetes all")]
#[case(&["run", "--component", "kubelet=/bin/true"], "unknown component")]
#[case(&["run", "--component", "etcd=/nowhere"], "No such file")]
#[case(
    &["run", "--component", "grove-backend-controller=/nowhere"],
    "--component grove-backend-controller=/nowhere: no such file"
)]
#[case(
    &["trainjobs", "--component", "trainer-kai-plugin=/nowhere"],
    "--component trainer-kai-plugin=/nowhere: no such file"
)]
#[case(&["dev", "mutants", "nothing"], "unknown mutant")]
#[case(&["dev", "mutants", "every-replica-leads"], "pass --provider kind")]
#[case(&["dev", "mutants", "--provider", "kind", "restless"], "pass --provider local")]
#[case(&["dev", "mutants", "--provider", "existing"], "mutants break clusters that they create themselves")]
#[case(&["replay", "nowhere.jsonl"], "nowhere.jsonl")]
#[case(&["report", "merge", "-o", "merged"], "<FILE>")]
#[case(&["report", "recover"], "<DIR>")]
#[case(&["report", "html", "nowhere"], "nowhere: No such file")]
#[case(&["report", "html", "."], ".: the folder has neither report.yaml nor report.json")]
#[case(&["report", "compare", "nowhere.yaml"], "<NEW>")]
#[case(&["report", "compare", "old.yaml", "new.yaml"], "old.yaml: No such file")]
#[case(&["report", "table"], "<REPORT>...")]
#[case(&["clean", "--run", "1f2e3d"], "--kubeconfig <FILE>")]
#[case(&["clean", "--dry-run"], "--kubeconfig <FILE>")]
#[case(&["clean", "--context", "dev"], "--kubeconfig <FILE>")]
#[case(&["clean", "--kubeconfig", "nowhere"], "--kubeconfig nowhere: no such file")]
#[case(&["run", "--provider", "existing", "--kubeconfig", "nowhere"], "--kubeconfig nowhere: no such file")]
#[case(&["clean", "--kubeconfig", "nowhere", "--components"], "cannot be used with")]
#[case(&["list", "--format", "xml"], "[possible values: table, json]")]
#[case(&["report", "merge", "nowhere.yaml", "-o", "merged"], "nowhere.yaml: No such file")]
fn invalid_arguments_are_usage_errors(#[case] args: &[&str], #[case] expected: &str) {
    let output = Cli::new().run(args);
    assert_fails(&output, 2, &[expected]);
}
