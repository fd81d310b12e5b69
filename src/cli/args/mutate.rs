use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use conformance_report::Shard;

use crate::options::ProgramOptions;

#[derive(Debug, Clone, Args)]
pub(crate) struct MutateArgs {
    #[command(subcommand)]
    pub verb: MutateVerb,
    /// Folder of the copy, the samples and the results.
    #[arg(
        short = 'o',
        long = "output",
        value_name = "DIR",
        default_value = "conformance-report/mutate",
        global = true
    )]
    pub folder: PathBuf,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum MutateVerb {
    /// List all mutations, one JSON object per line.
    List,
    /// Rewrite and build a copy of the operator, and list the mutations that do not compile.
    Build,
    /// Record which mutations each case executes, and how long it takes without a mutation. `run` does this
    /// too.
    Baseline(Box<MutateBaselineArgs>),
    /// Draw a sample, and try its mutations.
    Run(Box<MutateRunArgs>),
    /// Print the score of all finished trials.
    Score(MutateScoreArgs),
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct MutateScoreArgs {
    /// Folders of samples, instead of all in --output.
    #[arg(value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Write a page to this file: each sample with its seed, its score and its interval, the mutations that
    /// were not killed, and the codes of the violations that killed the others.
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct MutateSuiteArgs {
    /// Use only these cases, as for `run`; all cases, if there is none. For a first try: such a score says
    /// nothing about the suite.
    #[arg(value_name = "SELECTION")]
    pub words: Vec<String>,
    /// Backend whose cases are used, as for `run --backend`, or all.
    #[arg(long, value_name = "NAME|all", default_value = "default-scheduler")]
    pub backend: String,
    /// Number of generated workloads that count as cases, for each target.
    #[arg(long, value_name = "N", default_value = "20")]
    pub workloads: u64,
    /// Number of control planes. Each has an operator of its own, and tries one mutation at a time.
    #[arg(long, value_name = "N", default_value = "3")]
    pub control_planes: NonZeroUsize,
    /// Multiply every time limit by this factor.
    #[arg(long, value_name = "FACTOR", default_value = "0.5")]
    pub timeout_scale: f64,
    #[command(flatten)]
    pub programs: ProgramOptions,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct MutateBaselineArgs {
    #[command(flatten)]
    pub suite: MutateSuiteArgs,
    /// Run only the Ith of N shares of the cases.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct MutateRunArgs {
    #[command(flatten)]
    pub suite: MutateSuiteArgs,
    /// Size of the sample. Each folder of the operator has its share.
    #[arg(long, value_name = "N", default_value = "200")]
    pub sample: usize,
    /// Seed of the sample. The same word draws the same mutations.
    #[arg(long, value_name = "WORD", default_value = "")]
    pub seed: String,
    /// Try only the Ith of N shares of the sample.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Number of cases that run at once on each control plane.
    #[arg(long, value_name = "N", default_value = "6")]
    pub side_by_side: NonZeroUsize,
    /// Try each mutation on at most this many of the cases that execute it. A later run with more cases tries
    /// the survivors again.
    #[arg(long, value_name = "N", default_value = "60")]
    pub most_cases: NonZeroUsize,
    /// Try each survivor on all cases, including those that do not execute it.
    #[arg(long, conflicts_with = "most_cases")]
    pub all_cases: bool,
}
