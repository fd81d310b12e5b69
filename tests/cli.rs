//! The command line as a user sees it: texts, exit codes, and what remains after a process is killed.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use conformance_contract::clauses::CLAUSES;
use conformance_driver::case::Case;
use conformance_install::catalogue::module_files;
use conformance_install::schedulers;
use conformance_report::{CaseResult, Features, Judgement, Outcome, TargetReport, testing};
use conformance_run::suites;
use tempfile::TempDir;

struct Cli {
    home: TempDir,
}

impl Cli {
    fn new() -> Self {
        Self { home: tempfile::tempdir().expect("a folder can be made") }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_grove-conformance"));
        command
            .args(args)
            .current_dir(self.home.path())
            .env("GROVE_CONFORMANCE_STATE", self.home.path().join("state"))
            .env_remove("KUBECONFIG")
            .env_remove("RUST_LOG");
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("the program runs")
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.home.path().join(name);
        std::fs::write(&path, text).expect("a file can be written");
        path.display().to_string()
    }

    /// Writes this script as `go` into `bin` in the home.
    fn go(&self, script: &str) {
        let go = self.home.path().join("bin/go");
        // Keep an existing script, because a second process may be running it.
        if go.exists() {
            return;
        }
        std::fs::create_dir_all(self.home.path().join("bin")).expect("a folder can be made");
        std::fs::write(&go, format!("#!/bin/sh\n{script}\n")).expect("a script can be written");
        std::fs::set_permissions(&go, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
    }

    /// PATH has only `bin`, the component cache is empty, and there is no cargo.
    fn command_with_bin(&self, args: &[&str]) -> Command {
        let mut command = self.command(args);
        command
            .env("PATH", self.home.path().join("bin"))
            .env("HOME", self.home.path())
            .env("GROVE_CONFORMANCE_CACHE", self.home.path().join("cache"))
            .env_remove("CARGO");
        command
    }

    /// Runs the program with this script as `go`, if any.
    fn with_go(&self, args: &[&str], script: Option<&str>) -> Output {
        if let Some(script) = script {
            self.go(script);
        }
        self.command_with_bin(args).output().expect("the program runs")
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[rstest::rstest]
#[case(&["run", "--frobnicate"], "--frobnicate")]
#[case(&["run", "--backend", "default-schedular"], "did you mean \"default-scheduler\"?")]
#[case(&["run", "--scope", "Podgang"], "did you mean \"PodGang\"?")]
#[case(&["run", "aon/exact-fit-bond"], "did you mean \"aon/exact-fit-bound\"?")]
#[case(&["run", "AONN-02"], "did you mean \"AON-02\"?")]
#[case(&["run", "tpo/*"], "\"tpo/*\" matches no case and no clause")]
#[case(&["run", "--case", "aon/one-pod-short"], "--case aon/one-pod-short is now written: run aon/one-pod-short")]
#[case(&["run", "--clause=AON-02"], "--clause AON-02 is now written: run AON-02")]
#[case(&["run", "--tier", "agnostic"], "--tier agnostic is now written: run --class agnostic")]
#[case(&["run", "--every-scope"], "--every-scope is now written: run --depth full")]
#[case(&["run", "--depth", "deep"], "[possible values: default, full]")]
#[case(&["run", "--report-dir", "out"], "--report-dir out is now written: run --output out")]
#[case(&["report", "merge", "a.yaml", "--report-dir", "out"], "is now written: report merge --output out")]
#[case(&["run", "--workload", "w.yaml"], "--workload w.yaml is now written: workload w.yaml")]
#[case(&["run", "--generate", "5"], "--generate 5 is now written: fuzz --count 5")]
#[case(&["run", "--scale", "50x8", "--pods", "300"], "--scale 50x8 is now written: load --nodes 50x8")]
#[case(&["run", "--trainjob"], "--trainjob is now written: trainjobs")]
#[case(&["run", "--profile", "ai-conformance"], "--profile ai-conformance is now written: ai-conformance")]
#[case(&["run", "--in-cluster", "--image", "i"], "--in-cluster is now written: job")]
#[case(&["run", "--bin", "etcd=/bin/true"], "--bin etcd=/bin/true is now written: run --component etcd=/bin/true")]
#[case(&["run", "--scheduler-source", "a=b"], "is now written: run --component a=src:b")]
#[case(&["up"], "up is now written: cluster create")]
#[case(&["down", "dev"], "down is now written: cluster delete")]
#[case(&["soak", "--runs", "2", "--case", "aon"], "--case aon is now written: dev soak aon")]
#[case(&["mutants", "--report-dir=out"], "--report-dir out is now written: dev mutants --output out")]
#[case(&["run", "--skip", "aon/exact-fit-bond"], "did you mean \"aon/exact-fit-bound\"?")]
#[case(&["run", "del", "--skip", "del"], "--skip del: every selected case is skipped")]
#[case(&["run", "--fail-fast", "--set", "output.accept=known.yaml"], "known.yaml: No such file")]
#[case(&["run", "--shard", "0/3"], "expected I/N, the Ith of N shards")]
#[case(&["run", "--shard", "4/3"], "expected I/N, the Ith of N shards")]
#[case(&["run", "--shard", "x"], "expected I/N, the Ith of N shards")]
#[case(&["run", "--set", "target.features=AtomicPodGang"], "the features of default-scheduler are built in")]
#[case(
    &["run", "--backend", "external:mine", "--set", "target.features=Atomic"],
    "did you mean \"AtomicPodGang\"?"
)]
#[case(&["run", "--backend", "external:mine"], "pass --provider existing")]
#[case(&["run", "--operator", "existing"], "pass --provider existing")]
#[case(
    &["run", "--provider", "existing", "--operator", "existing", "--set", "operator.declaration=d.yaml"],
    "d.yaml: No such file"
)]
#[case(&["run", "--operator", "mine"], "existing")]
#[case(&["run", "--nodes-where", "pool=gpu"], "pass --provider existing")]
#[case(&["run", "--provider", "existing", "--nodes-where", "gpu"], "expected KEY=VALUE")]
#[case(&["run", "--context", "dev"], "--kubeconfig and --context need --provider existing")]
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
#[case(&["run", "--component", "etcd=version:3.5.0"], "other versions cannot be downloaded yet")]
#[case(&["ai-conformance", "--backend", "volcanoo"], "did you mean \"volcano\"?")]
#[case(&["ai-conformance", "--kubernetes", "all"], "omit --kubernetes all")]
#[case(&["ai-conformance", "--provider", "kind"], "or existing for your own cluster")]
#[case(&["run", "--cluster", "nowhere"], "no cluster \"nowhere\" is running")]
#[case(&["workload", "nowhere.yaml", "--nodes", "8x8"], "nowhere.yaml")]
#[case(&["workload", "w.yaml"], "--nodes")]
#[case(
    &["run", "--operator", "reference", "--set", "operator.declaration=d.yaml"],
    "the declaration of the reference operator is built in"
)]
#[case(&["run", "--upgrade-from", "upstrem=x"], "--upgrade-from: operator upstrem=x: unknown kind of operator")]
#[case(&["run", "--upgrade-from", "exec:nowhere.yaml"], "--upgrade-from: nowhere.yaml")]
#[case(&["run", "--upgrade-from", "reference", "--provider", "kind"], "--upgrade-from starts local processes")]
#[case(&["load", "--nodes", "50x8"], "--pods")]
#[case(&["load", "--pods", "300"], "--nodes")]
#[case(&["load", "--nodes", "50", "--pods", "300"], "--nodes 50: expected NODESxGPUS")]
#[case(&["load", "--nodes", "10x8", "--pods", "300"], "300 pods request 230 GPUs, and the nodes have 80: pass fewer pods, or more nodes")]
#[case(&["load", "--nodes", "50x8", "--pods", "300", "--provider", "kind"], "pass --provider local")]
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
#[case(&["report", "html", "."], ".: there is no report.yaml and no report.json")]
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
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains(expected), "{}", stderr(&output));
}

