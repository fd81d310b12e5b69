//! The suite as pods of a kind cluster: `job` with a report merged from shares, a pod that is killed halfway,
//! two concurrent runs, a user who may not create Jobs, and Jobs created with kubectl.
//!
//! The tests take minutes and need their own kind cluster, so `cargo test` ignores them and `ci/in-cluster`
//! runs them. A machine that cannot run a kind cluster has no tests, and the reason is printed.

// Only the part that prints progress is used here.
#[allow(dead_code)]
mod harness;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use conformance_cluster::ClusterError;
use conformance_cluster::kind::prepare::{Wanted, prepare};
use conformance_cluster::kind::{KindCluster, config, host};
use conformance_install::cluster_spec::ClusterSpec;
use conformance_programs::components::Overrides;
use conformance_programs::images::{self, NOBODY};
use conformance_programs::own_program::{OwnProgram, SUITE};
use conformance_programs::{ProgramError, docker};
use conformance_report::{Exit, Report, Verdict, read};
use harness::Lines;
use libtest_mimic::{Arguments, Trial};
use serde_json::Value;
use tokio::process::{Child, Command};
use tokio::runtime::Runtime;

type Outcome = Result<(), Box<dyn std::error::Error>>;

const PROGRAM: &str = env!("CARGO_BIN_EXE_grove-conformance");
/// Labels of the workers that two runs may use. The other workers stay free for the suite's own pods.
const LENT: [(&str, &[usize]); 2] = [("lent=first", &[1, 2, 3, 4]), ("lent=second", &[5, 6])];
/// Cases that need only one node, and no GPUs.
const CASES: [&str; 4] = ["adm/immutable-shape", "del/all-objects-deleted", "gang/scaling", "gang/shape"];
const NAMESPACE: &str = "grove-conformance";
/// The limit until a pod of the suite runs, and until a run's objects are deleted.
const SOON: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_millis(500);

struct Fixture {
    cluster: KindCluster,
    name: String,
    image: String,
}

impl Fixture {
    async fn make() -> Result<Self, ClusterError> {
        let spec = ClusterSpec::default();
        let controller = OwnProgram::controller_within(PROGRAM);
        let wanted = Wanted {
            kubernetes: spec.kubernetes,
            schedulers: &BTreeSet::new(),
            releases: &[],
            controller: &spec.controller,
            plugin_faults: &spec.gpu_plugin_faults,
            config: &config::of(spec.kubernetes),
            node_image: None,
            overrides: &Overrides::new(),
            given: &BTreeMap::new(),
            controller_program: &controller,
            operator: None,
        };
        let (kind, _) = prepare(wanted, &Lines).await?;
        let suite = images::static_program(SUITE, Some(Path::new(PROGRAM))).await?;
        let image = images::of_program(SUITE, &suite, Some(NOBODY)).await?.reference;
        let name = format!("in-{:x}", std::process::id());
        let cluster = KindCluster::create(&name, &kind).await?;
        cluster.load(&image).await?;
        let fixture = Self { cluster, name, image };
        let workers =
            fixture.kubectl("get nodes --no-headers -o name -l conformance.grove.io/worker=true").await?;
        let workers: Vec<_> = workers.lines().collect();
        for (label, places) in LENT {
            for place in places {
                fixture.kubectl(&format!("label {} {label}", workers[*place])).await?;
            }
        }
        Ok(fixture)
    }

    async fn kubectl(&self, words: &str) -> Result<String, ProgramError> {
        let node = self.node("control-plane");
        let own = ["exec", &node, "kubectl", "--kubeconfig=/etc/kubernetes/admin.conf"];
        docker::docker(own.into_iter().chain(words.split(' '))).await
    }

    async fn apply(&self, objects: &[Value]) -> Outcome {
        let file = tempfile::NamedTempFile::new()?;
        let texts: Vec<_> = objects.iter().map(Value::to_string).collect();
        std::fs::write(file.path(), texts.join("\n---\n"))?;
        let on_node = format!("{}:/objects.yaml", self.node("control-plane"));
        docker::docker(["cp", &file.path().display().to_string(), &on_node]).await?;
        self.kubectl("apply -f /objects.yaml").await?;
        Ok(())
    }

    async fn until_complete(&self, job: &str) -> Outcome {
        let wait =
            format!("wait -n {NAMESPACE} --for=condition=complete --timeout={}s job/{job}", SOON.as_secs());
        if let Err(error) = self.kubectl(&wait).await {
            let mut stderr = error.to_string();
            for question in
                [format!("describe pods -n {NAMESPACE}"), format!("logs -n {NAMESPACE} job/{job}")]
            {
                let answer = self.kubectl(&question).await.unwrap_or_else(|error| error.to_string());
                stderr = format!("{stderr}\n{answer}");
            }
            return Err(stderr.into());
        }
        Ok(())
    }

