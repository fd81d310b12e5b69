use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use logging::LogFormat;

use crate::crd;
use crate::install::objects;
use crate::program::{self, Options};

/// Puts Kubeflow TrainJobs into a KAI queue, alongside an unmodified trainer.
#[derive(Parser)]
#[command(name = "trainer-kai-plugin", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the webhooks
    Run(RunArguments),
    /// Print the patch that adds the field to the trainer's two runtime CRDs, for `kubectl patch crd NAME
    /// --type=json`
    CrdPatch,
    /// Print all other manifests that the plugin needs in a cluster, as YAML for `kubectl apply`
    InstallManifests {
        /// Image of the plugin [default: the one in the manifests]
        #[arg(long)]
        image: Option<String>,
    },
}

#[derive(Args)]
struct RunArguments {
    #[command(flatten)]
    options: Options,
    /// Format of the log lines on stderr; RUST_LOG sets the level
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
}

pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    logging::exit_code(match Arguments::parse_from(args).command {
        Command::Run(arguments) => run(arguments),
        Command::CrdPatch => write(crd::PATCH),
        Command::InstallManifests { image } => install_manifests(image.as_deref()),
    })
}

fn run(arguments: RunArguments) -> anyhow::Result<()> {
    arguments.log_format.init();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(program::run(arguments.options));
    runtime.shutdown_background();
    result
}

fn install_manifests(image: Option<&str>) -> anyhow::Result<()> {
    let texts: Result<Vec<_>, _> = objects(image)?.iter().map(grove_yaml::write).collect();
    write(&texts?.iter().map(|text| format!("---\n{}\n", text.trim_end())).collect::<String>())
}

fn write(text: &str) -> anyhow::Result<()> {
    Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::NAMESPACE;

    fn parsed<'a>(args: impl IntoIterator<Item = &'a str>) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from(std::iter::once("trainer-kai-plugin").chain(args))
    }

    #[test]
    fn the_arguments_of_the_deployment_are_valid() {
        let objects = objects(None).unwrap();
        let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["command"][0], "trainer-kai-plugin");
        let args = container["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap());
        match parsed(args) {
            Ok(Arguments { command: Command::Run(run) }) => assert_eq!(run.options.namespace, NAMESPACE),
            Ok(_) => panic!("the deployment runs another command"),
            Err(error) => panic!("{error}"),
        }
    }
}
