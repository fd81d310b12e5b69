//! The command line as clap parses it. The verbs check the meaning of the values.

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use conformance_contract::clauses::{Class, Workload};
use conformance_contract::kubernetes::Kubernetes;
use conformance_driver::test_cluster::DEFAULT_SEED;
use conformance_report::Shard;

/// Conformance of Grove PodCliqueSets on real gang schedulers.
#[derive(Debug, Parser)]
#[command(
    name = "grove-conformance",
    version,
    long_about = "Runs Grove PodCliqueSets against a real API server and a real gang scheduler and reports, clause \
                  by clause, whether the backend keeps its promises.\n\nExit codes: 0 no required clause failed; 1 one failed, was \
                  flaky, or a known deviation passed; 2 usage; 3 infrastructure (nothing is known about the clauses), or \
                  the run was interrupted (its report is incomplete).",
    max_term_width = 110
)]
pub(crate) struct Cli {
    /// Log to standard error (or set RUST_LOG).
    #[arg(long, global = true)]
    pub verbose: bool,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run the conformance suite (or your own workload) and write a report.
    Run(Box<RunArgs>),
    /// Run the suite again and again to find out what is flaky, over several starts.
    Soak(Box<SoakArgs>),
    /// List the cases and the clauses they judge.
    List(ListArgs),
    /// List, show or export the clauses of the contract.
    Contract(ContractArgs),
    /// Judge a saved history again, offline.
    Replay(ReplayArgs),
    /// Work with reports: as a page, compared, as a table, merged, recovered.
    Report(ReportArgs),
    /// Run the mutants: deliberately broken clusters on which given clauses must fail.
    Mutants(MutantsArgs),
    /// Start a cluster and leave it running.
    Up(UpArgs),
    /// Stop a cluster that `up` started.
    Down(NameArgs),
    /// List clusters.
    Status,
    /// List, build or verify the programs that make up a cluster.
    Components(ComponentsArgs),
    /// Make the suite's image, for `run --in-cluster`.
    Image(ImageArgs),
    /// Check whether this machine can run the suite.
    Doctor,
    /// Remove what killed runs left behind.
    Clean(CleanArgs),
    /// Measure cluster start, gang latency, the operator's rate and memory.
    Bench(BenchArgs),
    /// Print the completion script of a shell.
    Completions(CompletionsArgs),
    /// Print the manual page, or write one page per command.
    Man(ManArgs),
    /// Own a cluster that `up` started.
    #[command(name = "__supervise", hide = true)]
    Supervise(UpArgs),
}

/// How clusters are made.
#[derive(Debug, Clone, Args)]
pub(crate) struct ClusterArgs {
    /// Use this program instead of building it, e.g. kube-scheduler=./my-scheduler. May be repeated.
    #[arg(long = "bin", value_name = "NAME=PATH", value_parser = name_and_path)]
    pub bins: Vec<(String, PathBuf)>,
    /// Folder with KAI's programs (kai-scheduler, kai-binder and, optionally, kai-podgrouper) and its four CRDs.
    #[arg(long, value_name = "DIR", env = "GROVE_CONFORMANCE_KAI_DIR", hide_env_values = true)]
    pub kai_dir: Option<PathBuf>,
    /// Checkout of kai-scheduler/KAI-Scheduler, instead of --kai-dir: short for --scheduler-source kai-scheduler=DIR.
    #[arg(long, value_name = "DIR")]
    pub kai_source: Option<PathBuf>,
    /// Build this scheduler from a working tree of its repository, once per content, instead of the pinned version:
    /// kube-scheduler, vc-scheduler, koord-scheduler, kai-scheduler or scheduler-plugins-scheduler, e.g.
    /// vc-scheduler=../volcano. May be repeated.
    #[arg(long = "scheduler-source", value_name = "NAME=DIR", value_parser = name_and_dir)]
    pub scheduler_sources: Vec<(String, PathBuf)>,
}

