//! The arguments of `run` and `soak`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use conformance_contract::clauses::{Class, Workload};
use conformance_driver::test_cluster::DEFAULT_SEED;
use conformance_report::Shard;

use super::cluster::{ClusterArgs, OperatorArgs, ProviderArgs, Versions};
use super::headings::{CLUSTER, DEPTH, OPERATOR, OTHER_TOOLS, OUTPUT, PROGRAMS, SELECTION};
use super::scheduler_names;
use super::value_parsers::factor;

/// Arguments of `run`, in parts. A function takes the parts that it uses. The parts are in the order of the help
/// text. A few options have another heading than their part.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    /// What is judged.
    #[command(flatten, next_help_heading = SELECTION)]
    pub subject: SubjectArgs,
    /// Which cases are run.
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// Whose controller is judged.
    #[command(flatten, next_help_heading = OPERATOR)]
    pub operator: OperatorArgs,
    /// Also run cases of features that the operator does not declare, to find out whether it has them. Their
    /// clauses stay unsupported, and the report lists the features that were shown.
    #[arg(long, requires = "operator")]
    pub probe_undeclared: bool,
    /// Also judge upgrades (MIG). This operator, named as for --operator, creates gangs. Then the operator of
    /// --operator, or the reference controller, replaces it.
    #[arg(long, value_name = "reference|upstream=DIR|exec:FILE", conflicts_with = "workload")]
    pub upgrade_from: Option<String>,
    /// Where the cluster comes from.
    #[command(flatten, next_help_heading = CLUSTER)]
    pub provider: ProviderArgs,
    /// How the run is divided among pods.
    #[command(flatten)]
    pub share: ShareArgs,
    /// How the programs of clusters are built.
    #[command(flatten, next_help_heading = PROGRAMS)]
    pub cluster_args: ClusterArgs,
    /// How the cases are executed.
    #[command(flatten, next_help_heading = DEPTH)]
    pub execution: ExecutionArgs,
    /// Folder for the report, histories and artifacts.
    #[arg(short = 'o', long = "output", value_name = "DIR", default_value = "conformance-report",
          help_heading = OUTPUT)]
    pub report_dir: PathBuf,
    /// The report to compare with, and the files to write in addition to the report.
    #[command(flatten, next_help_heading = OUTPUT)]
    pub output: OutputArgs,
    /// What is judged instead of Grove's contract.
    #[command(flatten, next_help_heading = OTHER_TOOLS)]
    pub tools: ToolArgs,
    /// Workloads in place of the suite's cases.
    #[command(flatten)]
    pub workloads: WorkloadArgs,
}

/// The backend or scheduler that is judged, and the version of Kubernetes.
#[derive(Debug, Clone, Args)]
pub(crate) struct SubjectArgs {
    #[arg(long, value_name = "NAME|all", default_value = "default-scheduler", help = scheduler_names::backend())]
    pub backend: String,
    /// Features that the scheduler of --backend external:NAME declares, to be judged (AtomicPodGang,TopologyRequired).
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub features: Vec<String>,
    /// Judge only this gang scope of kube-scheduler: PodGroup or PodGang, or Tree on Kubernetes 1.37.
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<String>,
    /// Kubernetes version [default: 1.36, or the version that --scope requires].
    #[arg(long, value_enum, value_name = "VERSION")]
    pub kubernetes: Option<Versions>,
}

/// The cases to run; all, if nothing is selected.
#[derive(Debug, Clone, Args)]
pub(crate) struct SelectionArgs {
    /// Run only these cases: ids (aon/one-pod-short), groups (aon) or globs ('topo/*'). A clause (AON-02, or
    /// 'AON-*') stands for the cases that judge it.
    #[arg(value_name = "SELECTION", help_heading = None::<&'static str>)]
    pub words: Vec<String>,
    /// Run only cases that judge a clause of this tier of Grove's proposal 592. May be repeated.
    #[arg(long = "tier", value_enum, value_name = "TIER")]
    pub tiers: Vec<TierName>,
    /// Do not run these cases: an id, a group, a glob or a clause, as for SELECTION. May be repeated.
    #[arg(long, value_name = "ID")]
    pub skip: Vec<String>,
    /// Start no further case after the first failed required clause. Running cases end, and the others are not
    /// run.
    #[arg(long, conflicts_with = "accept")]
    pub fail_fast: bool,
}

