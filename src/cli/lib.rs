//! The command line: one file or folder per subcommand. `args` parses the arguments, and `output` does all
//! printing.
//!
//! A subcommand turns arguments into a plan, has other crates execute it, and turns the results into text and
//! an exit code. Exit codes 0 and 1 follow from the report, 2 is [`Failure::Usage`], and 3 is
//! [`Failure::Infrastructure`].

mod accept;
mod args;
mod baseline;
mod behaviour;
mod bench;
mod built_programs;
mod case_filter;
mod clean;
mod clusters;
mod components;
mod config;
mod contract;
mod doctor;
mod false_failures;
mod feasibility;
mod folder;
mod former_spellings;
mod generated;
mod given;
mod image;
mod job;
mod list;
mod load;
mod manifest_file;
mod measured;
mod mutants;
mod mutate;
mod node_shapes;
mod observe;
mod offline;
mod operator;
mod options;
mod other_versions;
mod output;
mod provider;
mod publish;
mod remaining;
mod replay;
mod report;
mod report_files;
mod request;
mod results;
mod run;
mod select;
mod shell;
mod soak;
mod target_selection;
mod test_table;
#[cfg(test)]
mod testing;
mod trainer;
mod unknown;
mod versions;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clap::Parser;
use clap::error::ErrorKind;
use conformance_cluster::ClusterError;
use conformance_install::InstallError;
use conformance_install::operator::OperatorError;
use conformance_programs::ProgramError;
use conformance_programs::blocking::in_place;
use conformance_programs::open_files;
use conformance_programs::source::SourceError;
use conformance_report::Exit;
use conformance_run::interruption::Interruption;
use conformance_run::workload::WorkloadError;

use self::args::{Cli, DevArgs, DevVerb, Verb};
use self::request::{Request, WorkloadNodes};

/// kube_client logs refused connections as errors. They are normal while a control plane starts.
const QUIET: &str = "warn,kube_client=off";
const VERBOSE: &str = "warn,kube_client=off,conformance=debug";

/// How long to wait for work that cannot be cancelled.
const SHUTDOWN: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("{0}")]
    Usage(String),
    #[error("workload {}: {reason}", .file.display())]
    Workload { file: PathBuf, reason: Box<WorkloadError> },
    #[error("{0}")]
    Infrastructure(String),
}

/// The only place that maps errors to exit codes.
macro_rules! failures_from {
    ($($error:ty),+) => {$(
        impl From<&$error> for Failure {
            fn from(error: &$error) -> Self {
                if error.is_usage() {
                    Self::Usage(error.to_string())
                } else {
                    Self::Infrastructure(error.to_string())
                }
            }
        }

        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::from(&error)
            }
        }
    )+};
}

failures_from!(ClusterError, InstallError, OperatorError, ProgramError, SourceError);

impl Failure {
    fn of_workload(file: &Path, reason: WorkloadError) -> Self {
        Self::Workload { file: file.to_owned(), reason: Box::new(reason) }
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::Workload { reason, .. } => match **reason {
                WorkloadError::NoAnswer(_) => Exit::Inconclusive,
                _ => Exit::Usage,
            },
            Self::Infrastructure(_) => Exit::Inconclusive,
        }
    }
}

pub fn main() -> Exit {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return not_parsed(&error),
    };
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| if cli.verbose { VERBOSE.into() } else { QUIET.into() });
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours);
    // `false`, because with `true` a failed write to standard error, for example on a full disk, would panic.
    log.log_internal_errors(false).with_writer(std::io::stderr).init();
    open_files::raise_limit();
    let exit =
        config::check_variables(std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()))
            .and_then(|()| {
                let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
                runtime.map_err(|e| {
                    Failure::Infrastructure(format!("cannot start the asynchronous runtime: {e}"))
                })
            })
            .and_then(|runtime| {
                let exit = runtime.block_on(interruptible(cli.verb));
                // An abandoned case may block its thread. Dropping the runtime would wait for it.
                runtime.shutdown_timeout(SHUTDOWN);
                exit
            });
    exit.unwrap_or_else(|failure| {
        output::say(&format!("error: {failure}"));
        failure.exit()
    })
}

/// Prints the current spelling if the command line has a former one. Otherwise prints clap's error.
fn not_parsed(error: &clap::Error) -> Exit {
    let renamed = match error.kind() {
        ErrorKind::UnknownArgument
        | ErrorKind::InvalidSubcommand
        | ErrorKind::MissingSubcommand
        | ErrorKind::MissingRequiredArgument => {
            let args = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
            former_spellings::messages(&args.collect::<Vec<_>>())
        }
        _ => Vec::new(),
    };
    if renamed.is_empty() {
        error.exit();
    }
    for message in renamed {
        output::say(&format!("error: {message}"));
    }
    Exit::Usage
}