/// Parses a Kubernetes version such as `1.36`.
fn version() -> impl TypedValueParser<Value = Kubernetes> {
    let known = Kubernetes::ALL.map(|version| PossibleValue::new(version.minor()).help(version.about()));
    PossibleValuesParser::new(known).map(|word| {
        // The parser above accepts only known versions.
        Kubernetes::named(&word).unwrap_or_default()
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Versions {
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
    /// Local processes and nodes simulated by KWOK; no Docker.
    Local,
    /// Containers with real kubelets and fake GPUs; needs Docker.
    Kind,
    /// Your own cluster, given by --kubeconfig.
    Existing,
}

impl ProviderName {
    /// The name in reports.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Kind => "kind",
            Self::Existing => "existing",
        }
    }
}

/// A conformance programme's demands, in place of Grove's contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileName {
    /// Gang scheduling of plain pods, for Kubernetes AI conformance.
    AiConformance,
}

/// The value of `--operator` for an operator that someone else runs.
pub(crate) const EXISTING: &str = "existing";
/// The value of `--operator` for the reference controller, which needs no description.
pub(crate) const REFERENCE: &str = "reference";

/// How the schedulers of a kind cluster are installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Install {
    /// From images built here; KAI's of --kai-source or --kai-dir.
    Manifests,
    /// From their Helm charts; needs Helm and registry access.
    Helm,
}

/// An operator in the reference controller's place.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct OperatorArgs {
    /// Judge this operator instead of the reference controller: upstream=DIR, a checkout of ai-dynamo/grove, which is
    /// built with Go once; exec:FILE, a description of any operator (docs/operators.md); existing, the one that you run in
    /// the cluster yourself; or reference.
    #[arg(long, value_name = "upstream=DIR|exec:FILE|existing")]
    pub operator: Option<String>,
    /// What it declares, instead of the file that comes with its description: clauses of other features are unsupported.
    #[arg(long, value_name = "FILE", requires = "operator")]
    pub declares: Option<PathBuf>,
}

impl OperatorArgs {
    /// Whether someone else runs the operator.
    pub(crate) fn is_existing(&self) -> bool {
        self.operator.as_deref() == Some(EXISTING)
    }

    /// The `--operator` value of an operator that the harness must start.
    pub(crate) fn started(&self) -> Option<&str> {
        self.operator.as_deref().filter(|word| ![EXISTING, REFERENCE].contains(word))
    }
}

/// Parses a node label with its value.
fn label(word: &str) -> Result<String, String> {
    let is_part = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
    };
    match word.split_once('=') {
        Some((key, value)) if is_part(key) && is_part(value) => Ok(word.to_owned()),
        _ => Err("expected KEY=VALUE, a label that the nodes carry".into()),
    }
}

/// Where a run's cluster comes from.
#[derive(Debug, Clone, Args)]
pub(crate) struct ProviderArgs {
    /// Where the cluster comes from.
    #[arg(long, value_enum, default_value = "local")]
    pub provider: ProviderName,
    /// Node image for kind, instead of the published one or one built here.
    #[arg(long, value_name = "IMAGE")]
    pub node_image: Option<String>,
    /// kind configuration, instead of kind-configs/all-backends.yaml.
    #[arg(long, value_name = "FILE")]
    pub kind_config: Option<PathBuf>,
    /// How Volcano, Koordinator and KAI are installed in a kind cluster.
    #[arg(long, value_enum, default_value = "manifests")]
    pub install: Install,
    /// With --install helm, use this chart for volcano, koord-scheduler or kai-scheduler instead of the pinned one: an
    /// OCI reference, REPOSITORY/CHART, or a path. @VERSION alone selects another version of the pinned chart. May be
    /// repeated.
    #[arg(long = "chart", value_name = "NAME=CHART[@VERSION]", value_parser = name_and_chart)]
    pub charts: Vec<(String, String)>,
    /// Kubeconfig of your own cluster; in a pod of that cluster the default is its service account. Nothing is installed in it; it must run KWOK for nodes annotated
    /// kwok.x-k8s.io/node=fake, unless --nodes-where lends it nodes.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Lend the nodes of your cluster that carry this label to cases, with their own capacity, instead of simulating any.
    /// They get back their labels and taints. One more than a case needs is for canaries.
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    pub nodes_where: Option<String>,
    /// Run even if the cluster has PodCliqueSets that no conformance run created.
    #[arg(long)]
    pub beside_foreign_workloads: bool,
    /// The cluster stores all kinds in one etcd, so clauses about the order of writes across kinds can be judged.
    #[arg(long)]
    pub one_etcd: bool,
    /// Name of the operator in the report, with --operator existing.
    #[arg(long, value_name = "NAME", default_value = "unnamed")]
    pub operator_name: String,
    /// Its version there.
    #[arg(long, value_name = "VERSION", default_value = "unknown")]
    pub operator_version: String,
}

