//! The command line as clap parses it. The subcommands check the meaning of the values.

mod config;
mod mutate;
mod observe;
mod offline;
mod other_clusters;
mod report;
mod run;
mod value_parsers;

use clap::{Parser, Subcommand};

pub(crate) use self::config::ConfigArgs;
pub(crate) use self::mutate::{
    MutateArgs, MutateBaselineArgs, MutateRunArgs, MutateScoreArgs, MutateSuiteArgs, MutateVerb,
};
pub(crate) use self::observe::{BehaviourArgs, ObserveArgs};
pub(crate) use self::offline::{
    CompletionsArgs, ContractArgs, ContractFormat, ContractVerb, ListArgs, ListFormat, ManArgs, ReplayArgs,
};
pub(crate) use self::other_clusters::{
    BenchArgs, BenchVerb, CleanArgs, ClusterArgs, ClusterVerb, ColdArgs, ComponentsArgs, ComponentsVerb,
    CreateArgs, DevArgs, DevVerb, FalseFailuresArgs, ImageArgs, MutantsArgs, TestsArgs,
};
pub(crate) use self::report::{
    CheckArgs, CompactArgs, CompareArgs, EvidenceArgs, FetchArgs, HtmlArgs, MergeArgs, RecoverArgs,
    ReportArgs, ReportVerb, ResultsArgs, TableArgs,
};
pub(crate) use self::run::{
    AiConformanceArgs, FeasibilityArgs, FuzzArgs, JobArgs, LoadArgs, NodesArgs, PodVerb, RunArgs, SoakArgs,
    TrainJobsArgs, WorkloadArgs,
};

/// Conformance of Grove PodCliqueSets on real gang schedulers.
#[derive(Debug, Parser)]
#[command(
    name = "grove-conformance",
    version,
    long_about = "Runs Grove PodCliqueSets on a real API server and a real gang scheduler, and reports which \
                  clauses of Grove's contract are satisfied.\n\nExit codes: 0 no required clause failed; 1 one \
                  failed or was flaky, a known deviation passed, or a declared feature was not shown; 2 usage; 3 a \
                  clause could not be judged, or the run was interrupted (its report is incomplete).",
    max_term_width = 110
)]
pub(crate) struct Cli {
    /// Log to standard error (or set RUST_LOG).
    #[arg(short, long, global = true)]
    pub verbose: bool,
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Judge an operator and a scheduler by Grove's contract, and write a report.
    Run(Box<RunArgs>),
    /// Judge your own PodCliqueSet.
    Workload(Box<WorkloadArgs>),
    /// Judge generated PodCliqueSets, and shrink those that fail.
    Fuzz(Box<FuzzArgs>),
    /// Create many gangs on many simulated nodes, and measure how fast they are bound and deleted.
    Load(Box<LoadArgs>),
    /// Judge TrainJobs of the Kubeflow Trainer, on control planes of their own.
    #[command(name = "trainjobs")]
    TrainJobs(Box<TrainJobsArgs>),
    /// Judge gang scheduling of plain pods, for Kubernetes AI conformance.
    AiConformance(Box<AiConformanceArgs>),
    /// Show what schedulers do where the contract promises nothing.
    Observe(Box<ObserveArgs>),
    /// Run the suite inside a cluster, as pods of a Job.
    Job(Box<JobArgs>),
    /// List the cases and the clauses they judge.
    List(ListArgs),
    /// List, show or export the clauses of the contract.
    Contract(ContractArgs),
    /// Judge a saved history again, offline.
    Replay(ReplayArgs),
    /// Render, compare, tabulate, merge or recover reports.
    Report(ReportArgs),
    /// Create, delete or list clusters that stay running.
    Cluster(ClusterArgs),
    /// Check whether this machine can run the suite.
    Doctor,
    /// Remove what killed runs left behind.
    Clean(CleanArgs),
    /// Print the completion script of a shell.
    Completions(CompletionsArgs),
    /// Print the manual page, or write one page per command.
    Man(ManArgs),
    /// Tools for developers of the suite: mutants, repeated runs, measurements, programs, images. Also copies
    /// the programs for a machine without network access (`dev components fetch`).
    Dev(DevArgs),
    /// Own a cluster that `cluster create` started.
    #[command(name = "__supervise", hide = true)]
    Supervise(CreateArgs),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    /// The maximum number of options in the help of `run`, including -h and -v.
    const MOST: usize = 30;

    #[test]
    fn run_shows_few_options_and_each_under_a_heading() {
        let mut cli = Cli::command();
        cli.build();
        let run = cli.find_subcommand("run").unwrap();
        let options: Vec<_> = run.get_arguments().filter(|option| !option.is_positional()).collect();
        assert!(options.len() <= MOST, "{} options: move some to the configuration file", options.len());
        for option in options {
            assert!(!option.is_hide_set(), "{} is hidden", option.get_id());
            let is_of_every_verb = ["help", "verbose"].contains(&option.get_id().as_str());
            assert!(
                is_of_every_verb || option.get_help_heading().is_some(),
                "{} has no heading",
                option.get_id()
            );
        }
    }

    #[test]
    fn every_subcommand_is_well_formed() {
        Cli::command().debug_assert();
    }
}
