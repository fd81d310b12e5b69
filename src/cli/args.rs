//! The command line, as clap reads it. What the words mean is checked by the verbs.

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use conformance_contract::kubernetes::Kubernetes;
use conformance_report::Shard;

/// Conformance of Grove PodCliqueSets on real gang schedulers.
#[derive(Debug, Parser)]
#[command(
    name = "grove-conformance",
    version,
    about,
    long_about = "Runs Grove PodCliqueSets against a real API server and a real gang scheduler and says, clause by \
                  clause, whether the backend keeps its promises.\n\nExit codes: 0 conformant; 1 a clause failed, was \
                  flaky, or a known deviation passed; 2 usage; 3 infrastructure (nothing is known about the clauses).",
    max_term_width = 110
)]
pub(crate) struct Cli {
    /// Log what the program does, to standard error (or set RUST_LOG).
    #[arg(long, global = true)]
    pub verbose: bool,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run the conformance suite (or one's own workload) and write a report.
    Run(Box<RunArgs>),
    /// List the cases and the clauses they judge.
    List(ListArgs),
    /// Judge a saved history again, offline.
    Replay(ReplayArgs),
    /// Make one report of several.
    Report(ReportArgs),
    /// Run the negative controls: broken clusters and controllers on which given clauses must turn red.
    Controls(ControlsArgs),
    /// Bring a cluster up and leave it running.
    Up(UpArgs),
    /// End a cluster that `up` left running.
    Down(NameArgs),
    /// Say which clusters there are.
    Status,
    /// List, build or verify the programs that clusters are made of.
    Components(ComponentsArgs),
    /// Say whether this machine can run the suite, and what is missing.
    Doctor,
    /// Remove what killed runs left behind.
    Clean(CleanArgs),
    /// Measure: cluster start, controller throughput and memory, latency of a small gang, pods bound per second.
    Bench(BenchArgs),
    /// Owns a cluster that `up` started.
    #[command(name = "__supervise", hide = true)]
    Supervise(UpArgs),
}

/// How clusters are made.
#[derive(Debug, Clone, Args)]
pub(crate) struct ClusterArgs {
    /// Use this program instead of building it, e.g. kube-scheduler=./my-scheduler. May be repeated.
    #[arg(long = "bin", value_name = "NAME=PATH", value_parser = name_and_path)]
    pub bins: Vec<(String, PathBuf)>,
    /// A folder with KAI's programs (kai-scheduler, kai-binder, and kai-podgrouper if there is one) and its four CRDs.
    #[arg(long, value_name = "DIR", env = "GROVE_CONFORMANCE_KAI_DIR", hide_env_values = true)]
    pub kai_dir: Option<PathBuf>,
}

/// A version of Kubernetes, as users write it.
fn version() -> impl TypedValueParser<Value = Kubernetes> {
    let known = Kubernetes::ALL.map(|version| PossibleValue::new(version.minor()).help(version.about()));
    PossibleValuesParser::new(known).map(|word| {
        let named = Kubernetes::ALL.into_iter().find(|version| version.minor() == word);
        named.unwrap_or_default()
    })
}

/// One version of Kubernetes, or every one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Versions {
    /// This one.
    One(Kubernetes),
    /// Every version, one after the other, in one report.
    All,
}

impl ValueEnum for Versions {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<Versions>> =
            LazyLock::new(|| Kubernetes::ALL.into_iter().map(Versions::One).chain([Versions::All]).collect());
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::One(version) => PossibleValue::new(version.minor()).help(version.about()),
            Self::All => PossibleValue::new("all").help("Every version, one after the other, in one report"),
        })
    }
}

impl From<Kubernetes> for Versions {
    fn from(version: Kubernetes) -> Self {
        Self::One(version)
    }
}

impl Versions {
    /// Those that are meant.
    pub(crate) fn all(self) -> Vec<Kubernetes> {
        match self {
            Self::One(version) => vec![version],
            Self::All => Kubernetes::ALL.into(),
        }
    }
}

/// Where clusters come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProviderName {
    /// Local processes, nodes simulated by KWOK; no Docker.
    Local,
    /// Containers with real kubelets and fake GPUs; needs Docker.
    Kind,
    /// A cluster of your own, by --kubeconfig.
    Existing,
}