/// Arguments of `run`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    /// Backend to judge (default-scheduler, volcano, koord-scheduler, kai-scheduler, external); all of them in one
    /// control plane (all); or your own scheduler that reads PodGangs (external:NAME).
    #[arg(long, value_name = "NAME|all", default_value = "default-scheduler")]
    pub backend: String,
    /// Judge TrainJobs of the Kubeflow Trainer instead of PodCliqueSets, on a control plane of their own: of the backend's
    /// scheduler (default-scheduler, volcano, scheduler-plugins-scheduler, kai-scheduler), or of all of them.
    #[arg(long, conflicts_with_all = ["scope", "workload", "operator", "upgrade_from", "cluster", "features"])]
    pub trainjob: bool,
    /// With --trainjob, folder with the trainer's program (trainer-controller-manager) and manifests/base of its repository,
    /// instead of the pinned trainer. Where its runtimes know kaiScheduler, our KAI plugin is left out.
    #[arg(long, value_name = "DIR", requires = "trainjob", conflicts_with = "trainer_source")]
    pub trainer_dir: Option<PathBuf>,
    /// With --trainjob, checkout of kubeflow/trainer, instead of --trainer-dir: built with Go, once per content.
    #[arg(long, value_name = "DIR", requires = "trainjob")]
    pub trainer_source: Option<PathBuf>,
    /// Judge what a conformance programme demands of a platform instead of PodCliqueSets, on a control plane without an
    /// operator: of the backend's scheduler (default-scheduler, volcano, koord-scheduler, kai-scheduler), or of all of
    /// them. The result of each is beside the report in the programme's form.
    #[arg(long, value_enum, value_name = "PROFILE",
          conflicts_with_all = ["trainjob", "scope", "workload", "generate", "generated", "scale", "operator",
                                "upgrade_from", "cluster", "features", "evidence"])]
    pub profile: Option<ProfileName>,
    /// Features that the scheduler of --backend external:NAME declares, to be judged (AtomicPodGang,TopologyRequired).
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub features: Vec<String>,
    /// Judge only this gang scope of kube-scheduler: PodGroup or PodGang, or Tree on Kubernetes 1.37.
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<String>,
    /// Kubernetes version [default: 1.36, or the version that --scope requires].
    #[arg(long, value_enum, value_name = "VERSION")]
    pub kubernetes: Option<Versions>,
    /// Run only the case or group of this id (aon/one-pod-short, aon). May be repeated.
    #[arg(long = "case", value_name = "ID")]
    pub cases: Vec<String>,
    /// Run only cases that judge this clause (AON-02). May be repeated.
    #[arg(long = "clause", value_name = "ID")]
    pub clauses: Vec<String>,
    /// Run only cases that judge a clause of this tier of Grove's proposal 592. May be repeated.
    #[arg(long = "tier", value_enum, value_name = "TIER")]
    pub tiers: Vec<TierName>,
    /// Run cases of features that the operator does not declare too, to find out whether it has them; they stay
    /// unsupported, and the report says what was shown.
    #[arg(long, requires = "operator")]
    pub probe_undeclared: bool,
    /// Compare with an earlier report of the same contract version, seed, provider and declaration: end with exit code 0 if no
    /// clause got worse. One that was judged there and is not judged now got worse.
    #[arg(long, value_name = "REPORT")]
    pub baseline: Option<PathBuf>,
    /// Report the deviations in this file as known ones: a list, `deviations`, of clause, case, code, reason, issue, and until, the
    /// version of the operator in which it ends.
    #[arg(long, value_name = "FILE")]
    pub accept: Option<PathBuf>,
    /// Write an evidence file, which says what was declared and shown: JSON if its name ends in .json, else YAML.
    #[arg(long, value_name = "FILE")]
    pub evidence: Option<PathBuf>,
    /// Run only the Ith of N shares of the selected cases; `report merge` combines the reports.
    #[arg(long, value_name = "I/N", conflicts_with = "workload")]
    pub shard: Option<Shard>,
    /// Run the suite inside the cluster of --kubeconfig, as pods of a Job: submit it, follow it, fetch and merge the reports,
    /// and remove it (docs/in-cluster.md).
    #[arg(long, requires_all = ["kubeconfig", "image"], conflicts_with = "shard")]
    pub in_cluster: bool,
    /// With --in-cluster, the suite's image, which the cluster's nodes have or can pull; `image` makes one.
    #[arg(long, value_name = "IMAGE", requires = "in_cluster")]
    pub image: Option<String>,
    /// With --in-cluster, deal the cases to so many pods. In a pod of an Indexed Job: run the share of its completion index.
    #[arg(long, value_name = "N", conflicts_with_all = ["shard", "workload"])]
    pub shards: Option<std::num::NonZeroUsize>,
    /// In a pod, store the report in ConfigMaps of its namespace, for `report fetch`. The pod then succeeds regardless of the
    /// verdicts.
    #[arg(long, conflicts_with_all = ["in_cluster", "cluster"])]
    pub store_results: bool,
    /// The run's id, in a pod.
    #[arg(long, value_name = "ID", env = "GROVE_CONFORMANCE_RUN", hide = true)]
    pub run_id: Option<String>,
    /// Judge your own PodCliqueSet instead of the suite's cases.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cases", "clauses", "tiers"], requires = "nodes")]
    pub workload: Option<PathBuf>,
    /// Nodes for --workload: how many, and GPUs per node (8x8 is 8 nodes with 8 GPUs each).
    #[arg(long, value_name = "NODESxGPUS", requires = "workload")]
    pub nodes: Option<String>,
    /// Run N generated workloads instead of the suite's cases: PodCliqueSets and operations on them, drawn from --seed. One
    /// that fails is shrunk and written to the report's folder, to be run again by --generated.
    #[arg(long, value_name = "N", conflicts_with_all = ["cases", "clauses", "tiers", "workload", "generated"],
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub generate: Option<u64>,
    /// Draw from this seed what a run covers of what it has no time for: crash points, and the gang scope of kube-scheduler on
    /// which the lifecycle is judged. Of generated workloads the seed of the first; the next has the next [default: 1].
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Run a generated workload that was written to a file.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cases", "clauses", "tiers", "workload"])]
    pub generated: Option<PathBuf>,
    /// Run gangs of mixed shapes at scale instead of the suite's cases, --pods of them on this many simulated nodes with this
    /// many GPUs each, on a control plane of one backend (of kube-scheduler's gang scopes PodGang, unless --scope says
    /// otherwise). Judges them bound and deleted, measures both, and what the scheduler takes for the same without an operator.
    #[arg(long, value_name = "NODESxGPUS", requires = "pods",
          conflicts_with_all = ["cases", "clauses", "tiers", "workload", "generate", "generated", "shard", "trainjob",
                                "cluster", "upgrade_from"])]
    pub scale: Option<String>,
    /// Pods for --scale; three of four ask for a GPU.
    #[arg(long, value_name = "N", requires = "scale", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub pods: Option<u32>,
    /// With --scale, once everything has converged, change the pod template of every clique, and judge and measure the rolling
    /// update of all pods.
    #[arg(long, requires = "scale")]
    pub update: bool,
    /// Folder for the report, histories and artifacts.
    #[arg(long, value_name = "DIR", default_value = "conformance-report")]
    pub report_dir: PathBuf,
    /// Run on a cluster started by `up` (cases that stop components still get their own cluster).
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// Maximum number of cases running at once on the shared cluster [default: 10, and more while processors are idle; 4 on kind].
    #[arg(long, value_name = "N")]
    pub concurrency: Option<usize>,
    /// Multiply every time limit by this factor, for slow machines.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = factor)]
    pub timeout_scale: f64,
    /// Let a broken recommendation, which only this suite asks for, end the run with exit code 1 like a broken requirement.
    #[arg(long)]
    pub strict: bool,
    /// Judge the life after creation (status, gang termination, startup order, updates, autoscaling) on every gang scope of
    /// kube-scheduler, instead of on one that the seed chooses. Implied by --scope, --case, --clause, --tier and --shard.
    #[arg(long)]
    pub every_scope: bool,
    /// Kill the operator after each of its writes (AON-13, UPD-17), instead of after twelve that the seed chooses.
    #[arg(long)]
    pub every_crash_point: bool,
    /// Have a gang that is one pod short outlive the scheduler's own gang timeout (AON-02): 5 minutes of kube-scheduler, 30
    /// seconds of Koordinator; Volcano and KAI have none.
    #[arg(long)]
    pub gang_timeouts: bool,
    /// Retry a failed case up to N times, each with no other case beside it; a pass on retry is reported as flaky.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub retries: u32,
    /// Keep the cluster folders (logs, etcd data).
    #[arg(long)]
    pub keep: bool,
    /// Where the cluster comes from.
    #[command(flatten)]
    pub provider: ProviderArgs,
    /// Whose controller is judged.
    #[command(flatten)]
    pub operator: OperatorArgs,
    /// Judge upgrades too (MIG): this operator, named as for --operator, makes the gangs that the one of --operator, or the
    /// reference controller, takes over.
    #[arg(long, value_name = "reference|upstream=DIR|exec:FILE", conflicts_with = "workload")]
    pub upgrade_from: Option<String>,
    /// How clusters are made.
    #[command(flatten)]
    pub cluster_args: ClusterArgs,
}

