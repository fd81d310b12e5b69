use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

#[derive(Clone, Copy, ValueEnum)]
pub enum LogFormat {
    /// Lines for people, without colours.
    Text,
    /// One JSON object per line.
    Json,
}

impl LogFormat {
    /// Call it once per process.
    pub fn init(self) {
        let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
        let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
        // If a line cannot be written (a full disk), tracing reports this with `eprintln!`, which panics.
        let log = log.log_internal_errors(false);
        match self {
            Self::Text => log.with_ansi(false).init(),
            Self::Json => log.json().init(),
        }
    }
}

/// The exit code of a program. An error is written to stderr even when logging is off.
pub fn exit_code(result: Result<(), impl Display>) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    let _ = writeln!(std::io::stderr(), "error: {error:#}");
    ExitCode::FAILURE
}
