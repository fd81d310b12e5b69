//! How the cases are executed.

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Deserialize;

use super::layer::layered;

#[derive(Debug, Clone, Default, PartialEq, Args, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ExecutionOptions {
    /// How much is judged: a few short cases (quick), or all. And how much of what takes long: on which gang scopes of kube-scheduler the lifecycle after
    /// creation is judged, after which of its writes the operator is killed (AON-13, UPD-17), and whether a
    /// gang that is one pod short waits for longer than the scheduler's own gang timeout (AON-02): 5 minutes
    /// for kube-scheduler, 30 seconds for Koordinator. A selection, --scope, --class and --shard imply every
    /// scope [default: default].
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
    /// Exit with 1 also if a recommendation is violated, as for a requirement. Only this suite makes
    /// recommendations.
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

/// How much a run judges of what takes long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Depth {
    /// About thirty short cases, on one scope of kube-scheduler, for a first look within half a minute.
    Quick,
    /// One scope and twelve writes, which the seed chooses, and no gang timeout.
    #[default]
    Default,
    /// Every scope, every write, and the gang timeouts.
    Full,
}
