use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Clone, Args)]
pub(crate) struct ReportArgs {
    #[command(subcommand)]
    pub verb: ReportVerb,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ReportVerb {
    /// Merge the reports of shards, or of runs on different backends and providers, and exit with the code
    /// of the merged report.
    Merge(MergeArgs),
    /// Fetch the reports that pods of the suite have stored in a cluster, and merge them; exits with the
    /// merged report's code.
    Fetch(FetchArgs),
    /// Write report.html, the report and its histories as one page for a browser.
    Html(HtmlArgs),
    /// Compare two reports, and exit with 1 on a regression.
    Compare(CompareArgs),
    /// Write a table of many reports: features by backend and version.
    Table(TableArgs),
    /// Write an incomplete report from the results that a killed run left in its folder.
    Recover(RecoverArgs),
    /// Write the evidence file of a report, or check an evidence file against its report. Exits with the code
    /// of the report.
    Evidence(EvidenceArgs),
    /// Write the verdicts of one or more runs as a compact report for results/.
    Compact(CompactArgs),
    /// Check a compact report: its digest and counts, and whether it follows from full reports.
    Check(CheckArgs),
    /// Write the tables of results/README.md and README.md from the compact reports in results/.
    Results(ResultsArgs),
}

#[derive(Debug, Clone, Args)]
pub(crate) struct FetchArgs {
    /// Kubeconfig of the cluster, instead of $KUBECONFIG or ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig, instead of the current one.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Namespace of the pods.
    #[arg(long, value_name = "NAME", default_value = "grove-conformance")]
    pub namespace: String,
    /// Folder for the merged report; those of the pods are below it, in shards.
    #[arg(short = 'o', long = "output", value_name = "DIR", default_value = "conformance-report")]
    pub report_dir: PathBuf,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct HtmlArgs {
    /// The report's folder, or its report.yaml or report.json. Histories are read from the artifacts next to
    /// it.
    #[arg(value_name = "REPORT")]
    pub report: PathBuf,
    /// File to write, instead of report.html next to the report. Links to artifacts are relative to the
    /// folder of the report.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct CompareArgs {
    /// The older report: its folder, or its report.yaml or report.json.
    #[arg(value_name = "OLD")]
    pub old: PathBuf,
    /// The newer report, in one of the same forms.
    #[arg(value_name = "NEW")]
    pub new: PathBuf,
    /// Exit with 1 if any verdict changed. A known deviation that starts or ends does not count, because some
    /// are intermittent.
    #[arg(long)]
    pub same: bool,
    /// Exit with 1 if a figure of `load` got worse by more than this percentage, and list changes beyond it.
    /// By default, changes beyond 20 are listed.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub figures: Option<u32>,
    /// File to write, instead of Markdown to standard output: a page if its name ends in .html, else
    /// Markdown. May be repeated.
    #[arg(long, value_name = "FILE")]
    pub out: Vec<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct TableArgs {
    /// The reports: their folders, or their report.yaml or report.json.
    #[arg(value_name = "REPORT", required = true)]
    pub reports: Vec<PathBuf>,
    /// File to write, instead of Markdown to standard output: a page if its name ends in .html, else
    /// Markdown. May be repeated.
    #[arg(long, value_name = "FILE")]
    pub out: Vec<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct EvidenceArgs {
    /// The report.yaml or report.json.
    #[arg(value_name = "REPORT")]
    pub report: PathBuf,
    /// File for the evidence, instead of standard output: JSON if its name ends in .json, else YAML.
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    pub out: Option<PathBuf>,
    /// Evidence file to check.
    #[arg(long, value_name = "FILE")]
    pub check: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct RecoverArgs {
    /// The folder of the run's report, with its results.jsonl.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct MergeArgs {
    /// The report.yaml or report.json of each run.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Folder for the merged report.
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub report_dir: PathBuf,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct CompactArgs {
    /// The reports of the runs: their folders, or their report.yaml or report.json.
    #[arg(value_name = "REPORT", required = true)]
    pub reports: Vec<PathBuf>,
    /// The machine of the runs, such as "2 vCPU, 8 GB, Linux 6.12". The reports do not contain it.
    #[arg(long, value_name = "TEXT")]
    pub machine: String,
    /// Git commit of the suite that ran, with 40 digits. The reports do not contain it.
    #[arg(long, value_name = "SHA")]
    pub commit: String,
    /// Backend to include, such as volcano, instead of all. May be repeated.
    #[arg(long = "backend", value_name = "NAME")]
    pub backends: Vec<String>,
    /// File to write, such as results/volcano-1.15.json.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct CheckArgs {
    /// The compact report.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The full reports of its runs, in any order: their folders, or their report.yaml or report.json. Without
    /// them, an edit that also changed the digest stays unnoticed.
    #[arg(value_name = "REPORT")]
    pub reports: Vec<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ResultsArgs {
    /// Folder of the compact reports.
    #[arg(value_name = "DIR", default_value = "results")]
    pub folder: PathBuf,
    /// File with the lines `begin results` and `end results`.
    #[arg(long, value_name = "FILE", default_value = "README.md")]
    pub readme: PathBuf,
    /// Write nothing, and fail if a file is out of date.
    #[arg(long)]
    pub check: bool,
}