/// A misspelled variable would have no effect.
#[test]
fn an_unknown_environment_variable_is_a_usage_error() {
    let output =
        Cli::new().command(&["list"]).env("GROVE_CONFORMANCE_CASHE", "x").output().expect("the program runs");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("did you mean \"GROVE_CONFORMANCE_CACHE\"?"), "{}", stderr(&output));
}

/// Nothing is started: the backend is unknown.
#[test]
fn options_override_the_configuration_file() {
    let cli = Cli::new();
    let text =
        "apiVersion: conformance.grove.io/v1alpha1\nkind: ConformanceConfig\ntarget: {backend: first}\n";
    let file = cli.file("conformance.yaml", text);
    for (options, named) in [
        (&[][..], "first"),
        (&["--set", "target.backend=second"], "second"),
        (&["--backend", "third"], "third"),
    ] {
        let output = cli.run(&[&["run", "-f", &file], options].concat());
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(&format!("unknown backend {named:?}")), "{}", stderr(&output));
    }
}

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

fn kubeconfig(server: &str) -> String {
    kubeconfig_named("c", server)
}

/// A kubeconfig whose cluster and context have this name.
fn kubeconfig_named(name: &str, server: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: {name}\nclusters: [{{name: {name}, cluster: {{server: '{server}'}}}}]\n\
         contexts: [{{name: {name}, context: {{cluster: {name}, user: u}}}}]\nusers: [{{name: u, user: {{}}}}]\n"
    )
}

/// Nothing listens on the ports of the servers, so the error names the server.
#[rstest::rstest]
#[case::default_file(None, &[], "http://127.0.0.1:1/")]
#[case::variable(Some("second"), &[], "http://127.0.0.1:2/")]
#[case::first_file_of_variable(Some("second:third"), &[], "http://127.0.0.1:2/")]
#[case::context_of_another_file(Some("second:third"), &["--context", "third"], "http://127.0.0.1:3/")]
#[case::option(Some("second"), &["--kubeconfig", "third"], "http://127.0.0.1:3/")]
fn a_kubeconfig_is_found_as_by_kubectl(
    #[case] variable: Option<&str>,
    #[case] options: &[&str],
    #[case] server: &str,
) {
    let cli = Cli::new();
    std::fs::create_dir(cli.home.path().join(".kube")).expect("a folder can be made");
    for (file, name, port) in [(".kube/config", "first", 1), ("second", "second", 2), ("third", "third", 3)] {
        cli.file(file, &kubeconfig_named(name, &format!("http://127.0.0.1:{port}")));
    }
    let run = ["run", "--provider", "existing", "--operator", "existing"];
    let mut command = cli.command(&[&run[..], options].concat());
    command.env("HOME", cli.home.path());
    if let Some(files) = variable {
        command.env("KUBECONFIG", files);
    }
    let output = command.output().expect("the program runs");
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains(&format!("{server} does not answer")), "{}", stderr(&output));
}

#[test]
fn a_missing_kubeconfig_is_a_usage_error() {
    let cli = Cli::new();
    let mut command = cli.command(&["run", "--provider", "existing"]);
    command.env("HOME", cli.home.path()).env_remove("KUBERNETES_SERVICE_HOST");
    let output = command.output().expect("the program runs");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("unless it runs in a pod of the cluster"), "{}", stderr(&output));
}

