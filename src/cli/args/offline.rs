//! The arguments of the subcommands that need no cluster.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::Shell;

#[derive(Debug, Clone, Args)]
pub(crate) struct ListArgs {
    /// A table for people, or a JSON array for programs.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "table")]
    pub format: ListFormat,
}

/// How `list` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// Columns.
    Table,
    /// An array of objects.
    Json,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ContractArgs {
    #[command(subcommand)]
    pub verb: ContractVerb,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ContractVerb {
    /// List clauses: level, feature and title.
    List {
        /// Ids of clauses, such as AON-02, or of groups, such as AON; all, if none is given.
        #[arg(value_name = "ID")]
        ids: Vec<String>,
    },
    /// Show clauses: requirement, who must satisfy them, sources, cases, and the part that is not tested.
    Show {
        /// Ids of clauses, such as AON-02, or of groups, such as AON.
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
    },
    /// List the cases that judge clauses.
    Cases {
        /// Ids of clauses, such as AON-02, or of groups, such as AON; all, if none is given.
        #[arg(value_name = "ID")]
        ids: Vec<String>,
    },
    /// Write the whole contract.
    Export {
        /// A JSON array with every field, or Markdown.
        #[arg(long, value_enum, value_name = "FORMAT", default_value = "json")]
        format: ContractFormat,
    },
}

/// How `contract export` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ContractFormat {
    /// For programs.
    Json,
    /// For people.
    Markdown,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ReplayArgs {
    /// History in JSON lines: the file of a run, or the output of
    /// `kubectl get --watch --output-watch-events -o json`.
    pub history: PathBuf,
    /// Case whose checks apply, for your own recording.
    #[arg(long, value_name = "ID", requires_all = ["manifest", "namespace"])]
    pub case: Option<String>,
    /// Manifest of the recording's PodCliqueSet.
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,
    /// Namespace of the recording.
    #[arg(long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Backend to judge.
    #[arg(long, value_name = "NAME", default_value = "default-scheduler")]
    pub backend: String,
    /// Features that the scheduler of --backend external:NAME declares.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub features: Vec<String>,
    /// Gang scope of default-scheduler: PodGroup (default), PodGang or Tree.
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<String>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to print the script for.
    pub shell: Shell,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ManArgs {
    /// Write a page for the program and for each of its commands into this folder instead.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}
