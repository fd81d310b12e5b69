//! The options of a run. Each section is a part of the command line and of the configuration file, so every
//! option is also a field of the file. A field with `#[arg(skip)]` has no option: it is set in the file or
//! with `--set` (docs/configuration.md lists these fields).
//!
//! A value that was not given is `None`, or an empty list. `request` checks the values and sets the defaults.

mod cluster;
mod execution;
mod layer;
mod operator;
mod output;
mod pod;
mod programs;
mod scheduler_names;
mod selection;
mod target;
mod versions;

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) use self::cluster::{ClusterOptions, ProviderName};
pub(crate) use self::execution::{Depth, ExecutionOptions};
pub(crate) use self::layer::Layer;
pub(crate) use self::operator::OperatorOptions;
pub(crate) use self::output::OutputOptions;
pub(crate) use self::pod::PodOptions;
pub(crate) use self::programs::ProgramOptions;
#[cfg(test)]
pub(crate) use self::selection::ClassName;
pub(crate) use self::selection::SelectionOptions;
pub(crate) use self::target::TargetOptions;
pub(crate) use self::versions::Versions;

/// The options of a run, in the order of the help text.
#[derive(Debug, Clone, Default, PartialEq, Args, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct RunOptions {
    /// What is judged.
    #[command(flatten, next_help_heading = "Selection")]
    pub target: TargetOptions,
    /// Which cases run.
    #[command(flatten, next_help_heading = "Selection")]
    pub selection: SelectionOptions,
    /// Whose operator is judged.
    #[command(flatten, next_help_heading = "Operator")]
    pub operator: OperatorOptions,
    /// Where the cluster comes from.
    #[command(flatten, next_help_heading = "Cluster")]
    pub cluster: ClusterOptions,
    /// Where the programs come from.
    #[command(flatten, next_help_heading = "Programs")]
    pub programs: ProgramOptions,
    /// How the cases are executed.
    #[command(flatten, next_help_heading = "Execution")]
    pub execution: ExecutionOptions,
    /// What is written.
    #[command(flatten, next_help_heading = "Output")]
    pub output: OutputOptions,
    /// For pods of `job`.
    #[arg(skip)]
    pub pod: PodOptions,
}

layer::layered!(RunOptions: target, selection, operator, cluster, programs, execution, output, pod);