impl RunArgs {
    /// The seed for the run's samples.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or(DEFAULT_SEED)
    }

    pub(crate) fn judged(&self) -> Workload {
        match (self.trainjob, self.profile) {
            (true, _) => Workload::TrainJobs,
            (false, Some(ProfileName::AiConformance)) => Workload::PlainPods,
            (false, None) => Workload::PodCliqueSets,
        }
    }
}

/// Arguments of `soak`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SoakArgs {
    /// Runs that there are to be in the end, those of earlier starts in the folder of --report-dir included.
    #[arg(long, value_name = "N")]
    pub runs: std::num::NonZeroUsize,
    /// What is run: by default what `run` runs.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Arguments of `list`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ListArgs {
    /// A table for people, or a JSON array for programs.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "table")]
    pub format: ListFormat,
}

/// Arguments of `contract`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ContractArgs {
    /// What to do.
    #[command(subcommand)]
    pub verb: ContractVerb,
}

/// Verbs of `contract`.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ContractVerb {
    /// List clauses: level, feature and title.
    List {
        /// Ids of clauses, such as AON-02, or of groups, such as AON; all, if none is given.
        #[arg(value_name = "ID")]
        ids: Vec<String>,
    },
    /// Show clauses: requirement, who owes them, sources, cases, and what is not tested.
    Show {
        /// Ids of clauses, such as AON-02, or of groups, such as AON.
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
    },
    /// List the cases that judge clauses.
    Cases {
        /// Ids of clauses, such as AON-02, or of groups, such as AON; all, if none is given.
        #[arg(value_name = "ID")]
        ids: Vec<String>,
    },
    /// Write the whole contract.
    Export {
        /// A JSON array with every field, or Markdown.
        #[arg(long, value_enum, value_name = "FORMAT", default_value = "json")]
        format: ContractFormat,
    },
    /// Check in clones of the cited repositories that every cited file has the cited lines.
    #[command(hide = true)]
    CheckSources {
        /// Clones that have the cited commits.
        #[arg(value_name = "DIR", required = true)]
        clones: Vec<PathBuf>,
    },
}