#[rstest::rstest]
#[case::no_yaml("clusters: [", "kubeconfig")]
#[case::nothing("", "kubeconfig")]
#[case::no_such_context("apiVersion: v1\nkind: Config\ncurrent-context: c\n", "c")]
fn an_unusable_kubeconfig_is_a_usage_error(#[case] text: &str, #[case] expected: &str) {
    let cli = Cli::new();
    let file = cli.file("kubeconfig", text);
    for verb in [&["run", "--provider", "existing"][..], &["clean"]] {
        let output = cli.run(&[verb, &["--kubeconfig", &file]].concat());
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(&file) && stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

#[test]
fn an_unreachable_cluster_is_an_error_and_leaves_no_report() {
    let cli = Cli::new();
    // The listener is dropped, so nothing listens on the port.
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
    let server = format!("http://127.0.0.1:{port}");
    let file = cli.file("kubeconfig", &kubeconfig(&server));
    let output = cli.run(&["run", "--provider", "existing", "--kubeconfig", &file, "--operator", "existing"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let said = stderr(&output);
    assert!([&*server, &*file, "does not answer"].iter().all(|words| said.contains(words)), "{said}");
    assert!(!cli.home.path().join("conformance-report/report.yaml").exists());
}

#[test]
fn a_failed_log_write_does_not_change_the_exit_code() {
    let cli = Cli::new();
    let file = cli.file("kubeconfig", &kubeconfig("http://127.0.0.1:1"));
    let full = || std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
    let mut command = cli.command(&["run", "--provider", "existing", "--kubeconfig", &file]);
    let status =
        command.env("RUST_LOG", "trace").stdout(full()).stderr(full()).status().expect("the program runs");
    assert_eq!(status.code(), Some(3));
}

/// An API server that serves only Kubernetes' core, knows the user, and permits nothing.
fn forbidding_api_server() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let server = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    server
}

/// Answers the requests of one connection.
fn answer(stream: std::net::TcpStream) {
    use std::io::{BufRead, BufReader, Read, Write};
    let mut reader = BufReader::new(stream);
    loop {
        let (mut line, mut length) = (String::new(), 0);
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        loop {
            let mut header = String::new();
            if reader.read_line(&mut header).unwrap_or(0) <= 2 {
                break;
            }
            if let Some(found) = header.to_ascii_lowercase().strip_prefix("content-length:") {
                length = found.trim().parse().unwrap_or(0);
            }
        }
        let mut sent = vec![0; length];
        let _ = reader.read_exact(&mut sent);
        let body = match path.as_str() {
            "/version" => {
                r#"{"major":"1","minor":"36","gitVersion":"v1.36.0","gitCommit":"","gitTreeState":"","buildDate":"","goVersion":"","compiler":"","platform":""}"#.to_owned()
            }
            "/api" => r#"{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[]}"#.to_owned(),
            "/apis" => r#"{"kind":"APIGroupList","groups":[]}"#.to_owned(),
            "/api/v1" => r#"{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","singularName":"","namespaced":true,"kind":"Pod","verbs":["list","watch"]}]}"#.to_owned(),
            // A review of permissions is returned without a status, which permits nothing.
            _ => String::from_utf8_lossy(&sent).into_owned(),
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        if reader.get_mut().write_all(format!("{head}{body}").as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn missing_permissions_are_reported_before_any_case() {
    let cli = Cli::new();
    let file = cli.file("kubeconfig", &kubeconfig(&forbidding_api_server()));
    let output = cli.run(&["run", "--provider", "existing", "--kubeconfig", &file, "--operator", "existing"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(
        ["may not", "watch pods", "create namespaces"].iter().all(|words| said.contains(words)),
        "{said}"
    );
    assert!(!cli.home.path().join("conformance-report/report.yaml").exists());
}

#[test]
fn a_plan_lists_missing_permissions_and_creates_nothing() {
    let cli = Cli::new();
    let file = cli.file("kubeconfig", &kubeconfig(&forbidding_api_server()));
    let run = ["run", "--plan", "--provider", "existing", "--kubeconfig", &file, "--operator", "existing"];
    let output = cli.run(&run);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let said = stdout(&output);
    for expected in
        ["Nothing was created", "create: ", "MISSING: ", "watch pods", "create namespaces", "NoSchedule"]
    {
        assert!(said.contains(expected), "{expected}: {said}{}", stderr(&output));
    }
    assert!(!cli.home.path().join("conformance-report").exists());
}

#[test]
fn a_file_that_is_not_a_report_is_not_merged() {
    let cli = Cli::new();
    let file = cli.file("pod.yaml", "apiVersion: v1\nkind: Pod\n");
    let output = cli.run(&["report", "merge", &file, "-o", "merged"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("ConformanceReport, found v1 Pod"), "{}", stderr(&output));
    assert!(!cli.home.path().join("merged").exists(), "nothing was written");
}

/// A report of one case on Volcano, with this outcome for AON-01.
fn report_with(outcome: Outcome) -> String {
    let judgement = Judgement { clause: "AON-01".into(), outcome, violations: Vec::new() };
    let case = CaseResult::new("aon/exact-fit-bound", "a gang that fits", vec![judgement]);
    let target = TargetReport::new(
        "volcano",
        None,
        "v1.14.1",
        Features {
            supported: vec![conformance_contract::clauses::Feature::GangScheduling],
            ..Features::default()
        },
    );
    let report = testing::report(vec![target.conclude(CLAUSES.iter(), vec![case])]);
    serde_json::to_string(&report).expect("a report is JSON")
}

#[test]
fn reports_are_rendered_compared_and_tabulated() {
    let cli = Cli::new();
    for (folder, outcome) in [("old", Outcome::pass()), ("new", Outcome::fail("2 of 3 pods are bound"))] {
        std::fs::create_dir(cli.home.path().join(folder)).expect("a folder can be made");
        cli.file(&format!("{folder}/report.json"), &report_with(outcome));
    }
    let page = cli.run(&["report", "html", "old"]);
    assert_eq!(page.status.code(), Some(0), "{}", stderr(&page));
    let text = std::fs::read_to_string(cli.home.path().join("old/report.html")).expect("it is written");
    assert!(text.contains("<h1") && text.contains("AON-01"));
    for (args, code, expected) in [
        (["old", "new"], 1, "# Regressed: 1 clause, 1 feature"),
        (["new", "old"], 0, "# No regression"),
        (["old", "old"], 0, "# No regression"),
    ] {
        let output = cli.run(&["report", "compare", args[0], args[1]]);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", stderr(&output));
        assert!(stdout(&output).starts_with(expected), "{args:?}: {}", stdout(&output));
    }
    let both =
        cli.run(&["report", "compare", "old", "new", "--out", "new/changes.html", "--out", "changes.md"]);
    assert_eq!(both.status.code(), Some(1), "{}", stderr(&both));
    let text = std::fs::read_to_string(cli.home.path().join("new/changes.html")).expect("it is written");
    assert!(text.contains("href=\"report.html#AON-01\""), "{text}");
    assert!(cli.home.path().join("changes.md").exists());
    let table = cli.run(&["report", "table", "old", "new"]);
    assert_eq!(table.status.code(), Some(0), "{}", stderr(&table));
    assert!(stdout(&table).contains("| volcano |"), "{}", stdout(&table));
    let edited = report_with(Outcome::fail("x")).replacen("\"verdict\":\"fail\"", "\"verdict\":\"pass\"", 1);
    cli.file("old/report.json", &edited);
    let refused = cli.run(&["report", "evidence", "old/report.json"]);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("the report does not agree with itself"), "{}", stderr(&refused));
}

#[test]
fn help_is_whole() {
    insta::assert_snapshot!(stdout(&Cli::new().run(&["--help"])));
    insta::assert_snapshot!(stdout(&Cli::new().run(&["run", "--help"])));
}

/// Compares only the first lines, because the rest is the help text, which has its own snapshots.
#[rstest::rstest]
#[case::bash("completions_of_bash", &["completions", "bash"])]
#[case::man("manual_page", &["man"])]
fn shells_and_man_get_the_command_line(#[case] name: &str, #[case] args: &[&str]) {
    let output = Cli::new().run(args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let first: Vec<_> = stdout(&output).lines().take(20).map(str::to_owned).collect();
    insta::assert_snapshot!(name, first.join("\n"));
}

#[test]
fn every_visible_verb_has_a_manual_page() {
    let cli = Cli::new();
    let output = cli.run(&["man", "--dir", "man1"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let mut pages: Vec<_> = std::fs::read_dir(cli.home.path().join("man1"))
        .expect("the folder was made")
        .map(|entry| entry.expect("it can be read").file_name().into_string().expect("names are UTF-8"))
        .collect();
    pages.sort();
    insta::assert_snapshot!(pages.join("\n"));
}

#[test]
fn every_case_is_listed_with_its_clauses_and_title() {
    let output = Cli::new().run(&["list"]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    let mut rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    assert_eq!(rows.next().as_deref(), Some("CASE CLAUSES WHAT IT SHOWS"));
    let row = |case: &Case| format!("{} {} {}", case.id, case.clauses.join(" "), case.title);
    assert_eq!(rows.collect::<Vec<_>>(), suites::cases().map(row).collect::<Vec<_>>());
}

#[rstest::rstest]
#[case::no_go(None, "`go` cannot be run")]
#[case::old_go(
    Some("echo 'go: go.mod requires go >= 1.26.0 (running go 1.21.0)' >&2; exit 1"),
    "running go 1.21.0"
)]
#[case::does_not_compile(
    Some(
        "case $1$2 in envGOVERSION) echo go1.26.8 linux amd64;; env*) echo $HOME/go;; \
         *) echo 'main.go:1: syntax error' >&2; exit 1;; esac"
    ),
    "main.go:1: syntax error"
)]
fn a_toolchain_that_cannot_build_is_an_infrastructure_error(
    #[case] go: Option<&str>,
    #[case] expected: &str,
) {
    let output = Cli::new().with_go(&["dev", "components", "build"], go);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains(expected), "{}", stderr(&output));
}

/// A read-only disk and a missing Go are both reported before anything is built.
#[test]
fn all_missing_requirements_are_reported_at_once() {
    let cli = Cli::new();
    let file = cli.file("not-a-folder", "");
    let output = cli
        .command(&["run"])
        .env("PATH", cli.home.path().join("bin"))
        .env("GROVE_CONFORMANCE_CACHE", cli.home.path().join("cache"))
        .env("GROVE_CONFORMANCE_STATE", format!("{file}/state"))
        .output()
        .expect("the program runs");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    for wanted in
        ["nothing has been built", "state folder: ", "set GROVE_CONFORMANCE_STATE", "go: `go` cannot be run"]
    {
        assert!(said.contains(wanted), "{wanted:?} is not in: {said}");
    }
}

/// A Go that has every module, with the pinned digest, and builds shell scripts. It adds a line per program
/// to `builds` in the home.
const QUICK_GO: &str = r#"case $1 in
env) case $2 in GOVERSION) echo go1.26.8 linux amd64;; GOPROXY) echo off;; *) echo "$HOME/go";; esac;;
mod)
    case $3 in -json) read -r _ _ sum < go.sum; echo "{\"Dir\": \"$PWD\", \"Sum\": \"$sum\"}";; esac;;
build)
    while [ "$1" != -o ]; do shift; done
    /bin/sleep 0.1
    output=$2
    shift 2
    for package; do
        case $output in */) program=$output${package##*/};; *) program=$output;; esac
        echo "$program" >> "$HOME/builds"
        echo '#!/bin/sh' > "$program"
    done;;
esac"#;

impl Cli {
    fn quick_build(&self) -> Command {
        self.go(QUICK_GO);
        self.command_with_bin(&["dev", "components", "build"])
    }

    fn builds(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.home.path().join("builds")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

/// Cargo is needed only after Go has built other programs for minutes, so its absence is reported first.
#[test]
fn kind_without_cargo_is_refused_before_anything_is_built() {
    let cli = Cli::new();
    let output = cli.with_go(&["run", "--provider", "kind"], Some(QUICK_GO));
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    for wanted in ["nothing has been built", "cargo: `cargo --version` failed", "containers: "] {
        assert!(said.contains(wanted), "{wanted:?} is not in: {said}");
    }
    assert!(cli.builds().is_empty());
}

/// Needs Go but no network: Go's module cache is empty, and nothing answers at the address of the proxy.
#[rstest::rstest]
#[case::forbidden("off", "", "module lookup disabled by GOPROXY=off")]
#[case::nothing_answers("http://127.0.0.1:9", "", "connection refused")]
#[case::the_next_is_not_asked("http://127.0.0.1:9,direct", "", "connection refused")]
#[case::go_mod_may_be_edited("http://127.0.0.1:9", "-mod=mod", "connection refused")]
fn unavailable_modules_are_reported_before_anything_is_built(
    #[case] proxy: &str,
    #[case] flags: &str,
    #[case] expected: &str,
) {
    let cli = Cli::new();
    let mut command = cli.command(&["dev", "components", "build"]);
    let output = command
        .env("GROVE_CONFORMANCE_CACHE", cli.home.path().join("cache"))
        .env("GOMODCACHE", cli.home.path().join("modules"))
        .env("GOPROXY", proxy)
        .env("GOFLAGS", flags)
        .output()
        .expect("the program runs");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    for wanted in ["nothing has been built", "go modules: ", expected, "GOMODCACHE"] {
        assert!(said.contains(wanted), "{wanted:?} is not in: {said}");
    }
    assert!(!cli.home.path().join("cache/components").exists(), "{said}");
}

/// A home that cannot be written, with Go's cache in it. It is a file, because root may write anywhere.
#[test]
fn every_unwritable_folder_is_reported() {
    let cli = Cli::new();
    let file = cli.file("read-only", "");
    let mut command = cli.quick_build();
    for name in ["GROVE_CONFORMANCE_CACHE", "GROVE_CONFORMANCE_STATE", "XDG_CACHE_HOME", "XDG_STATE_HOME"] {
        command.env_remove(name);
    }
    let output = command.env("HOME", &file).output().expect("the program runs");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    for wanted in
        ["state folder: ", "cache folder: ", "set GROVE_CONFORMANCE_CACHE", "set GROVE_CONFORMANCE_STATE"]
    {
        assert!(said.contains(wanted), "{wanted:?} is not in: {said}");
    }
    let output = cli.quick_build().env("HOME", &file).output().expect("the program runs");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("go build cache: ") && said.contains("set GOCACHE"), "{said}");
    let mut command = cli.command(&["dev", "components", "build"]);
    command.env("GROVE_CONFORMANCE_CACHE", cli.home.path().join("cache")).env("GOCACHE", "off");
    let said = stderr(&command.output().expect("the program runs"));
    assert!(said.contains("GOCACHE is \"off\", not a folder") || said.contains("GOCACHE=off"), "{said}");
}

#[test]
fn incomplete_cache_entries_are_built_again() {
    let cli = Cli::new();
    let output = cli.quick_build().output().expect("the program runs");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let built = cli.builds().len();
    let folder = |parent: &str, name: &str| {
        let entries = std::fs::read_dir(cli.home.path().join("cache").join(parent)).expect("it is there");
        let mut paths = entries.map(|entry| entry.expect("it can be read").path());
        paths.find(|path| path.display().to_string().contains(&format!("/{name}-"))).expect("it is built")
    };
    let write = |path: std::path::PathBuf, text: &str| std::fs::write(path, text).expect("it can be written");
    // Truncated: a description, a program, a program whose build never ended, a pinned module.
    write(folder("components", "etcd").join("built.json"), "{\"name\": \"etc");
    write(folder("components", "kwok").join("kwok"), "#!");
    let kind = folder("components", "kind");
    std::fs::create_dir(kind.join("unfinished")).expect("it was removed after the build");
    std::fs::rename(kind.join("kind"), kind.join("unfinished/kind")).expect("it was built");
    std::fs::remove_file(kind.join("built.json")).expect("it was built");
    write(folder("modules", "etcd").join("go.mod"), "module");
    let output = cli.quick_build().output().expect("the program runs");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(cli.builds().len(), built + 3, "{}", stderr(&output));
    let go_mod = std::fs::read_to_string(folder("modules", "etcd").join("go.mod")).expect("it is there");
    assert!(go_mod.contains("require"), "{go_mod}");
}

/// [`QUICK_GO`] with the source of every module in `source` in the home.
const GO_WITH_SOURCE: &str = r#"case $1 in list) echo "$HOME/source"; exit;; esac"#;

/// A release folder with the program of the suite, and small scripts as the other programs.
fn release() -> (Cli, std::path::PathBuf) {
    let cli = Cli::new();
    for files in module_files(&schedulers::all().collect(), true) {
        for file in files.files {
            let path = cli.home.path().join("source").join(file);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder can be made");
            std::fs::write(path, "kind: CustomResourceDefinition\n").expect("a file can be written");
        }
    }
    let go = format!("{GO_WITH_SOURCE}\n{QUICK_GO}");
    let output = cli.with_go(&["dev", "components", "fetch", "--to", "release"], Some(&go));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let folder = cli.home.path().join("release");
    let program = folder.join("grove-conformance");
    if std::fs::hard_link(env!("CARGO_BIN_EXE_grove-conformance"), &program).is_err() {
        std::fs::copy(env!("CARGO_BIN_EXE_grove-conformance"), &program).expect("the program can be copied");
    }
    (cli, folder)
}

/// Runs the program of a release, with nothing on PATH and an empty cache.
fn of_release(cli: &Cli, folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(folder.join("grove-conformance"));
    command
        .args(args)
        .current_dir(cli.home.path())
        .env("PATH", "")
        .env("GROVE_CONFORMANCE_CACHE", cli.home.path().join("unused"))
        .env("GROVE_CONFORMANCE_STATE", cli.home.path().join("state"));
    command.output().expect("the program runs")
}

#[test]
fn a_release_needs_no_go() {
    let (cli, folder) = release();
    let output = of_release(&cli, &folder, &["dev", "components", "list"]);
    let listed = stdout(&output);
    let line = |name: &str| listed.lines().find(|line| line.starts_with(name)).unwrap_or(name).to_owned();
    for name in ["etcd ", "kube-apiserver ", "kwok ", "vc-scheduler ", "koord-scheduler ", "jobset "] {
        assert!(line(name).ends_with(" built") && !line(name).ends_with("not built"), "{listed}");
    }
    assert!(line("kind ").ends_with("not built"), "{listed}");
    // Everything is found, so the run fails only when it starts a script instead of etcd.
    let output = of_release(
        &cli,
        &folder,
        &["run", "--set", "programs.offline=true", "--backend", "volcano", "aon/one-pod-short"],
    );
    let said = stderr(&output);
    assert!(!said.contains("`go`") && !said.contains("neither in a release folder"), "{said}");
}

#[rstest::rstest]
#[case::altered(Some("#!/bin/sh\nexit 1\n"), "but SHA256SUMS lists ")]
#[case::missing(None, "SHA256SUMS lists this file, but it does not exist")]
fn an_altered_program_of_a_release_does_not_start(#[case] content: Option<&str>, #[case] expected: &str) {
    let (cli, folder) = release();
    let entries = std::fs::read_dir(folder.join("programs")).expect("it is there");
    let mut paths = entries.map(|entry| entry.expect("it can be read").path());
    let kwok = paths.find(|path| path.display().to_string().contains("/kwok-")).expect("it is there");
    match content {
        Some(text) => std::fs::write(kwok.join("kwok"), text).expect("it can be written"),
        None => std::fs::remove_file(kwok.join("kwok")).expect("it is there"),
    }
    let output = of_release(&cli, &folder, &["run", "aon/one-pod-short"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("/kwok: ") && said.contains(expected), "{said}");
    assert!(!said.contains("starting a control plane"), "{said}");
}

#[rstest::rstest]
#[case::run(&["run", "--set", "programs.offline=true", "--backend", "volcano", "AON-02"])]
#[case::cluster(&["cluster", "create", "--offline", "--backend", "volcano"])]
fn offline_lists_what_is_missing_and_builds_nothing(#[case] args: &[&str]) {
    let cli = Cli::new();
    let output = cli.with_go(args, Some(QUICK_GO));
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    for wanted in
        ["etcd v", "vc-scheduler v", "manifests of volcano.sh/volcano v", "dev components fetch --to DIR"]
    {
        assert!(said.contains(wanted), "{wanted:?} is not in: {said}");
    }
    assert!(cli.builds().is_empty(), "{said}");
}

#[rstest::rstest]
#[case(&["dev", "components", "fetch", "--to", "."], "the folder is not empty")]
#[case(&["dev", "components", "--component", "etcd=./etcd", "fetch", "--to", "new"], "copies pinned programs, omit it")]
#[case(&["run", "--provider", "kind", "--set", "programs.offline=true"], "programs.offline needs --provider local or existing")]
fn fetch_and_offline_refuse_what_they_cannot_do(#[case] args: &[&str], #[case] expected: &str) {
    let cli = Cli::new();
    cli.file("etcd", "");
    let output = cli.run(args);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains(expected), "{}", stderr(&output));
}

#[test]
fn two_first_runs_at_once_build_everything_once() {
    let cli = Cli::new();
    let start = || {
        let mut command = cli.quick_build();
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        command.spawn().expect("the program runs")
    };
    let both = [start(), start()].map(|child| child.wait_with_output().expect("it ends"));
    let said = both.each_ref().map(stderr).concat();
    for output in &both {
        assert_eq!(output.status.code(), Some(0), "{said}");
    }
    assert!(said.contains("waiting for another process that builds"), "{said}");
    let mut builds = cli.builds();
    let all = builds.len();
    builds.sort();
    builds.dedup();
    assert_eq!(builds.len(), all, "a program was built twice: {said}");
}

/// An archive of the sources has no .git, and a machine may have no git.
#[test]
fn the_version_needs_no_git() {
    let output = Cli::new().command(&["--version"]).env("PATH", "").output().expect("the program runs");
    assert_eq!(stdout(&output).trim(), concat!("grove-conformance ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn missing_helm_is_an_infrastructure_error() {
    let args = [
        "run",
        "--provider",
        "kind",
        "--component",
        "kai-scheduler=chart:pinned",
        "--backend",
        "kai-scheduler",
    ];
    let output = Cli::new().with_go(&args, None);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    for expected in ["`helm version --short` failed", "put `helm` on PATH", "omit the chart"] {
        assert!(stderr(&output).contains(expected), "{expected}: {}", stderr(&output));
    }
}

/// Compares only the first cases, because programs rely on the structure.
#[test]
fn the_list_of_cases_as_json() {
    let output = Cli::new().run(&["list", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0));
    let all: Vec<serde_json::Value> = serde_json::from_str(&stdout(&output)).expect("it is JSON");
    let shown: Vec<_> = ["adm/", "aon/", "klt/", "coex/"]
        .into_iter()
        .filter_map(|group| {
            all.iter().find(|case| case["id"].as_str().is_some_and(|id| id.starts_with(group)))
        })
        .collect();
    insta::assert_snapshot!(serde_json::to_string_pretty(&shown).expect("it is JSON"));
    let keys = |case: &serde_json::Value| {
        case.as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>()).unwrap_or_default()
    };
    assert!(all.iter().all(|case| keys(case) == keys(&all[0])), "every case has every field");
}

#[test]
fn a_folder_without_results_is_not_recovered() {
    let cli = Cli::new();
    let output = cli.run(&["report", "recover", "nowhere"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("nowhere/results.jsonl: No such file"), "{}", stderr(&output));
    std::fs::create_dir(cli.home.path().join("killed")).expect("a folder can be made");
    cli.file("killed/results.jsonl", "");
    let output = cli.run(&["report", "recover", "killed"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("killed before its first case"), "{}", stderr(&output));
}

/// Starts a run of a few cases, waits until one has passed, and sends it these signals in sequence. Returns
/// its output and exit code.
fn interrupted(cli: &Cli, signals: &[&str]) -> (String, Option<i32>) {
    let run = ["run", "aon", "--scope", "PodGroup", "--set", "execution.concurrency=2", "-o", "report"];
    let child = cli
        .command(&run)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program runs");
    let results = cli.home.path().join("report/results.jsonl");
    let begin = Instant::now();
    let has_passed =
        || std::fs::read_to_string(&results).is_ok_and(|text| text.contains(r#""verdict":"pass""#));
    while !has_passed() {
        assert!(begin.elapsed() < Duration::from_secs(120), "no case passed");
        std::thread::sleep(Duration::from_millis(50));
    }
    for signal in signals {
        let sent = Command::new("kill").args([*signal, &child.id().to_string()]).status().expect("kill runs");
        assert!(sent.success());
    }
    let output = child.wait_with_output().expect("it ends");
    (format!("{}{}", stdout(&output), stderr(&output)), output.status.code())
}

/// Needs the components, and Go once to build them.
#[rstest::rstest]
#[case("-INT", "interrupted: finishing", "SIGINT")]
#[case("-TERM", "terminated: finishing", "SIGTERM")]
fn an_interrupted_run_cleans_up_and_writes_an_incomplete_report(
    #[case] signal: &str,
    #[case] expected: &str,
    #[case] cause: &str,
) {
    let cli = Cli::new();
    let (said, code) = interrupted(&cli, &[signal]);
    assert_eq!(code, Some(3), "{said}");
    for text in [expected, &format!("Incomplete: interrupted ({cause});"), "wrote report/report.yaml"] {
        assert!(said.contains(text), "{text}: {said}");
    }
    assert_eq!(processes_of(&cli.home.path().join("state")), 0, "processes are left");
    let report = std::fs::read_to_string(cli.home.path().join("report/report.json")).expect("it is written");
    let report: serde_json::Value = serde_json::from_str(&report).expect("it is JSON");
    assert_eq!(report["incomplete"], true);
    let cases = report["targets"][0]["cases"].as_array().expect("it lists cases");
    let count_of = |verdict: &str| cases.iter().filter(|case| case["verdict"] == verdict).count();
    assert!(count_of("pass") >= 1, "what had ended is kept");
    let cut = |case: &&serde_json::Value| case["reasons"][0] == "interrupted" && case["attempts"] == 1;
    let cut: Vec<_> = cases.iter().filter(cut).collect();
    for case in &cut {
        let history = format!("report/{}/history.jsonl", case["artifacts"].as_str().expect("it is kept"));
        let replayed = cli.run(&["replay", &history]);
        assert_eq!(replayed.status.code(), Some(3), "{}", stdout(&replayed));
        assert!(stdout(&replayed).contains("not-run"), "{}", stdout(&replayed));
    }
    assert!(count_of("not-run") > cut.len(), "no case began after the signal");
    let merged = cli.run(&["report", "merge", "report/report.yaml", "-o", "merged"]);
    assert_eq!(merged.status.code(), Some(3), "{}", stderr(&merged));
}

/// Needs the components, and Go once to build them.
#[test]
fn a_report_is_recovered_from_a_killed_run() {
    let cli = Cli::new();
    let (said, code) = interrupted(&cli, &["-KILL"]);
    assert_eq!(code, None, "{said}");
    assert!(!cli.home.path().join("report/report.yaml").exists());
    let output = cli.run(&["report", "recover", "report"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stdout(&output).contains("Incomplete: the run was killed;"), "{}", stdout(&output));
    let report = std::fs::read_to_string(cli.home.path().join("report/report.json")).expect("it is written");
    let report: serde_json::Value = serde_json::from_str(&report).expect("it is JSON");
    let cases = report["targets"][0]["cases"].as_array().expect("it lists cases");
    assert!(cases.iter().any(|case| case["verdict"] == "pass"), "the case that had passed: {cases:?}");
    let again = cli.run(&["report", "recover", "report"]);
    assert_eq!(again.status.code(), Some(3), "{}", stderr(&again));
}

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

#[test]
fn a_kai_folder_names_each_missing_file() {
    let cli = Cli::new();
    let folder = cli.home.path().display().to_string();
    let output =
        cli.run(&["run", "--backend", "kai-scheduler", "--component", &format!("kai-scheduler={folder}")]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    for missing in [
        "kai-scheduler",
        "kai-binder",
        "podgroups.scheduling.run.ai",
        "queues.scheduling.run.ai",
        "bindrequests.scheduling.run.ai",
        "topologies.kai.scheduler",
    ] {
        assert!(stderr(&output).contains(missing), "{missing}: {}", stderr(&output));
    }
}

/// A folder that looks like a checkout of KAI, whose scheduler has this `main`.
fn kai_source(cli: &Cli, main: &str) -> String {
    let folder = cli.home.path().join("kai");
    let put = |file: &str, text: &str| {
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder can be made");
        std::fs::write(path, text).expect("a file can be written");
    };
    put("go.mod", "module github.com/kai-scheduler/KAI-scheduler\n\ngo 1.21\n");
    put("cmd/scheduler/main.go", &format!("package main\n\nfunc main() {{ {main} }}\n"));
    put("cmd/binder/main.go", "package main\n\nfunc main() {}\n");
    put("cmd/podgrouper/main.go", "package main\n\nfunc main() {}\n");
    for crd in [
        "scheduling.run.ai_podgroups",
        "scheduling.run.ai_queues",
        "scheduling.run.ai_bindrequests",
        "kai.scheduler_topologies",
    ] {
        put(&format!("deployments/kai-scheduler/crds/{crd}.yaml"), "kind: CustomResourceDefinition\n");
    }
    folder.display().to_string()
}

#[rstest::rstest]
#[case::no_checkout("src:/", "/ is not a checkout of kubeflow/trainer: it lacks go.mod")]
#[case::an_empty_folder("EMPTY", "it lacks a program trainer-controller-manager; a folder with crds/")]
fn an_unusable_trainer_is_a_usage_error(#[case] source: &str, #[case] expected: &str) {
    let cli = Cli::new();
    let empty = cli.home.path().join("empty");
    std::fs::create_dir(&empty).expect("a folder can be made");
    let source = source.replace("EMPTY", &empty.display().to_string());
    let component = format!("trainer-controller-manager={source}");
    let output = cli.run(&["trainjobs", "--component", &component]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    let output = cli.run(&["run", "--component", &component]);
    assert!(stderr(&output).contains("only `trainjobs` runs the trainer"), "{}", stderr(&output));
}

#[rstest::rstest]
#[case::an_unknown_name(&["--component", "volcan=src:DIR"], "known: kube-scheduler, vc-scheduler, koord-scheduler, ")]
#[case::no_checkout(
    &["--component", "kai-scheduler=src:/"],
    "/ is not a checkout of kai-scheduler/KAI-Scheduler: it lacks go.mod"
)]
#[case::two_of_one(
    &["--component", "kai-scheduler=src:DIR", "--component", "kai-scheduler=DIR"],
    "--component kai-scheduler is given twice"
)]
#[case::no_folder(&["--component", "kai-scheduler"], "expected NAME=PATH, NAME=src:DIR")]
#[case::in_the_image_of_nodes(
    &["--component", "kube-scheduler=src:DIR", "--provider", "kind"],
    "it cannot be deployed in a cluster: pass --provider local"
)]
fn an_unusable_working_tree_is_a_usage_error(#[case] flags: &[&str], #[case] expected: &str) {
    let cli = Cli::new();
    let dir = kai_source(&cli, "");
    let flags: Vec<_> = flags.iter().map(|flag| flag.replace("DIR", &dir)).collect();
    let all: Vec<_> =
        ["run", "--backend", "kai-scheduler"].into_iter().chain(flags.iter().map(String::as_str)).collect();
    let output = cli.with_go(&all, None);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    assert!(!cli.home.path().join("cache").exists(), "something was built");
}

/// Needs Go to build KAI's programs.
#[test]
fn a_working_tree_that_does_not_compile_is_reported_before_anything_else_is_built() {
    let cli = Cli::new();
    let dir = kai_source(&cli, "nothing()");
    let mut command = cli.command(&[
        "run",
        "--backend",
        "kai-scheduler",
        "--component",
        &format!("kai-scheduler=src:{dir}"),
    ]);
    command.env("GROVE_CONFORMANCE_CACHE", cli.home.path().join("cache"));
    let output = command.output().expect("the program runs");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    for expected in ["building kai-scheduler unknown failed; log: ", "undefined: nothing"] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert!(!said.contains("etcd"), "{said}");
    assert_eq!(processes_of(&cli.home.path().join("state")), 0, "processes are left");
}

/// Needs the components, and Go once to build them.
#[test]
fn a_scheduler_that_exits_at_start_is_reported_and_its_backend_is_skipped() {
    let cli = Cli::new();
    let script = "#!/bin/sh\n[ \"$1\" = --version ] && echo v9.9.9 && exit 0\necho 'no plan to schedule by' >&2\nexit 1\n";
    let scheduler = cli.file("vc-scheduler", script);
    std::fs::set_permissions(&scheduler, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
    let bin = format!("vc-scheduler={scheduler}");
    let output = cli.run(&["run", "aon/exact-fit-bound", "--backend", "volcano", "--component", &bin]);
    let all = format!("{}{}", stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(3), "{all}");
    for expected in ["backend volcano is not run", "no plan to schedule by"] {
        assert!(all.contains(expected), "{expected}: {all}");
    }
    assert_eq!(processes_of(&cli.home.path().join("state")), 0, "processes are left");
}

fn processes_of(folder: &Path) -> usize {
    let folder = folder.display().to_string();
    std::fs::read_dir("/proc")
        .expect("this is Linux")
        .flatten()
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| String::from_utf8_lossy(line).contains(&folder))
        .count()
}

/// Needs the components, and Go once to build them.
#[test]
fn no_process_outlives_a_killed_supervisor() {
    let cli = Cli::new();
    let up = cli.run(&["cluster", "create", "orphan"]);
    assert_eq!(up.status.code(), Some(0), "{}", stderr(&up));
    let state = cli.home.path().join("state");
    assert!(processes_of(&state) >= 6, "a control plane is at least six processes");
    let card =
        std::fs::read_to_string(state.join("clusters/orphan/cluster.json")).expect("the cluster has a card");
    let card: serde_json::Value = serde_json::from_str(&card).expect("it is JSON");
    let supervisor = card["supervisor"].to_string();
    let killed = Command::new("kill").args(["-9", &supervisor]).status().expect("kill runs");
    assert!(killed.success());
    let begin = Instant::now();
    while processes_of(&state) > 0 {
        assert!(begin.elapsed() < Duration::from_secs(10), "{} processes are left", processes_of(&state));
        std::thread::yield_now();
    }
    let clean = cli.run(&["clean"]);
    assert!(stdout(&clean).contains("orphan"), "{}", stdout(&clean));
    assert!(!state.join("clusters/orphan").exists());
}
