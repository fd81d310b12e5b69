use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use grove_yaml as yaml;
use logging::LogFormat;

use crate::faults::fault;
use crate::runtime::install::{CRDS, InstallOptions, WebhookTarget, in_cluster, objects};
use crate::runtime::{Options, PodGangNames, run_controller};

/// Grove's reference backend controller: creates gangs of pods from PodCliqueSets.
#[derive(Parser)]
#[command(name = "grove-backend-controller", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the controller and its webhooks
    Run(Box<RunArguments>),
    /// Print all manifests that the controller needs in a cluster, as YAML for `kubectl apply --server-side`
    InstallManifests(InstallArguments),
    /// Print the CustomResourceDefinitions, as in manifests/controller/crds.yaml
    PrintCrds,
}

#[derive(Args)]
struct RunArguments {
    #[command(flatten)]
    options: Options,
    /// Format of the log lines on stderr; RUST_LOG sets the level
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
    /// Inject a fault, to test whether a suite detects it
    #[cfg(mutants)]
    #[arg(long, hide = true, value_name = "NAME", value_parser = crate::faults::parse)]
    fault: Vec<String>,
}

#[derive(Args)]
struct InstallArguments {
    /// Image of the controller: print all of manifests/controller, for a controller in the cluster that
    /// manages its own certificate
    #[arg(long, requires = "config", conflicts_with_all = ["webhook_url", "webhook_service", "ca_bundle"])]
    image: Option<String>,
    /// Configuration file (OperatorConfiguration) of that controller
    #[arg(long, requires = "image")]
    config: Option<PathBuf>,
    /// Base URL of the webhooks, for a controller outside the cluster
    #[arg(long, required_unless_present_any = ["webhook_service", "image"], conflicts_with = "webhook_service")]
    webhook_url: Option<String>,
    /// Service of the webhooks, for a controller in the cluster
    #[arg(long)]
    webhook_service: Option<String>,
    /// Port of the Service
    #[arg(long, default_value_t = 443, requires = "webhook_service")]
    webhook_port: i32,
    /// Certificate authority of the webhooks' certificate, PEM
    #[arg(long, required_unless_present = "image")]
    ca_bundle: Option<PathBuf>,
}

pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    logging::exit_code(match Arguments::parse_from(args).command {
        Command::Run(arguments) => run(*arguments),
        Command::InstallManifests(arguments) => install_manifests(arguments),
        Command::PrintCrds => print_crds(),
    })
}

fn run(arguments: RunArguments) -> anyhow::Result<()> {
    arguments.log_format.init();
    #[cfg(mutants)]
    crate::faults::activate(arguments.fault);
    let mut options = arguments.options;
    if fault!("epoch-names") {
        options.pod_gang_names = PodGangNames::ByEpoch;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(run_controller(options));
    runtime.shutdown_background();
    Ok(result?)
}

fn install_manifests(arguments: InstallArguments) -> anyhow::Result<()> {
    let read_file =
        |path: &PathBuf| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    let objects = match (&arguments.image, &arguments.config, &arguments.ca_bundle) {
        (Some(image), Some(config), _) => {
            let configuration = yaml::documents(&String::from_utf8(read_file(config)?)?)?;
            let [configuration] = configuration.as_slice() else {
                anyhow::bail!("{} is not one YAML document", config.display());
            };
            in_cluster(image, configuration)?
        }
        (_, _, Some(ca_bundle)) => {
            let webhooks = match (arguments.webhook_url, arguments.webhook_service) {
                (Some(url), _) => WebhookTarget::Url(url),
                (None, Some(name)) => WebhookTarget::Service { name, port: arguments.webhook_port },
                (None, None) => anyhow::bail!("one of --webhook-url and --webhook-service is needed"),
            };
            objects(&InstallOptions { webhooks, ca_bundle: read_file(ca_bundle)? })?
        }
        _ => anyhow::bail!("--image and --config, or --ca-bundle are needed"),
    };
    let mut out = std::io::stdout().lock();
    for object in objects {
        writeln!(out, "---\n{}", yaml::write(&object)?.trim_end())?;
    }
    Ok(())
}

fn print_crds() -> anyhow::Result<()> {
    std::io::stdout().lock().write_all(CRDS.as_bytes())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed<'a>(args: impl IntoIterator<Item = &'a str>) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from(std::iter::once("grove-backend-controller").chain(args))
    }

    #[test]
    fn the_deployment_has_valid_arguments() {
        let deployment =
            yaml::documents(include_str!("../../../manifests/controller/deployment.yaml")).unwrap();
        let container = &deployment[0]["spec"]["template"]["spec"]["containers"][0];
        assert!(container["command"].is_null(), "the image has the program as its entrypoint");
        let args = container["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap());
        match parsed(args) {
            Ok(Arguments { command: Command::Run(run) }) => assert!(run.options.leader_elect),
            Ok(_) => panic!("the deployment runs another command"),
            Err(error) => panic!("{error}"),
        }
    }
}