/// How `contract export` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ContractFormat {
    /// For programs.
    Json,
    /// For people.
    Markdown,
}

/// What a clause's verdict depends on, as proposal 592 sorts suites, and what it has no tier for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TierName {
    /// The operator alone.
    Agnostic,
    /// What the scheduler does as well.
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

/// How `list` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// Columns.
    Table,
    /// An array of objects.
    Json,
}

/// Arguments of `replay`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReplayArgs {
    /// History in JSON lines, as saved by a run or printed by `kubectl get --watch --output-watch-events -o json`.
    pub history: PathBuf,
    /// Case to judge by, for your own recording.
    #[arg(long, value_name = "ID", requires_all = ["manifest", "namespace"])]
    pub case: Option<String>,
    /// Manifest of the recording's PodCliqueSet.
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,
    /// Namespace of the recording.
    #[arg(long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Backend to judge.
    #[arg(long, value_name = "NAME", default_value = "default-scheduler")]
    pub backend: String,
    /// Features that the scheduler of --backend external:NAME declares.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub features: Vec<String>,
    /// Gang scope of default-scheduler: PodGroup (default), PodGang or Tree.
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
    /// Merge the reports of shards, or of runs on different backends and providers, and exit with the code of the merged report.
    Merge(MergeArgs),
    /// Fetch the reports that pods of the suite have stored in a cluster, and merge them; exits with the merged report's code.
    Fetch(FetchArgs),
    /// Write report.html, the report and its histories as one page for a browser.
    Html(HtmlArgs),
    /// Say what changed from one report to another, and exit with 1 on a regression.
    Compare(CompareArgs),
    /// Make one table of many reports: features by backend and version.
    Table(TableArgs),
    /// Make an incomplete report of the results that a killed run left in its folder, and write it there.
    Recover(RecoverArgs),
    /// Write the evidence file of a report, or check whether one is that of the report; exits with the report's code.
    Evidence(EvidenceArgs),
}