/// Whose controller there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImplementationOrigin {
    /// This project's reference controller.
    Reference,
    /// What runs in a cluster of your own.
    Existing,
}

/// How the schedulers of a kind cluster are installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Install {
    /// Built here, an image of each; without KAI.
    Manifests,
    /// By their charts, KAI too; needs Helm, and registries that answer.
    Helm,
}

/// An operator in the reference controller's place.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct OperatorArgs {
    /// Run this operator instead of the reference controller: upstream=DIR, a checkout of ai-dynamo/grove, which is built
    /// with Go once; or exec:FILE, a description of any operator (docs/operators.md).
    #[arg(long, value_name = "upstream=DIR|exec:FILE")]
    pub operator: Option<String>,
    /// What it declares, instead of the file that comes with its description: clauses of other features are unsupported.
    #[arg(long, value_name = "FILE", requires = "operator")]
    pub declares: Option<PathBuf>,
}

/// Where the cluster of a run comes from, and whose controller is judged.
#[derive(Debug, Clone, Args)]
pub(crate) struct ProviderArgs {
    /// Where the cluster comes from.
    #[arg(long, value_enum, default_value = "local")]
    pub provider: ProviderName,
    /// The nodes' image of a kind cluster, instead of the published one or the one that is built here.
    #[arg(long, value_name = "IMAGE")]
    pub node_image: Option<String>,
    /// kind's configuration, instead of kind-configs/all-backends.yaml.
    #[arg(long, value_name = "FILE")]
    pub kind_config: Option<PathBuf>,
    /// How Volcano, Koordinator and KAI come into a kind cluster.
    #[arg(long, value_enum, default_value = "manifests")]
    pub install: Install,
    /// With --install helm, the chart of volcano, koord-scheduler or kai-scheduler instead of the pinned one: an OCI
    /// reference, a chart of a repository that helm knows, or a path. @VERSION alone is another version of the pinned
    /// one. May be repeated.
    #[arg(long = "chart", value_name = "NAME=CHART[@VERSION]", value_parser = name_and_chart)]
    pub charts: Vec<(String, String)>,
    /// A cluster of your own. Nothing is installed in it; it needs KWOK for nodes annotated kwok.x-k8s.io/node=fake.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Run although the cluster has PodCliqueSets that are not a conformance run's.
    #[arg(long)]
    pub beside_foreign_workloads: bool,
    /// The cluster keeps all kinds in one etcd: clauses on the order across kinds can be judged.
    #[arg(long)]
    pub one_etcd: bool,
    /// Whose controller is judged.
    #[arg(long, value_enum, default_value = "reference")]
    pub implementation: ImplementationOrigin,
    /// Its name in the report, with --implementation existing.
    #[arg(long, value_name = "NAME", default_value = "unnamed")]
    pub implementation_name: String,
    /// Its version in the report.
    #[arg(long, value_name = "VERSION", default_value = "unknown")]
    pub implementation_version: String,
}

