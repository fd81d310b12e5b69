use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Deserialize;

use super::layer::layered;

#[derive(Debug, Clone, Default, PartialEq, Args, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ExecutionOptions {
    /// How thoroughly to judge. quick runs a few short cases, default and full run all of them. These two
    /// differ in what takes long: lifecycle cases on several gang scopes of kube-scheduler, crashes of the
    /// operator after a write (AON-13, UPD-17), and gang timeouts (AON-02), which are 5 minutes for
    /// kube-scheduler and 30 seconds for Koordinator. --seed selects the scope and the crashes of default.
    /// A selection, --scope, --class and --shard judge the lifecycle on every scope [default: default].
    #[arg(long, value_enum, value_name = "DEPTH")]
    pub depth: Option<Depth>,
    /// Seed for the parts of a run that are sampled: crash points, and the gang scope of kube-scheduler on
    /// which the lifecycle is judged [default: 1].
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Retry a failed case up to N times, while no other case runs. A pass on retry is reported as flaky
    /// [default: 0].
    #[arg(long, value_name = "N")]
    pub retries: Option<u32>,
    /// Start no further case after the first failed required clause. Running cases end, and the others are
    /// not run.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          hide_possible_values = true)]
    pub fail_fast: Option<bool>,
    /// Exit with 1 also if a recommended clause is violated. Only this suite asks for these clauses.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          hide_possible_values = true)]
    pub strict: Option<bool>,
    /// Multiply every time limit by this factor, for slow machines [default: 1].
    #[arg(long, value_name = "FACTOR")]
    pub timeout_scale: Option<f64>,
    /// Maximum number of cases running at once on the shared cluster [default: 10, and more while processors
    /// are idle; 4 on kind].
    #[arg(skip)]
    pub concurrency: Option<usize>,
}

layered!(ExecutionOptions: depth, seed, retries, fail_fast, strict, timeout_scale, concurrency);

/// How thoroughly a run judges what takes long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Depth {
    /// Short cases only, on one gang scope: a first look.
    Quick,
    /// The lifecycle on one gang scope, twelve operator crashes, no gang timeout.
    #[default]
    Default,
    /// The lifecycle on every gang scope, a crash after each write, and gang timeouts.
    Full,
}