/// Arguments of `report fetch`.
#[derive(Debug, Clone, Args)]
pub(crate) struct FetchArgs {
    /// Kubeconfig of the cluster.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: PathBuf,
    /// Namespace of the pods.
    #[arg(long, value_name = "NAME", default_value = "grove-conformance")]
    pub namespace: String,
    /// Folder for the merged report; those of the pods are below it, in shards.
    #[arg(long, value_name = "DIR", default_value = "conformance-report")]
    pub report_dir: PathBuf,
}

/// Arguments of `report html`.
#[derive(Debug, Clone, Args)]
pub(crate) struct HtmlArgs {
    /// The report's folder, or its report.yaml or report.json. Histories are read from the artifacts beside it.
    #[arg(value_name = "REPORT")]
    pub report: PathBuf,
    /// File to write, instead of report.html beside the report. Links to artifacts lead from the report's folder.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Arguments of `report compare`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CompareArgs {
    /// The older report: its folder, or its report.yaml or report.json.
    #[arg(value_name = "OLD")]
    pub old: PathBuf,
    /// The newer one.
    #[arg(value_name = "NEW")]
    pub new: PathBuf,
    /// Exit with 1 if any verdict is not the same; a known deviation counts as kept, for one that is a race comes and goes.
    #[arg(long)]
    pub same: bool,
    /// File to write, instead of Markdown to standard output: a page if its name ends in .html, else Markdown. May be
    /// repeated.
    #[arg(long, value_name = "FILE")]
    pub out: Vec<PathBuf>,
}

