//! The arguments of the subcommands that judge something: `run`, and the tools for other workloads.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use conformance_report::Shard;

use super::config::ConfigArgs;
use crate::options::{
    ClusterOptions, ExecutionOptions, OperatorOptions, OutputOptions, ProgramOptions, RunOptions,
    SelectionOptions, TargetOptions,
};

#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub options: RunOptions,
    /// With --provider existing, print the objects, rights, nodes and taints of the run and its usual
    /// duration, and end before anything is created.
    #[arg(long, help_heading = "Cluster")]
    pub plan: bool,
    #[command(flatten)]
    pub config: ConfigArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct SoakArgs {
    /// Total number of runs, including those of earlier starts in the folder of --output.
    #[arg(long, value_name = "N")]
    pub runs: NonZeroUsize,
    /// The runs; without options the same as `run`.
    #[command(flatten)]
    pub options: RunOptions,
    #[command(flatten)]
    pub config: ConfigArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct JobArgs {
    /// The suite's image, which the cluster's nodes have or can pull; `dev image` builds one.
    #[arg(long, value_name = "IMAGE", help_heading = "Job")]
    pub image: String,
    /// Split the cases among this many pods.
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Job")]
    pub shards: NonZeroUsize,
    /// What the pods run.
    #[arg(long, value_enum, default_value = "run", help_heading = "Job")]
    pub verb: PodVerb,
    #[command(flatten)]
    pub options: RunOptions,
    #[command(flatten)]
    pub config: ConfigArgs,
}

/// What the pods of `job` run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PodVerb {
    /// Grove's contract.
    Run,
    /// Gang scheduling of plain pods.
    AiConformance,
}

#[derive(Debug, Clone, Args)]
#[command(mut_arg("depth", |arg| arg.hide(true)), mut_arg("seed", |arg| arg.hide(true)))]
pub(crate) struct WorkloadArgs {
    /// Your manifest, with PodCliqueSets and the objects that they need; or a folder, each of whose *.yaml and
    /// *.yml files is judged as one manifest.
    #[arg(value_name = "FILE|DIR")]
    pub path: PathBuf,
    #[command(flatten)]
    pub nodes: NodesArgs,
    #[command(flatten)]
    pub common: ToolArgs,
}

/// The nodes of `workload`.
#[derive(Debug, Clone, Args)]
pub(crate) struct NodesArgs {
    /// Nodes: how many, and GPUs per node (8x8 is 8 nodes with 8 GPUs each; 4x8,2x4 is 4 nodes with 8 and 2
    /// with 4), 4 per rack and 8 per block. Or a file of Nodes, whose labels, taints, resources and devices
    /// the simulated nodes get.
    #[arg(long, value_name = "NODESxGPUS,...|FILE", required_unless_present = "nodes_from")]
    pub nodes: Option<String>,
    /// Simulate nodes like those of the cluster of this kubeconfig, which is only read.
    #[arg(long, value_name = "KUBECONFIG", conflicts_with = "nodes")]
    pub nodes_from: Option<PathBuf>,
    /// Context of the kubeconfig of --nodes-from, instead of the current one.
    #[arg(long, value_name = "NAME", requires = "nodes_from", conflicts_with = "nodes")]
    pub nodes_from_context: Option<String>,
}

#[derive(Debug, Clone, Args)]
#[command(mut_arg("depth", |arg| arg.hide(true)))]
pub(crate) struct FuzzArgs {
    /// Run a generated workload that an earlier run wrote to this file, instead of new ones.
    #[arg(value_name = "FILE", conflicts_with = "count")]
    pub path: Option<PathBuf>,
    /// Run N generated workloads: PodCliqueSets and operations on them. The first has the seed --seed, each
    /// further one the next seed. A workload that fails is shrunk and written to the report's folder.
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub count: u64,
    /// Run only the Ith of N shares of the workloads; `report merge` combines the reports.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    #[command(flatten)]
    pub common: ToolArgs,
}

#[derive(Debug, Clone, Args)]
#[command(mut_arg("depth", |arg| arg.hide(true)), mut_arg("retries", |arg| arg.hide(true)))]
pub(crate) struct LoadArgs {
    /// Simulated nodes: how many, and GPUs per node.
    #[arg(long, value_name = "NODESxGPUS")]
    pub nodes: String,
    /// Pods, in gangs of mixed shapes; three of four request a GPU.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub pods: u32,
    /// Once everything has converged, change the pod template of every clique, and judge and measure the
    /// rolling update of all pods.
    #[arg(long)]
    pub update: bool,
    /// Give the pods low priority, in gangs of 8 with a GPU for each pod. Then submit a tenth as many gangs of
    /// high priority, and judge and measure the preemption.
    #[arg(long, conflicts_with = "update")]
    pub preempt: bool,
    #[command(flatten)]
    pub common: ToolArgs,
}

