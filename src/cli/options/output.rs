use std::path::PathBuf;

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;

use super::layer::layered;

#[derive(Debug, Clone, Default, PartialEq, Args, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct OutputOptions {
    /// Folder for the report, histories and artifacts [default: conformance-report].
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Print only failures, errors and the last lines: the result of each target, the exit code, and the
    /// files.
    #[arg(short, long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_missing_value = "true", hide_possible_values = true)]
    pub quiet: Option<bool>,
    /// Compare with an earlier report of the same contract version, seed, provider and declaration. The
    /// exit code is 0 if no clause got worse. A clause that only the earlier run decided counts as worse.
    #[arg(long, value_name = "REPORT")]
    pub baseline: Option<PathBuf>,
    /// Report the deviations in this file as known. The file has a list `deviations`. Each entry has clause,
    /// case, code, reason, issue, and until: the operator version from which the failure is no longer
    /// accepted.
    #[arg(skip)]
    pub accept: Option<PathBuf>,
    /// Write an evidence file, which lists the features that were declared and shown: JSON if its name ends
    /// in .json, else YAML.
    #[arg(skip)]
    pub evidence: Option<PathBuf>,
}

layered!(OutputOptions: folder, quiet, baseline, accept, evidence);