    fn node(&self, role: &str) -> String {
        format!("grove-conformance-{}-{role}", self.name)
    }

    fn run(&self, kubeconfig: &Path, folder: &Path, words: &[&str]) -> std::io::Result<Child> {
        Command::new(PROGRAM)
            .args(["job", "--image", &self.image])
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .arg("-o")
            .arg(folder)
            .args(case_options())
            .args(words)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
    }

    async fn nothing_left(&self) -> Outcome {
        let begin = Instant::now();
        loop {
            let kinds = "namespaces,clusterroles,clusterrolebindings,nodes,clustertopologybindings.grove.io";
            let left = self
                .kubectl(&format!("get {kinds} -l conformance.grove.io/run --no-headers -o name"))
                .await?;
            if left.trim().is_empty() {
                return Ok(());
            }
            if begin.elapsed() > SOON {
                return Err(format!("left in the cluster: {left}").into());
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

fn case_options() -> impl Iterator<Item = String> {
    let options = ["--scope=PodGang", "--timeout-scale=2", "--set=cluster.oneEtcd=true"].map(str::to_owned);
    options.into_iter().chain(CASES.map(str::to_owned))
}

async fn ended(run: Child) -> Result<(String, Option<i32>), std::io::Error> {
    let output = run.wait_with_output().await?;
    Ok((String::from_utf8_lossy(&output.stderr).into_owned(), output.status.code()))
}

fn all_passed(report: &Report) {
    let target = &report.targets[0];
    for id in CASES {
        let case = target.cases.iter().find(|case| case.id == id).expect("the case is in the report");
        let reason = case.outcome.reason();
        assert_eq!((case.outcome.verdict, case.attempts), (Verdict::Pass, 1), "{id}: {reason:?}");
        assert!(case.artifacts.as_ref().is_some_and(|folder| folder.starts_with("shards/")), "{id}");
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("in-cluster").join(name)
}

async fn shares_are_merged(fixture: &Fixture) -> Outcome {
    let folder = folder("merged");
    let run =
        fixture.run(&fixture.cluster.kubeconfig(), &folder, &["--shards=2", "--nodes-where=lent=first"])?;
    let (stderr, code) = ended(run).await?;
    assert_eq!(code, Some(0), "{stderr}");
    let report = read(&folder.join("report.yaml"))?;
    assert_eq!((report.exit(), report.incomplete), (Exit::Conformant, false));
    all_passed(&report);
    for shard in ["1/2: ", "2/2: "] {
        assert!(stderr.lines().any(|line| line.starts_with(shard) && line.contains("runs on")), "{stderr}");
    }
    fixture.nothing_left().await
}

/// The pod of a share is killed while its cases run. Another pod runs them again.
async fn a_killed_pod_is_run_again(fixture: &Fixture) -> Outcome {
    let folder = folder("killed");
    let run =
        fixture.run(&fixture.cluster.kubeconfig(), &folder, &["--shards=2", "--nodes-where=lent=first"])?;
    let begin = Instant::now();
    // A case of the second share has a namespace, so the pod is halfway.
    let half_way =
        |namespaces: &str| namespaces.lines().any(|name| name.contains("s2-") && !name.contains("blockers"));
    while !half_way(
        &fixture.kubectl("get namespaces --no-headers -o name -l conformance.grove.io/run").await?,
    ) {
        if begin.elapsed() > SOON {
            return Err("no case of the second share began".into());
        }
        tokio::time::sleep(PAUSE).await;
    }
    let of_second = "-A -l batch.kubernetes.io/job-completion-index=1 --no-headers -o custom-columns=:.metadata.namespace";
    let namespace = fixture.kubectl(&format!("get pods {of_second}")).await?;
    let kill = format!(
        "delete pods -n {} -l batch.kubernetes.io/job-completion-index=1 --grace-period=0 --force",
        namespace.trim()
    );
    fixture.kubectl(&kill).await?;
    let (stderr, code) = ended(run).await?;
    assert_eq!(code, Some(0), "{stderr}");
    let pods: BTreeSet<_> =
        stderr.lines().filter(|line| line.starts_with("2/2: pod ") && line.contains("runs on")).collect();
    assert!(pods.len() > 1, "a second pod took its place: {stderr}");
    all_passed(&read(&folder.join("report.yaml"))?);
    fixture.nothing_left().await
}

/// Two runs have separate nodes. Shared objects must outlive the run that ends first.
async fn two_runs_at_once(fixture: &Fixture) -> Outcome {
    let kubeconfig = fixture.cluster.kubeconfig();
    let (first, second) = (folder("first"), folder("second"));
    let both = [
        fixture.run(&kubeconfig, &first, &["--nodes-where=lent=first"])?,
        fixture.run(&kubeconfig, &second, &["--nodes-where=lent=second"])?,
    ];
    for run in both {
        let (stderr, code) = ended(run).await?;
        assert_eq!(code, Some(0), "{stderr}");
    }
    for folder in [first, second] {
        all_passed(&read(&folder.join("report.yaml"))?);
    }
    fixture.nothing_left().await
}

async fn reports_of_jobs_are_fetched(fixture: &Fixture) -> Outcome {
    let mut objects = grove_yaml::documents(include_str!("../manifests/suite/namespace.yaml"))?;
    objects.extend(grove_yaml::documents(include_str!("../manifests/suite/rbac.yaml"))?);
    let mut job = grove_yaml::documents(include_str!("../manifests/suite/indexed-job.yaml"))?;
    let container = &mut job[0]["spec"]["template"]["spec"]["containers"][0];
    container["image"] = fixture.image.clone().into();
    let words = case_options().chain(["--nodes-where=lent=first".to_owned()]).map(Value::from);
    container["args"].as_array_mut().ok_or("the container has arguments")?.extend(words);
    objects.append(&mut job);
    fixture.apply(&objects).await?;
    fixture.until_complete("grove-conformance").await?;

    let fetched = folder("fetched");
    let fetch = Command::new(PROGRAM)
        .args(["report", "fetch", "--kubeconfig"])
        .arg(fixture.cluster.kubeconfig())
        .arg("-o")
        .arg(&fetched)
        .output()
        .await?;
    assert_eq!(fetch.status.code(), Some(0), "{}", String::from_utf8_lossy(&fetch.stderr));
    all_passed(&read(&fetched.join("report.yaml"))?);
    fixture.kubectl(&format!("delete namespace {NAMESPACE}")).await?;
    fixture.kubectl("delete clusterrole,clusterrolebinding grove-conformance").await?;
    Ok(())
}

async fn without_permissions_nothing_is_created(fixture: &Fixture) -> Outcome {
    let path = folder("without-rights").join("kubeconfig");
    let text = std::fs::read_to_string(fixture.cluster.kubeconfig())?;
    let mut config = grove_yaml::documents(&text)?.remove(0);
    config["users"][0]["user"]["as"] = "system:serviceaccount:default:default".into();
    std::fs::create_dir_all(path.parent().expect("it has one"))?;
    std::fs::write(&path, config.to_string())?;
    let (stderr, code) = ended(fixture.run(&path, &folder("without-rights"), &[])?).await?;
    assert_eq!(code, Some(3), "{stderr}");
    assert!(stderr.contains("may not") && stderr.contains("create jobs.batch"), "{stderr}");
    fixture.nothing_left().await
}

#[allow(clippy::print_stderr)]
fn main() -> std::process::ExitCode {
    let mut arguments = Arguments::from_args();
    // The tests share the nodes, so they run one after the other.
    arguments.test_threads = Some(1);
    let runtime = Arc::new(Runtime::new().expect("a runtime starts"));
    let missing = runtime.block_on(host::check()).err();
    if let Some(missing) = missing {
        eprintln!("in-cluster: not run: {missing}");
        return std::process::ExitCode::SUCCESS;
    }
    let shared: Arc<OnceLock<Result<Fixture, String>>> = Arc::default();
    macro_rules! trial {
        ($name:ident) => {{
            let (shared, runtime) = (shared.clone(), runtime.clone());
            Trial::test(concat!("in-cluster::", stringify!($name)), move || {
                let make = || runtime.block_on(Fixture::make()).map_err(|error| error.to_string());
                let fixture = shared.get_or_init(make).as_ref()?;
                runtime.block_on($name(fixture)).map_err(|error| error.to_string().into())
            })
            .with_ignored_flag(true)
        }};
    }
    let trials = vec![
        trial!(without_permissions_nothing_is_created),
        trial!(shares_are_merged),
        trial!(a_killed_pod_is_run_again),
        trial!(two_runs_at_once),
        trial!(reports_of_jobs_are_fetched),
    ];
    let conclusion = libtest_mimic::run(&arguments, trials);
    if let Some(Ok(fixture)) = Arc::into_inner(shared).and_then(OnceLock::into_inner) {
        let _ = runtime.block_on(fixture.cluster.delete(false));
    }
    conclusion.exit_code()
}
