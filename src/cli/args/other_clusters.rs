//! The arguments of `cluster` and `clean`, and of `dev`, for developers of the suite.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use conformance_contract::kubernetes::Kubernetes;
use conformance_report::Shard;

use super::run::{FeasibilityArgs, SoakArgs};
use super::value_parsers::{factor, version};
use super::{BehaviourArgs, MutateArgs};
use crate::options::{ProgramOptions, ProviderName, Versions};

#[derive(Debug, Clone, Args)]
pub(crate) struct DevArgs {
    #[command(subcommand)]
    pub verb: DevVerb,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum DevVerb {
    /// Run the mutants: deliberately broken clusters on which given clauses must fail.
    Mutants(MutantsArgs),
    /// Measure the suite with machine-made mutations of the reference operator.
    Mutate(MutateArgs),
    /// List how many cases `cargo test` runs on each target, for how long, and why.
    Tests(TestsArgs),
    /// Compare the check whether a workload fits its nodes with a scheduler, on generated pairs near the limit.
    Feasibility(Box<FeasibilityArgs>),
    /// Repeat a run to find flaky cases, over several starts.
    Soak(Box<SoakArgs>),
    /// Count the failures of correct targets per 10,000 case results, in reports of the reference operator.
    FalseFailures(FalseFailuresArgs),
    /// Measure cluster start, gang latency, the operator's rate and memory.
    Bench(BenchArgs),
    /// List, build, verify or copy the programs that make up a cluster.
    Components(ComponentsArgs),
    /// List the pinned version of each module, and the newer ones that a module proxy serves.
    Versions,
    /// Build the suite's image, for `job`.
    Image(ImageArgs),
    /// Publish answers of `observe`: a page, and the excerpts of histories that prove them.
    Behaviour(BehaviourArgs),
    /// Check in clones of the cited repositories that every cited file has the cited lines.
    ContractSources(ContractSourcesArgs),
}

#[derive(Debug, Clone, Args)]
pub(crate) struct TestsArgs {
    /// Report with the duration of each case on each target. Without it, the usual duration of each case
    /// counts.
    #[arg(value_name = "REPORT")]
    pub report: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct FalseFailuresArgs {
    /// Folders whose reports are counted. The reports may be in subfolders, such as those of `dev soak`.
    #[arg(value_name = "DIR", required = true)]
    pub folders: Vec<PathBuf>,
    /// JSON file for the figures.
    #[arg(short = 'o', long = "output", value_name = "FILE", default_value = "false-failures.json")]
    pub file: PathBuf,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ContractSourcesArgs {
    /// Clones that have the cited commits.
    #[arg(value_name = "DIR", required = true)]
    pub clones: Vec<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ClusterArgs {
    #[command(subcommand)]
    pub verb: ClusterVerb,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ClusterVerb {
    /// Start a cluster and leave it running.
    Create(Box<CreateArgs>),
    /// Stop a cluster that `cluster create` started.
    Delete(NameArgs),
    /// List clusters.
    List,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct MutantsArgs {
    /// Run only these mutants.
    #[arg(value_name = "ID")]
    pub names: Vec<String>,
    /// Run only the mutants on which this clause must fail. May be repeated.
    #[arg(long, value_name = "ID")]
    pub clause: Vec<String>,
    /// Run only the Ith of N shares.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Run only this many mutants. The seed chooses them, from every group of clauses.
    #[arg(long, value_name = "N")]
    pub sample: Option<usize>,
    /// Seed of the sample. The same word selects the same mutants.
    #[arg(long, value_name = "WORD", default_value = "", requires = "sample")]
    pub seed: String,
    /// Run every case of a mutant's target that needs no control plane of its own, instead of only the cases
    /// of its clauses. This takes hours. Additional failures are listed and do not count.
    #[arg(long, conflicts_with = "write")]
    pub every_case: bool,
    /// Run the cases of `run --depth quick` on each mutant, to find out which mutants these cases kill.
    #[arg(long, conflicts_with_all = ["write", "every_case"])]
    pub quick: bool,
    /// Number of mutants that run at the same time, each on its own control plane. On kind, always one.
    #[arg(long, value_name = "N", default_value = "2")]
    pub side_by_side: std::num::NonZeroUsize,
    /// List the mutants instead of running them.
    #[arg(long)]
    pub list: bool,
    /// Write a Markdown page of all mutants to FILE, from the last run of each in --output.
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    /// A table of your own mutants, as in src/mutants, instead of the built-in ones.
    #[arg(long, value_name = "FILE", conflicts_with = "write")]
    pub table: Option<PathBuf>,
    /// Provider of the clusters: local processes, or kind for the mutants of kubelets.
    #[arg(long, value_enum, default_value = "local")]
    pub provider: ProviderName,
    /// Folder for the reports.
    #[arg(short = 'o', long = "output", value_name = "DIR", default_value = "conformance-report/mutants")]
    pub report_dir: PathBuf,
    /// Multiply every time limit by this factor, for slow machines [default: 1; 2 on kind].
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    pub timeout_scale: Option<f64>,
    #[command(flatten)]
    pub programs: ProgramOptions,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct CreateArgs {
    /// The cluster's name.
    #[arg(default_value = "dev")]
    pub name: String,
    /// Backend whose scheduler runs in the cluster, as for `run --backend`, or all.
    #[arg(long, value_name = "NAME|all", default_value = "default-scheduler")]
    pub backend: String,
    /// Kubernetes version.
    #[arg(long, value_parser = version(), value_name = "VERSION", default_value = Kubernetes::default().minor())]
    pub kubernetes: Kubernetes,
    /// The operator that runs in the cluster, as for `run --operator`. With existing, no operator runs and no
    /// Grove CRDs are installed. Install your own operator and judge it with `run --provider existing
    /// --kubeconfig FILE --operator existing`.
    #[arg(long, value_name = "upstream=DIR|exec:FILE|existing")]
    pub operator: Option<String>,
    /// Declaration of the operator, instead of the file that comes with its description.
    #[arg(long, value_name = "FILE", requires = "operator")]
    pub declaration: Option<PathBuf>,
    /// Initial nodes: how many, and GPUs per node (8x8 is 8 nodes with 8 GPUs each; 4x8,2x4 is 4 nodes with 8
    /// and 2 with 4), 4 per rack and 8 per block.
    #[arg(long, value_name = "NODESxGPUS,...")]
    pub nodes: Option<String>,
    /// Build and download nothing, as with programs.offline of a run. If a pinned program is neither in a
    /// release folder nor in the cache, fail before anything starts.
    #[arg(long)]
    pub offline: bool,
    #[command(flatten)]
    pub programs: ProgramOptions,
}

/// A cluster's name.
#[derive(Debug, Clone, Args)]
pub(crate) struct NameArgs {
    /// The cluster's name.
    #[arg(default_value = "dev")]
    pub name: String,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ComponentsArgs {
    #[command(subcommand)]
    pub verb: ComponentsVerb,
    /// Kubernetes version.
    #[arg(long, value_enum, value_name = "VERSION", default_value = "all", global = true)]
    pub kubernetes: Versions,
    #[command(flatten)]
    pub programs: ProgramOptions,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum ComponentsVerb {
    /// List components with their versions, and whether they are built.
    List,
    /// Build missing components.
    Build,
    /// Recompute digests and compare the version that each program reports.
    Verify,
    /// Copy everything that --provider local needs into a folder, with SHA256SUMS. Builds what is missing.
    /// Next to the program of this suite, the folder replaces Go and the network.
    Fetch {
        /// A folder that is empty or does not exist.
        #[arg(long, value_name = "DIR")]
        to: PathBuf,
    },
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ImageArgs {
    /// Name of the image, instead of one with the program's digest.
    #[arg(long, value_name = "IMAGE")]
    pub tag: Option<String>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct CleanArgs {
    /// Remove the built programs as well.
    #[arg(long)]
    pub components: bool,
    /// Clean the cluster of this kubeconfig instead of this machine. Only objects with the label of a run are
    /// removed. A run in progress there loses its objects too.
    #[arg(long, value_name = "FILE", conflicts_with = "components")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig, instead of the current one.
    #[arg(long, value_name = "NAME", requires = "kubeconfig")]
    pub context: Option<String>,
    /// Remove only the objects of this run.
    #[arg(long, value_name = "ID", requires = "kubeconfig")]
    pub run: Option<String>,
    /// List the objects without removing them.
    #[arg(long, requires = "kubeconfig")]
    pub dry_run: bool,
}

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
    #[command(flatten)]
    pub programs: ProgramOptions,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum BenchVerb {
    /// Measure the commands of the README when nothing is built.
    Cold(ColdArgs),
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ColdArgs {
    /// Checkouts of this repository, which are measured in turn.
    #[arg(value_name = "DIR", required = true)]
    pub dirs: Vec<PathBuf>,
    /// Number of rounds. Every second round has the reverse order.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// Also measure the second command of the README, `cargo test`.
    #[arg(long)]
    pub tests: bool,
}