#[derive(Debug, Clone, Args)]
#[command(
    mut_arg("depth", |arg| arg.hide(true)),
    mut_arg("scope", |arg| arg.help("Gang scope of kube-scheduler [default: PodGang]")),
    mut_arg("seed", |arg| arg.help("Seed of the pairs. The same seed draws the same pairs [default: 1]"))
)]
pub(crate) struct FeasibilityArgs {
    /// Run only the pairs with these ids of cases, such as feasibility/1-17, which contain their seeds.
    #[arg(value_name = "ID", conflicts_with = "pairs")]
    pub ids: Vec<String>,
    /// Number of pairs of a manifest and nodes. Half are drawn to fit, with no room for another pod. The
    /// others lack room for one pod.
    #[arg(long, value_name = "N", default_value = "1000", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub pairs: u32,
    #[command(flatten, next_help_heading = "Target")]
    pub target: TargetOptions,
    #[command(flatten, next_help_heading = "Programs")]
    pub programs: ProgramOptions,
    #[command(flatten, next_help_heading = "Execution")]
    pub execution: ExecutionOptions,
    #[command(flatten, next_help_heading = "Output")]
    pub output: OutputOptions,
    #[command(flatten)]
    pub config: ConfigArgs,
}

impl FeasibilityArgs {
    pub(crate) fn split(self) -> (ConfigArgs, RunOptions) {
        let Self { ids: _, pairs: _, target, programs, execution, output, config } = self;
        (config, RunOptions { target, programs, execution, output, ..RunOptions::default() })
    }
}

/// The options that the tools for other PodCliqueSets share with `run`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ToolArgs {
    #[command(flatten, next_help_heading = "Target")]
    pub target: TargetOptions,
    #[command(flatten, next_help_heading = "Operator")]
    pub operator: OperatorOptions,
    #[command(flatten, next_help_heading = "Cluster")]
    pub cluster: ClusterOptions,
    #[command(flatten, next_help_heading = "Programs")]
    pub programs: ProgramOptions,
    #[command(flatten, next_help_heading = "Execution")]
    pub execution: ExecutionOptions,
    #[command(flatten, next_help_heading = "Output")]
    pub output: OutputOptions,
    #[command(flatten)]
    pub config: ConfigArgs,
}

impl ToolArgs {
    pub(crate) fn split(self) -> (ConfigArgs, RunOptions) {
        let Self { target, operator, cluster, programs, execution, output, config } = self;
        (
            config,
            RunOptions { target, operator, cluster, programs, execution, output, ..RunOptions::default() },
        )
    }
}

#[derive(Debug, Clone, Args)]
#[command(
    mut_arg("scope", |arg| arg.hide(true)),
    mut_arg("depth", |arg| arg.hide(true)),
    mut_arg("backend", |arg| arg.help(
        "Judge this scheduler (default-scheduler, volcano, scheduler-plugins-scheduler, kai-scheduler), or all of \
         them [default: default-scheduler]"
    ))
)]
pub(crate) struct TrainJobsArgs {
    #[command(flatten, next_help_heading = "Selection")]
    pub target: TargetOptions,
    #[command(flatten, next_help_heading = "Selection")]
    pub selection: SelectionOptions,
    #[command(flatten, next_help_heading = "Programs")]
    pub programs: ProgramOptions,
    #[command(flatten, next_help_heading = "Execution")]
    pub execution: ExecutionOptions,
    #[command(flatten, next_help_heading = "Output")]
    pub output: OutputOptions,
    #[command(flatten)]
    pub config: ConfigArgs,
}

impl TrainJobsArgs {
    pub(crate) fn split(self) -> (ConfigArgs, RunOptions) {
        let Self { target, selection, programs, execution, output, config } = self;
        (config, RunOptions { target, selection, programs, execution, output, ..RunOptions::default() })
    }
}

#[derive(Debug, Clone, Args)]
#[command(
    mut_arg("scope", |arg| arg.hide(true)),
    mut_arg("depth", |arg| arg.hide(true)),
    mut_arg("backend", |arg| arg.help(
        "Judge this scheduler (default-scheduler, volcano, koord-scheduler, kai-scheduler, kueue), or all of \
         them [default: default-scheduler]"
    ))
)]
pub(crate) struct AiConformanceArgs {
    #[command(flatten, next_help_heading = "Selection")]
    pub target: TargetOptions,
    #[command(flatten, next_help_heading = "Selection")]
    pub selection: SelectionOptions,
    #[command(flatten, next_help_heading = "Cluster")]
    pub cluster: ClusterOptions,
    #[command(flatten, next_help_heading = "Programs")]
    pub programs: ProgramOptions,
    #[command(flatten, next_help_heading = "Execution")]
    pub execution: ExecutionOptions,
    #[command(flatten, next_help_heading = "Output")]
    pub output: OutputOptions,
    #[command(flatten)]
    pub config: ConfigArgs,
}

impl AiConformanceArgs {
    pub(crate) fn split(self) -> (ConfigArgs, RunOptions) {
        let Self { target, selection, cluster, programs, execution, output, config } = self;
        (
            config,
            RunOptions { target, selection, cluster, programs, execution, output, ..RunOptions::default() },
        )
    }
}