async fn dispatch(verb: Verb, interruption: Arc<Interruption>) -> Result<Exit, Failure> {
    match verb {
        Verb::Run(args) if args.plan => run::preview(&Request::of_run(*args)?, &interruption).await,
        Verb::Run(args) => run::run(&Request::of_run(*args)?, &interruption).await,
        Verb::Workload(args) if args.path.is_dir() => folder::judge(&args, &interruption).await,
        Verb::Workload(args) => {
            let nodes = WorkloadNodes::of(&args.nodes).await?;
            run::run(&Request::of_workload(*args, nodes)?, &interruption).await
        }
        Verb::Fuzz(args) => run::run(&Request::of_fuzz(*args)?, &interruption).await,
        Verb::Load(args) => run::run(&Request::of_load(*args)?, &interruption).await,
        Verb::TrainJobs(args) => run::run(&Request::of_train_jobs(*args)?, &interruption).await,
        Verb::AiConformance(args) => run::run(&Request::of_ai_conformance(*args)?, &interruption).await,
        Verb::Observe(args) => observe::observe(*args, &interruption).await,
        Verb::Job(args) => {
            let (request, job) = Request::of_job(*args)?;
            job::job(&request, &job, &interruption).await
        }
        Verb::List(args) => list::list(&args),
        Verb::Contract(args) => contract::contract(&args),
        Verb::Replay(args) => in_place(|| replay::replay(&args)),
        Verb::Report(args) => report::report(&args).await,
        Verb::Cluster(args) => clusters::cluster(&args.verb).await,
        Verb::Doctor => doctor::doctor().await,
        Verb::Clean(args) => clean::clean(&args).await,
        Verb::Completions(args) => Ok(shell::completions(args.shell)),
        Verb::Man(args) => shell::man(args.dir.as_deref()),
        Verb::Dev(args) => dev(args, &interruption).await,
        Verb::Supervise(args) => clusters::supervise(&args).await,
    }
}

async fn dev(args: DevArgs, interruption: &Arc<Interruption>) -> Result<Exit, Failure> {
    match args.verb {
        DevVerb::Mutants(args) => mutants::mutants(&args).await,
        DevVerb::Mutate(args) => mutate::mutate(&args).await,
        DevVerb::Tests(args) => in_place(|| test_table::tests(&args)),
        DevVerb::Feasibility(args) => feasibility::feasibility(*args, interruption).await,
        DevVerb::Soak(args) => soak::soak(*args, interruption).await,
        DevVerb::FalseFailures(args) => in_place(|| false_failures::count(&args)),
        DevVerb::Bench(args) => bench::bench(&args).await,
        DevVerb::Components(args) => components::components(&args).await,
        DevVerb::Versions => versions::versions().await,
        DevVerb::Image(args) => image::image(&args).await,
        DevVerb::Behaviour(args) => in_place(|| behaviour::publish(&args)),
        DevVerb::ContractSources(args) => contract::cited_lines::check(&args.clones),
    }
}

/// Executes a subcommand and reacts to signals. After the first Ctrl-C or SIGTERM, a run with clusters
/// cancels its running cases and cleans up. A second signal drops the subcommand, and dropping a cluster
/// kills it. Every other subcommand is dropped at the first signal.
async fn interruptible(verb: Verb) -> Result<Exit, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let listen =
        |kind| signal(kind).map_err(|e| Failure::Infrastructure(format!("cannot listen to signals: {e}")));
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    let interruption = Arc::new(Interruption::default());
    let mut verb = Box::pin(dispatch(verb, interruption.clone()));
    let reason = loop {
        let (signal, reason) = tokio::select! {
            result = &mut verb => return result,
            _ = interrupt.recv() => ("SIGINT", "interrupted"),
            _ = terminate.recv() => ("SIGTERM", "terminated"),
        };
        match interruption.request(signal) {
            Some(running) => output::say(&interruption_message(reason, running)),
            None => break reason,
        }
    };
    drop(verb);
    let have_ended = conformance_programs::process::all_ended(Duration::from_secs(10)).await;
    // No process owns the folders of the dropped clusters any more, so they are removed.
    let _ = conformance_programs::home::remove_abandoned();
    let processes =
        if have_ended { "all processes have ended" } else { "its processes end with this program" };
    Err(Failure::Infrastructure(match interruption.is_requested() {
        false => format!("{reason}; {processes}"),
        true => format!(
            "{reason} again, killed; {processes}\nfinished cases are in results.jsonl: `grove-conformance report recover DIR`; \
             objects in your own cluster remain: `grove-conformance clean --kubeconfig FILE`"
        ),
    }))
}

fn interruption_message(reason: &str, running: usize) -> String {
    let consequence = match running {
        0 => "cleaning up".to_owned(),
        1 => "cancelling 1 running case".to_owned(),
        running => format!("cancelling {running} running cases"),
    };
    format!("{reason}: {consequence}; press Ctrl-C again to kill")
}

fn run_id() -> String {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    // One process may start several runs within a second.
    let moment = jiff::Timestamp::now().as_second() as u64 + RUNS.fetch_add(1, Ordering::Relaxed);
    format!("{:x}", (u64::from(std::process::id()) << 20 | moment & 0xf_ffff) & 0xfff_ffff)
}

/// Reports that a program could not be started. Standard error is the log of that program.
pub fn launcher_failed(reason: &str) -> std::process::ExitCode {
    output::say(reason);
    Exit::Inconclusive.into()
}

#[cfg(test)]
mod tests {
    use super::interruption_message;

    #[rstest::rstest]
    #[case(0, "interrupted: cleaning up; press Ctrl-C again to kill")]
    #[case(1, "interrupted: cancelling 1 running case; press Ctrl-C again to kill")]
    #[case(10, "interrupted: cancelling 10 running cases; press Ctrl-C again to kill")]
    fn the_message_counts_the_running_cases(#[case] running: usize, #[case] message: &str) {
        assert_eq!(interruption_message("interrupted", running), message);
    }
}