/// Files that a run reads or writes in addition to its report.
#[derive(Debug, Clone, Args)]
pub(crate) struct OutputArgs {
    /// Print only failures, errors and the last lines: the result of each target, the exit code, and the files.
    #[arg(short, long)]
    pub quiet: bool,
    /// Compare with an earlier report of the same contract version, seed, provider and declaration. The exit
    /// code is 0 if no clause got worse. A clause that only the earlier run decided got worse.
    #[arg(long, value_name = "REPORT")]
    pub baseline: Option<PathBuf>,
    /// Report the deviations in this file as known. The file has a list `deviations`. Each entry has clause,
    /// case, code, reason, issue, and until: the operator version from which the failure is no longer
    /// accepted.
    #[arg(long, value_name = "FILE")]
    pub accept: Option<PathBuf>,
    /// Write an evidence file, which lists the features that were declared and shown: JSON if its name ends
    /// in .json, else YAML.
    #[arg(long, value_name = "FILE")]
    pub evidence: Option<PathBuf>,
}

/// How a run is divided among several pods or machines.
#[derive(Debug, Clone, Args)]
pub(crate) struct ShareArgs {
    /// Run only the Ith of N shares of the selected cases; `report merge` combines the reports.
    #[arg(long, value_name = "I/N", conflicts_with = "workload", help_heading = SELECTION)]
    pub shard: Option<Shard>,
    /// Run the suite inside the cluster of the kubeconfig, as pods of a Job: submit it, follow it, fetch and merge the reports,
    /// and remove it (docs/your-cluster.md).
    #[arg(long, requires = "image", conflicts_with = "shard")]
    pub in_cluster: bool,
    /// With --in-cluster, the suite's image, which the cluster's nodes have or can pull; `image` builds one.
    #[arg(long, value_name = "IMAGE", requires = "in_cluster")]
    pub image: Option<String>,
    /// With --in-cluster, split the cases among this many pods. In a pod of an Indexed Job, run the share of
    /// its completion index.
    #[arg(long, value_name = "N", conflicts_with_all = ["shard", "workload"])]
    pub shards: Option<std::num::NonZeroUsize>,
    /// In a pod, store the report in ConfigMaps of its namespace, for `report fetch`. The pod then succeeds regardless of the
    /// verdicts.
    #[arg(long, conflicts_with_all = ["in_cluster", "cluster"])]
    pub store_results: bool,
    /// In a pod, the id of the run, with which it labels its objects.
    #[arg(long, value_name = "ID", env = "GROVE_CONFORMANCE_RUN", hide_env_values = true)]
    pub run_id: Option<String>,
}

/// Other objects or requirements that are judged instead of Grove's contract.
#[derive(Debug, Clone, Args)]
pub(crate) struct ToolArgs {
    /// Judge TrainJobs of the Kubeflow Trainer instead of PodCliqueSets, on their own control plane: for the
    /// backend's scheduler (default-scheduler, volcano, scheduler-plugins-scheduler, kai-scheduler), or for
    /// all of them.
    #[arg(long, conflicts_with_all = ["scope", "workload", "operator", "upgrade_from", "cluster", "features"])]
    pub trainjob: bool,
    /// With --trainjob, folder with the trainer's program (trainer-controller-manager) and manifests/base of
    /// its repository, instead of the pinned trainer. If its runtimes have the field kaiScheduler, our KAI
    /// plugin does not run.
    #[arg(long, value_name = "DIR", requires = "trainjob", conflicts_with = "trainer_source")]
    pub trainer_dir: Option<PathBuf>,
    /// With --trainjob, checkout of kubeflow/trainer, instead of --trainer-dir: built with Go, once per content.
    #[arg(long, value_name = "DIR", requires = "trainjob")]
    pub trainer_source: Option<PathBuf>,
    /// Judge the requirements of a conformance programme instead of PodCliqueSets, on a control plane without
    /// an operator: for the backend's scheduler (default-scheduler, volcano, koord-scheduler, kai-scheduler),
    /// or for all of them. Each result is next to the report, in the format of the programme.
    #[arg(long, value_enum, value_name = "PROFILE",
          conflicts_with_all = ["trainjob", "scope", "workload", "generate", "generated", "scale", "operator",
                                "upgrade_from", "cluster", "features", "evidence"])]
    pub profile: Option<ProfileName>,
}