/// Arguments of `report table`.
#[derive(Debug, Clone, Args)]
pub(crate) struct TableArgs {
    /// The reports: their folders, or their report.yaml or report.json.
    #[arg(value_name = "REPORT", required = true)]
    pub reports: Vec<PathBuf>,
    /// File to write, instead of Markdown to standard output: a page if its name ends in .html, else Markdown. May be
    /// repeated.
    #[arg(long, value_name = "FILE")]
    pub out: Vec<PathBuf>,
}

/// Arguments of `report evidence`.
#[derive(Debug, Clone, Args)]
pub(crate) struct EvidenceArgs {
    /// The report.yaml or report.json.
    #[arg(value_name = "REPORT")]
    pub report: PathBuf,
    /// File to write it to, instead of standard output: JSON if its name ends in .json, else YAML.
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    pub out: Option<PathBuf>,
    /// Evidence file to check.
    #[arg(long, value_name = "FILE")]
    pub check: Option<PathBuf>,
}

/// Arguments of `report recover`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RecoverArgs {
    /// The folder of the run's report, with its results.jsonl.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// Arguments of `report merge`.
#[derive(Debug, Clone, Args)]
pub(crate) struct MergeArgs {
    /// The report.yaml or report.json of each run.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Folder for the merged report.
    #[arg(long, value_name = "DIR")]
    pub report_dir: PathBuf,
}

/// Arguments of `mutants`.
#[derive(Debug, Clone, Args)]
pub(crate) struct MutantsArgs {
    /// Run only these mutants.
    #[arg(value_name = "ID")]
    pub names: Vec<String>,
    /// Run only the mutants that have to turn this clause red; may be repeated.
    #[arg(long, value_name = "ID")]
    pub clause: Vec<String>,
    /// Run only the Ith of N shares.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Run only so many of them, of every group of clauses, chosen by the seed.
    #[arg(long, value_name = "N")]
    pub sample: Option<usize>,
    /// What chooses the sample: the same mutants for the same word.
    #[arg(long, value_name = "WORD", default_value = "", requires = "sample")]
    pub seed: String,
    /// Run every case of a mutant's column that needs no control plane of its own, not those of its clauses alone: hours. What
    /// turns red beside what has to is listed, and not judged.
    #[arg(long, conflicts_with = "write")]
    pub every_case: bool,
    /// How many run at a time, each on a control plane of its own; on kind always one.
    #[arg(long, value_name = "N", default_value = "2")]
    pub side_by_side: std::num::NonZeroUsize,
    /// List the mutants instead of running them.
    #[arg(long)]
    pub list: bool,
    /// Write a Markdown page of all mutants to FILE, from the last run of each in --report-dir.
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    /// Mutants of your own instead of the built-in ones: a table as in src/mutants.
    #[arg(long, value_name = "FILE", conflicts_with = "write")]
    pub table: Option<PathBuf>,
    /// Provider of the clusters: local processes, or kind for the mutants of kubelets.
    #[arg(long, value_enum, default_value = "local")]
    pub provider: ProviderName,
    /// Folder for the reports.
    #[arg(long, value_name = "DIR", default_value = "conformance-report/mutants")]
    pub report_dir: PathBuf,
    /// Multiply every time limit by this factor, for slow machines [default: 1; 2 on kind].
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
    /// Backend whose scheduler runs in the cluster, as for `run --backend`, or all.
    #[arg(long, value_name = "NAME|all", default_value = "default-scheduler")]
    pub backend: String,
    /// Kubernetes version.
    #[arg(long, value_parser = version(), value_name = "VERSION", default_value = Kubernetes::default().minor())]
    pub kubernetes: Kubernetes,
    /// Which operator runs in it. With --operator existing none does, and its CRDs are left out: install your own and
    /// judge it with `run --provider existing --kubeconfig FILE --operator existing`.
    #[command(flatten)]
    pub operator: OperatorArgs,
    /// Initial nodes: how many, and GPUs per node (8x8 is 8 nodes with 8 GPUs each, 4 per rack, 8 per block).
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
    /// Kubernetes version.
    #[arg(long, value_enum, value_name = "VERSION", default_value = "all", global = true)]
    pub kubernetes: Versions,
    /// How clusters are made.
    #[command(flatten)]
    pub cluster_args: ClusterArgs,
}

