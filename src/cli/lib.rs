//! The command line: one file per verb, arguments in [`args`], everything that is printed in [`output`].
//!
//! Verbs turn words into plans, hand them to `cluster` and `suite`, and turn what comes back into text and an exit
//! code: 0 and 1 follow from the report, 2 is [`Failure::Usage`], 3 is [`Failure::Infrastructure`].

mod args;
mod bench;
mod clean;
mod clusters;
mod components;
mod controls;
mod doctor;
mod list;
mod operator;
mod output;
mod provider;
mod replay;
mod report;
mod run;
mod select;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use conformance_cluster::ClusterError;
use conformance_cluster::components::{Overrides, Toolbox, components_for, must_be_of};
use conformance_cluster::local::{ClusterSpec, Programs};
use conformance_cluster::operator::OperatorError;
use conformance_cluster::own_program::ControllerProgram;
use conformance_cluster::process::Launcher;
use conformance_cluster::schedulers::KaiDir;
use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::scheduler::Scheduler;
use conformance_report::Exit;

use self::args::{Cli, ClusterArgs, Verb};

/// The client reports every refused connection as an error; while a control plane starts they are no news.
const QUIET: &str = "warn,kube_client=off";

/// Why a verb ended without a result.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command line, or a file that it names, is wrong.
    #[error("{0}")]
    Usage(String),
    /// The machine or a cluster failed.
    #[error("{0}")]
    Infrastructure(String),
}

impl From<ClusterError> for Failure {
    fn from(error: ClusterError) -> Self {
        match error {
            ClusterError::Override { .. } => Self::Usage(error.to_string()),
            ClusterError::Operator(error) => error.into(),
            error => Self::Infrastructure(error.to_string()),
        }
    }
}

impl From<OperatorError> for Failure {
    fn from(error: OperatorError) -> Self {
        if error.is_usage() {
            Self::Usage(error.to_string())
        } else {
            Self::Infrastructure(error.to_string())
        }
    }
}

impl Failure {
    fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::Infrastructure(_) => Exit::Inconclusive,
        }
    }
}

/// Reads the command line, does what it says, returns the process's exit.
pub fn main() -> Exit {
    let cli = Cli::parse();
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| if cli.verbose { "grove_conformance=debug".into() } else { QUIET.into() });
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours).with_writer(std::io::stderr).init();
    let ended = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::Infrastructure(format!("cannot start: {e}")))
        .and_then(|runtime| runtime.block_on(interruptible(cli.verb)));
    ended.unwrap_or_else(|failure| {
        output::say(&format!("error: {failure}"));
        failure.exit()
    })
}

async fn dispatch(verb: Verb) -> Result<Exit, Failure> {
    match verb {
        Verb::Run(args) => run::run(&args).await,
        Verb::List(args) => Ok(list::list(&args)),
        Verb::Replay(args) => replay::replay(&args),
        Verb::Report(args) => report::report(&args),
        Verb::Controls(args) => controls::controls(&args).await,
        Verb::Up(args) => clusters::up(&args).await,
        Verb::Down(args) => clusters::down(&args.name).await,
        Verb::Status => clusters::status(),
        Verb::Components(args) => components::components(&args).await,
        Verb::Doctor => doctor::doctor().await,
        Verb::Clean(args) => clean::clean(&args).await,
        Verb::Bench(args) => bench::bench(&args).await,
        Verb::Supervise(args) => clusters::supervise(&args).await,
    }
}

/// Ctrl-C and SIGTERM drop the verb: every cluster that it owns is killed by being dropped.
async fn interruptible(verb: Verb) -> Result<Exit, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let listen =
        |kind| signal(kind).map_err(|e| Failure::Infrastructure(format!("cannot listen to signals: {e}")));
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    let ended = tokio::select! {
        ended = dispatch(verb) => return ended,
        _ = interrupt.recv() => "interrupted",
        _ = terminate.recv() => "terminated",
    };
    let gone = conformance_cluster::process::all_ended(Duration::from_secs(10)).await;
    // The folders of the clusters that were dropped are nobody's now.
    let _ = conformance_cluster::home::remove_abandoned();
    let left = if gone { "nothing is left running" } else { "its processes end with this one" };
    Err(Failure::Infrastructure(format!("{ended}; {left}")))
}

/// A cluster of that version with these schedulers, as the command line wants it.
///
/// # Errors
/// [`Failure::Usage`] for a `--kai-dir` that lacks something.
fn cluster_spec(
    kubernetes: Kubernetes,
    args: &ClusterArgs,
    schedulers: &BTreeSet<Scheduler>,
) -> Result<ClusterSpec, Failure> {
    let kai = match &args.kai_dir {
        Some(path) if schedulers.contains(&Scheduler::Kai) => {
            Some(KaiDir::open(path).map_err(|error| Failure::Usage(error.to_string()))?)
        }
        _ => None,
    };
    Ok(ClusterSpec { kai, ..ClusterSpec::of(kubernetes).beside(schedulers.iter().copied()) })
}

/// Prepares the programs of such a cluster, building what is missing. One that was given and that no cluster of local
/// processes has is refused; one that only this cluster does not have is not.
async fn programs(args: &ClusterArgs, spec: &ClusterSpec, talk: &output::Talk) -> Result<Programs, Failure> {
    let (overrides, controller) = overrides(args)?;
    must_be_of(&overrides, components_for(spec.kubernetes, &Scheduler::ALL.into()))?;
    let components = components_for(spec.kubernetes, &spec.schedulers);
    let toolbox = Toolbox::prepare_only(components, &overrides, talk).await?;
    Ok(Programs { toolbox, launcher: Launcher::new(own()?), controller: controller_program(controller)? })
}

/// The programs given with `--bin`: components, and the controller.
fn overrides(args: &ClusterArgs) -> Result<(Overrides, Option<PathBuf>), Failure> {
    let mut overrides: Overrides = args.bins.iter().cloned().collect();
    let controller = overrides.remove("grove-backend-controller");
    if let Some(path) = controller.as_ref().filter(|path| !path.is_file()) {
        return Err(Failure::Usage(format!(
            "--bin grove-backend-controller={}: no such file",
            path.display()
        )));
    }
    Ok((overrides, controller))
}

/// This program.
fn own() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|e| Failure::Infrastructure(format!("cannot find this program: {e}")))
}

/// The controller that was given, else the one that is a part of this program.
fn controller_program(given: Option<PathBuf>) -> Result<ControllerProgram, Failure> {
    match given {
        Some(path) => Ok(ControllerProgram::alone(path)),
        None => own().map(ControllerProgram::within),
    }
}

/// A short id for a run: time of day and process, so that two runs side by side differ.
fn run_id() -> String {
    format!(
        "{:x}",
        (u64::from(std::process::id()) << 20 | jiff::Timestamp::now().as_second() as u64 & 0xf_ffff)
            & 0xfff_ffff
    )
}

/// Says why the launcher could not become the program it was asked for (the words go to that program's log).
pub fn launcher_failed(reason: &str) -> std::process::ExitCode {
    output::say(reason);
    Exit::Inconclusive.into()
}