/// Workloads that are run instead of the suite's cases.
#[derive(Debug, Clone, Args)]
pub(crate) struct WorkloadArgs {
    /// Judge your own PodCliqueSet instead of the suite's cases.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["words", "skip", "tiers"], requires = "nodes")]
    pub workload: Option<PathBuf>,
    /// Nodes for --workload: how many, and GPUs per node (8x8 is 8 nodes with 8 GPUs each; 4x8,2x4 is 4 nodes
    /// with 8 and 2 with 4), 4 per rack and 8 per block.
    #[arg(long, value_name = "NODESxGPUS,...", requires = "workload")]
    pub nodes: Option<String>,
    /// Run N generated workloads instead of the suite's cases: PodCliqueSets and operations on them, drawn
    /// from --seed. A workload that fails is shrunk and written to the report's folder, so that --generated
    /// can run it again.
    #[arg(long, value_name = "N", conflicts_with_all = ["words", "skip", "tiers", "workload", "generated"],
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub generate: Option<u64>,
    /// Seed for the parts of a run that are sampled: crash points, and the gang scope of kube-scheduler on
    /// which the lifecycle is judged. For generated workloads, it is the seed of the first; each further
    /// workload has the next seed [default: 1].
    #[arg(long, value_name = "S", help_heading = DEPTH)]
    pub seed: Option<u64>,
    /// Run a generated workload that was written to a file.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["words", "skip", "tiers", "workload"])]
    pub generated: Option<PathBuf>,
    /// Run a load test instead of the suite's cases: --pods pods in gangs of mixed shapes, on this many
    /// simulated nodes with this many GPUs each, for one backend. For kube-scheduler, the gang scope is
    /// PodGang unless --scope selects another. The test checks that all pods are bound and deleted, and
    /// measures both. Then it measures the scheduler with the same pods but without an operator.
    #[arg(long, value_name = "NODESxGPUS", requires = "pods",
          conflicts_with_all = ["words", "skip", "tiers", "workload", "generate", "generated", "shard", "trainjob",
                                "cluster", "upgrade_from"])]
    pub scale: Option<String>,
    /// Pods for --scale; three of four request a GPU.
    #[arg(long, value_name = "N", requires = "scale", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub pods: Option<u32>,
    /// With --scale, once everything has converged, change the pod template of every clique, and judge and measure the rolling
    /// update of all pods.
    #[arg(long, requires = "scale")]
    pub update: bool,
}

/// How the cases are executed.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExecutionArgs {
    /// Run on a cluster started by `up` (cases that stop components still get their own cluster).
    #[arg(long, value_name = "NAME", help_heading = CLUSTER)]
    pub cluster: Option<String>,
    /// Keep the cluster folders (logs, etcd data).
    #[arg(long, help_heading = CLUSTER)]
    pub keep: bool,
    /// How much is judged of what takes long: on which gang scopes of kube-scheduler the lifecycle after creation
    /// is judged, after which of its writes the operator is killed (AON-13, UPD-17), and whether a gang that is
    /// one pod short waits for longer than the scheduler's own gang timeout (AON-02): 5 minutes for
    /// kube-scheduler, 30 seconds for Koordinator. A selection, --scope, --tier and --shard imply every scope.
    #[arg(long, value_enum, value_name = "DEPTH", default_value = "default")]
    pub depth: Depth,
    /// Retry a failed case up to N times, while no other case runs. A pass on retry is reported as flaky.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub retries: u32,
    /// Exit with 1 also if a recommendation is violated, as for a requirement. Only this suite makes
    /// recommendations.
    #[arg(long)]
    pub strict: bool,
    /// Multiply every time limit by this factor, for slow machines.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = factor)]
    pub timeout_scale: f64,
    /// Maximum number of cases running at once on the shared cluster [default: 10, and more while processors are idle; 4 on kind].
    #[arg(long, value_name = "N")]
    pub concurrency: Option<usize>,
}

impl ExecutionArgs {
    pub(crate) fn is_full(&self) -> bool {
        self.depth == Depth::Full
    }
}

impl ToolArgs {
    /// The kind of workload that is judged.
    pub(crate) fn workload(&self) -> Workload {
        match (self.trainjob, self.profile) {
            (true, _) => Workload::TrainJobs,
            (false, Some(ProfileName::AiConformance)) => Workload::PlainPods,
            (false, None) => Workload::PodCliqueSets,
        }
    }
}

impl WorkloadArgs {
    /// The seed for the run's samples.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or(DEFAULT_SEED)
    }
}

/// How much a run judges of what takes long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Depth {
    /// One scope and twelve writes, which the seed chooses, and no gang timeout.
    Default,
    /// Every scope, every write, and the gang timeouts.
    Full,
}

/// The requirements of a conformance programme, in place of Grove's contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileName {
    /// Gang scheduling of plain pods, for Kubernetes AI conformance.
    AiConformance,
}

/// The classes of clauses: three of proposal 592, for suites that run on several backends, and one for the
/// promises of one backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TierName {
    /// The operator alone.
    Agnostic,
    /// The operator and the scheduler.
    Sensitive,
    /// A feature that the backend declares.
    Capability,
    /// One backend's own resources.
    BackendSpecific,
}

impl From<TierName> for Class {
    fn from(name: TierName) -> Self {
        match name {
            TierName::Agnostic => Self::Agnostic,
            TierName::Sensitive => Self::Sensitive,
            TierName::Capability => Self::CapabilityBound,
            TierName::BackendSpecific => Self::BackendSpecific,
        }
    }
}

/// Arguments of `soak`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SoakArgs {
    /// Total number of runs, including those of earlier starts in the folder of --output.
    #[arg(long, value_name = "N")]
    pub runs: std::num::NonZeroUsize,
    /// The runs; without options the same as `run`.
    #[command(flatten)]
    pub run: RunArgs,
}