/// Arguments of `run`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    /// This backend (default-scheduler, volcano, koord-scheduler, kai-scheduler, external), or all of them in one control
    /// plane; or external:NAME, a scheduler of your own that reads PodGangs.
    #[arg(long, value_name = "NAME|all", default_value = "default-scheduler")]
    pub backend: String,
    /// What the scheduler of --backend external:NAME declares, which is judged then (AtomicPodGang,TopologyRequired).
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub features: Vec<String>,
    /// Only this gang scope of kube-scheduler: PodGroup or PodGang, or Tree on Kubernetes 1.37.
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<String>,
    /// The version of Kubernetes; 1.36, or the one that --scope needs.
    #[arg(long, value_enum, value_name = "VERSION")]
    pub kubernetes: Option<Versions>,
    /// Only cases of this id, or of this group (aon/one-pod-short, aon). May be repeated.
    #[arg(long = "case", value_name = "ID")]
    pub cases: Vec<String>,
    /// Only cases that judge this clause (AON-02). May be repeated.
    #[arg(long = "clause", value_name = "ID")]
    pub clauses: Vec<String>,
    /// Only the Ith of N shares of the chosen cases; `report merge` makes one report of all.
    #[arg(long, value_name = "I/N", conflicts_with = "workload")]
    pub shard: Option<Shard>,
    /// Judge your own PodCliqueSet instead of the suite's cases.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cases", "clauses"], requires = "nodes")]
    pub workload: Option<PathBuf>,
    /// Nodes for --workload: how many, and GPUs of each (8x8 is 8 nodes of 8 GPUs).
    #[arg(long, value_name = "NODESxGPUS", requires = "workload")]
    pub nodes: Option<String>,
    /// Where the report, histories and artifacts go.
    #[arg(long, value_name = "DIR", default_value = "conformance-report")]
    pub report_dir: PathBuf,
    /// Run on a cluster that `up` left running (cases that stop parts still get one of their own).
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// Cases at a time on the shared cluster; 10, or 4 on kind, where containers really start.
    #[arg(long, value_name = "N")]
    pub concurrency: Option<usize>,
    /// Factor on every limit, for slow machines.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = factor)]
    pub timeout_scale: f64,
    /// Try a failed case again so often; one that passes then is reported as flaky.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub retries: u32,
    /// Leave cluster folders (logs, etcd data) behind.
    #[arg(long)]
    pub keep: bool,
    /// Where the cluster comes from.
    #[command(flatten)]
    pub provider: ProviderArgs,
    /// Whose controller is judged.
    #[command(flatten)]
    pub operator: OperatorArgs,
    /// How clusters are made.
    #[command(flatten)]
    pub cluster_args: ClusterArgs,
}

/// Arguments of `list`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ListArgs {
    /// By clause instead of by case.
    #[arg(long)]
    pub clauses: bool,
}

/// Arguments of `replay`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReplayArgs {
    /// A history: JSON lines, as a run saves them or as `kubectl get --watch --output-watch-events -o json` prints them.
    pub history: PathBuf,
    /// The case to judge by, for a recording of one's own.
    #[arg(long, value_name = "ID", requires_all = ["manifest", "namespace"])]
    pub case: Option<String>,
    /// The PodCliqueSet of the recording.
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,
    /// Its namespace.
    #[arg(long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// The backend it is judged by.
    #[arg(long, value_name = "NAME", default_value = "default-scheduler")]
    pub backend: String,
    /// What the scheduler of --backend external:NAME declares.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub features: Vec<String>,
    /// Its gang scope, for default-scheduler: PodGroup (default), PodGang or Tree.
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<String>,
}

/// Arguments of `report`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReportArgs {
    /// What to do with reports.
    #[command(subcommand)]
    pub verb: ReportVerb,
}

/// Verbs of `report`.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ReportVerb {
    /// Merge the reports of shards, or of runs of different backends; the exit code is the merged report's.
    Merge(MergeArgs),
}

/// Arguments of `report merge`.
#[derive(Debug, Clone, Args)]
pub(crate) struct MergeArgs {
    /// A report.yaml or report.json of each run.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Where the merged report goes.
    #[arg(long, value_name = "DIR")]
    pub report_dir: PathBuf,
}

/// Arguments of `controls`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ControlsArgs {
    /// Only this control. May be repeated.
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Where the clusters come from: the controls of local processes, or those of kubelets on kind.
    #[arg(long, value_enum, default_value = "local")]
    pub provider: ProviderName,
    /// Where the reports go.
    #[arg(long, value_name = "DIR", default_value = "conformance-report/controls")]
    pub report_dir: PathBuf,
    /// Factor on every limit, for slow machines; 1, or 2 on kind, where containers really start.
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    pub timeout_scale: Option<f64>,
    /// How clusters are made.
    #[command(flatten)]
    pub cluster_args: ClusterArgs,
}