/// Verbs of `components`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub(crate) enum ComponentsVerb {
    /// List components with their versions, and whether they are built.
    List,
    /// Build missing components.
    Build,
    /// Recompute digests and compare the version that each program reports.
    Verify,
}

/// Arguments of `image`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ImageArgs {
    /// Name of the image, instead of one with the program's digest.
    #[arg(long, value_name = "IMAGE")]
    pub tag: Option<String>,
}

/// Arguments of `clean`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CleanArgs {
    /// Remove the built programs as well.
    #[arg(long)]
    pub components: bool,
    /// Instead of this machine, clean this cluster: everything in it that carries the label of a run, and nothing else.
    /// A run that is going on there loses its objects too.
    #[arg(long, value_name = "FILE", conflicts_with = "components")]
    pub kubeconfig: Option<PathBuf>,
    /// Only what this run has made.
    #[arg(long, value_name = "ID", requires = "kubeconfig")]
    pub run: Option<String>,
    /// Only list what would be removed.
    #[arg(long, requires = "kubeconfig")]
    pub dry_run: bool,
}

/// Arguments of `bench`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct BenchArgs {
    /// What else to measure.
    #[command(subcommand)]
    pub verb: Option<BenchVerb>,
    /// Kubernetes version.
    #[arg(long, value_enum, value_name = "VERSION", default_value = Kubernetes::default().minor())]
    pub kubernetes: Versions,
    /// Backend whose scheduler is measured, as for `run --backend`, or all.
    #[arg(long, value_name = "NAME|all", default_value = "default-scheduler")]
    pub backend: String,
    /// How clusters are made.
    #[command(flatten)]
    pub cluster_args: ClusterArgs,
}

/// Verbs of `bench`.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum BenchVerb {
    /// Measure what README's commands take where nothing is built.
    Cold(ColdArgs),
}

/// Arguments of `bench cold`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ColdArgs {
    /// Checkouts of this repository, which are measured in turn.
    #[arg(value_name = "DIR", required = true)]
    pub dirs: Vec<PathBuf>,
    /// How often each is measured; every second time in the reverse order.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// The second command as well.
    #[arg(long)]
    pub tests: bool,
}

/// Arguments of `completions`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to print the script for.
    pub shell: Shell,
}

/// Arguments of `man`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ManArgs {
    /// Write a page for the program and for each of its commands into this folder instead.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

fn name_and_path(raw: &str) -> Result<(String, PathBuf), String> {
    match raw.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok((name.into(), path.into())),
        _ => Err("expected NAME=PATH, e.g. kube-scheduler=./my-scheduler".into()),
    }
}

fn name_and_dir(raw: &str) -> Result<(String, PathBuf), String> {
    name_and_path(raw).map_err(|_| "expected NAME=DIR, e.g. vc-scheduler=../volcano".into())
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
