//! Log lines of the programs that run in a cluster, the controller and the GPU plugin: on stderr, filtered by `RUST_LOG`, which
//! defaults to `info`.

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

/// Value of `--log-format`.
#[derive(Clone, Copy, ValueEnum)]
pub enum LogFormat {
    /// Lines for people, without colours.
    Text,
    /// One JSON object per line.
    Json,
}

impl LogFormat {
    /// Writes everything that this process logs from now on in this format. Once per process.
    pub fn init(self) {
        let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
        let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
        // It would panic where a line cannot be written (a full disk).
        let log = log.log_internal_errors(false);
        match self {
            Self::Text => log.with_ansi(false).init(),
            Self::Json => log.json().init(),
        }
    }
}
