use std::path::PathBuf;

use clap::Args;

/// The options that the command line does not give.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Configuration")]
pub(crate) struct ConfigArgs {
    /// Read options from a file of kind ConformanceConfig (docs/configuration.md). Options of the command
    /// line override it.
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    pub config_file: Option<PathBuf>,
    /// Set a field of that file, e.g. cluster.oneEtcd=true. It overrides the file. May be repeated.
    #[arg(long = "set", value_name = "FIELD=VALUE")]
    pub set: Vec<String>,
}