/// Arguments of `up`.
#[derive(Debug, Clone, Args)]
pub(crate) struct UpArgs {
    /// The cluster's name.
    #[arg(default_value = "dev")]
    pub name: String,
    /// The backends whose schedulers run in it: one of `run --backend`, or all.
    #[arg(long, value_name = "NAME|all", default_value = "default-scheduler")]
    pub backend: String,
    /// The version of Kubernetes.
    #[arg(long, value_parser = version(), value_name = "VERSION", default_value = "1.36")]
    pub kubernetes: Kubernetes,
    /// Whose controller runs in it. With existing the cluster is without the reference controller and its CRDs: for an
    /// operator of your own, which `run --provider existing --kubeconfig FILE --implementation existing` judges.
    #[arg(long, value_enum, default_value = "reference")]
    pub implementation: ImplementationOrigin,
    /// Whose controller runs in it.
    #[command(flatten)]
    pub operator: OperatorArgs,
    /// Nodes to begin with: how many, and GPUs of each (8x8 is 8 nodes of 8 GPUs, 4 to a rack, 8 to a block).
    #[arg(long, value_name = "NODESxGPUS")]
    pub nodes: Option<String>,
    /// How clusters are made.
    #[command(flatten)]
    pub cluster_args: ClusterArgs,
}

/// A cluster's name.
#[derive(Debug, Clone, Args)]
pub(crate) struct NameArgs {
    /// The cluster's name.
    #[arg(default_value = "dev")]
    pub name: String,
}

/// Arguments of `components`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ComponentsArgs {
    /// What to do with them.
    #[command(subcommand)]
    pub verb: ComponentsVerb,
    /// The version of Kubernetes.
    #[arg(long, value_enum, value_name = "VERSION", default_value = "all", global = true)]
    pub kubernetes: Versions,
    /// How clusters are made.
    #[command(flatten)]
    pub cluster_args: ClusterArgs,
}

/// Verbs of `components`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub(crate) enum ComponentsVerb {
    /// Say what there is, in which version, and whether it is built.
    List,
    /// Build what is missing.
    Build,
    /// Recompute digests and have every program say its version.
    Verify,
}

/// Arguments of `clean`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CleanArgs {
    /// Remove the built programs as well.
    #[arg(long)]
    pub components: bool,
}

/// Arguments of `bench`.
#[derive(Debug, Clone, Args)]
pub(crate) struct BenchArgs {
    /// The version of Kubernetes; 1.36, or with --throughput all.
    #[arg(long, value_enum, value_name = "VERSION")]
    pub kubernetes: Option<Versions>,
    /// The backends whose schedulers run: one of `run --backend`, or all.
    #[arg(long, value_name = "NAME|all", default_value = "default-scheduler")]
    pub backend: String,
    /// Measure kube-scheduler's throughput instead: pods bound per second in each of its mappings, without topology and
    /// with a required rack.
    #[arg(long, conflicts_with = "backend")]
    pub throughput: bool,
    /// Gangs of 10 pods of 1 GPU, with --throughput.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 200,
        value_parser = clap::value_parser!(u32).range(1..),
        requires = "throughput"
    )]
    pub gangs: u32,
    /// Nodes, with --throughput: how many, and GPUs of each (64x8 is 64 nodes of 8 GPUs, 40 to a rack).
    #[arg(long, value_name = "NODESxGPUS", default_value = "1000x8", requires = "throughput")]
    pub nodes: String,
    /// How clusters are made.
    #[command(flatten)]
    pub cluster_args: ClusterArgs,
}

fn name_and_path(raw: &str) -> Result<(String, PathBuf), String> {
    match raw.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok((name.into(), path.into())),
        _ => Err("expected NAME=PATH, e.g. kube-scheduler=./my-scheduler".into()),
    }
}

fn name_and_chart(raw: &str) -> Result<(String, String), String> {
    match raw.split_once('=') {
        Some((name, chart)) if !name.is_empty() && !chart.is_empty() => Ok((name.into(), chart.into())),
        _ => Err("expected NAME=CHART[@VERSION], e.g. kai-scheduler=./charts/kai-scheduler".into()),
    }
}

fn factor(raw: &str) -> Result<f64, String> {
    match raw.parse::<f64>() {
        Ok(factor) if (0.01..=100.0).contains(&factor) => Ok(factor),
        _ => Err("expected a number between 0.01 and 100".into()),
    }
}
