//! The command line as clap parses it. Each file has the arguments of related subcommands. The subcommands
//! check the meaning of the values.

mod cluster;
mod headings;
mod offline;
mod other_clusters;
mod report;
mod run;
mod scheduler_names;
mod value_parsers;

use clap::{Parser, Subcommand};

pub(crate) use self::cluster::{
    ClusterArgs, EXISTING, Install, OperatorArgs, ProviderArgs, ProviderName, REFERENCE, Versions,
};
pub(crate) use self::offline::{
    CompletionsArgs, ContractArgs, ContractFormat, ContractVerb, ListArgs, ListFormat, ManArgs, ReplayArgs,
};
pub(crate) use self::other_clusters::{
    BenchArgs, BenchVerb, CleanArgs, ColdArgs, ComponentsArgs, ComponentsVerb, ImageArgs, MutantsArgs,
    NameArgs, UpArgs,
};
pub(crate) use self::report::{
    CompareArgs, EvidenceArgs, FetchArgs, HtmlArgs, MergeArgs, RecoverArgs, ReportArgs, ReportVerb, TableArgs,
};
pub(crate) use self::run::{
    ExecutionArgs, OutputArgs, ProfileName, RunArgs, ShareArgs, SoakArgs, SubjectArgs, ToolArgs, WorkloadArgs,
};

/// Conformance of Grove PodCliqueSets on real gang schedulers.
#[derive(Debug, Parser)]
#[command(
    name = "grove-conformance",
    version,
    long_about = "Runs Grove PodCliqueSets against a real API server and a real gang scheduler and reports, clause \
                  by clause, whether the backend keeps its promises.\n\nExit codes: 0 no required clause failed; 1 one failed, was \
                  flaky, or a known deviation passed; 2 usage; 3 infrastructure (nothing is known about the clauses), or \
                  the run was interrupted (its report is incomplete).",
    max_term_width = 110
)]
pub(crate) struct Cli {
    /// Log to standard error (or set RUST_LOG).
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run the conformance suite (or your own workload) and write a report.
    Run(Box<RunArgs>),
    /// Repeat a run to find flaky cases, over several starts.
    Soak(Box<SoakArgs>),
    /// List the cases and the clauses they judge.
    List(ListArgs),
    /// List, show or export the clauses of the contract.
    Contract(ContractArgs),
    /// Judge a saved history again, offline.
    Replay(ReplayArgs),
    /// Work with reports: as a page, compared, as a table, merged, recovered.
    Report(ReportArgs),
    /// Run the mutants: deliberately broken clusters on which given clauses must fail.
    Mutants(MutantsArgs),
    /// Start a cluster and leave it running.
    Up(UpArgs),
    /// Stop a cluster that `up` started.
    Down(NameArgs),
    /// List clusters.
    Status,
    /// List, build or verify the programs that make up a cluster.
    Components(ComponentsArgs),
    /// Build the suite's image, for `run --in-cluster`.
    Image(ImageArgs),
    /// Check whether this machine can run the suite.
    Doctor,
    /// Remove what killed runs left behind.
    Clean(CleanArgs),
    /// Measure cluster start, gang latency, the operator's rate and memory.
    Bench(BenchArgs),
    /// Print the completion script of a shell.
    Completions(CompletionsArgs),
    /// Print the manual page, or write one page per command.
    Man(ManArgs),
    /// Own a cluster that `up` started.
    #[command(name = "__supervise", hide = true)]
    Supervise(UpArgs),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn run_shows_every_option_under_a_heading() {
        let cli = Cli::command();
        let run = cli.find_subcommand("run").unwrap();
        for option in run.get_arguments().filter(|option| !option.is_positional()) {
            assert!(!option.is_hide_set(), "{} is hidden", option.get_id());
            assert!(option.get_help_heading().is_some(), "{} has no heading", option.get_id());
        }
    }
}
