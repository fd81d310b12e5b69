use std::path::PathBuf;

use clap::Args;

use super::config::ConfigArgs;
use crate::options::{OutputOptions, ProgramOptions, RunOptions, TargetOptions};

#[derive(Debug, Clone, Args)]
#[command(
    mut_arg("scope", |arg| arg.hide(true)),
    mut_arg("baseline", |arg| arg.hide(true)),
    mut_arg("backend", |arg| arg.help(
        "Ask this scheduler (default-scheduler, volcano, koord-scheduler, kai-scheduler), or all of them \
         [default: default-scheduler]"
    ))
)]
pub(crate) struct ObserveArgs {
    /// Answer only these questions: ids (bound/lost-pod-replaced) or groups (bound). docs/observe.md lists
    /// them.
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    #[command(flatten, next_help_heading = "Selection")]
    pub target: TargetOptions,
    /// Print which answers differ from those of an earlier behaviour.json.
    #[arg(long, value_name = "FILE", help_heading = "Answers")]
    pub against: Option<PathBuf>,
    /// Exit with 1 if an answer differs from that of --against. Otherwise no answer changes the exit code.
    #[arg(long, requires = "against", help_heading = "Answers")]
    pub fail_on_change: bool,
    /// Ask each question N times. An answer needs four of five rounds; otherwise the table shows how the
    /// answers vary.
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Answers",
          value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeat: u32,
    /// Also ask the questions that wait for longer than 30 s, up to ten minutes.
    #[arg(long, help_heading = "Answers")]
    pub slow: bool,
    /// Ask only the questions that measure memory and processor time. Nothing else should run on the machine.
    #[arg(long, help_heading = "Answers")]
    pub load: bool,
    #[command(flatten, next_help_heading = "Programs")]
    pub programs: ProgramOptions,
    #[command(flatten, next_help_heading = "Output")]
    pub output: OutputOptions,
    #[command(flatten)]
    pub config: ConfigArgs,
}

impl ObserveArgs {
    /// The configuration file, and the options that a run has too.
    pub(crate) fn split(self) -> (ConfigArgs, RunOptions) {
        let Self { target, programs, output, config, .. } = self;
        (config, RunOptions { target, programs, output, ..RunOptions::default() })
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct BehaviourArgs {
    /// Output folders of `observe`. Each replaces the published answers of its schedulers and versions. Without
    /// folders, only the page is written again.
    #[arg(value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Folder of the published answers: the page behaviour.md, and the folder behaviour.
    #[arg(short = 'o', long = "output", value_name = "DIR", default_value = "results")]
    pub results: PathBuf,
}
