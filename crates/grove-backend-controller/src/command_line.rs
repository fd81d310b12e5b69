//! The reference backend controller as a program: arguments, logs, exit code. What it does is `controller`'s.

use std::ffi::OsString;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use grove_yaml as yaml;
use logging::LogFormat;

use crate::controller::install::{CRDS, InstallOptions, NAMESPACE, WebhookTarget, in_cluster, objects};
use crate::controller::{Certificates, Fault, Options, run_controller};

/// 90 days, in seconds.
const CERTIFICATE_LIFE: u64 = 90 * 24 * 3600;

/// Grove's reference backend controller: PodCliqueSets to gangs of pods.
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
    /// Print everything the controller needs in a cluster, as YAML for `kubectl apply --server-side`
    InstallManifests(InstallArguments),
    /// Print the CustomResourceDefinitions, as manifests/controller/crds.yaml has them
    PrintCrds,
}

#[derive(Args)]
struct RunArguments {
    /// Kubeconfig file; without it the pod's service account or the user's own
    #[arg(long, env = "KUBECONFIG")]
    kubeconfig: Option<PathBuf>,
    /// Configuration file (OperatorConfiguration)
    #[arg(long)]
    config: PathBuf,
    /// The controller's own namespace, for its lease and for dry runs
    #[arg(long, default_value = NAMESPACE)]
    namespace: String,
    /// Address of the webhooks
    #[arg(long, default_value = "0.0.0.0:9443")]
    webhook_bind: SocketAddr,
    /// Certificate of the webhooks, PEM
    #[arg(long, required_unless_present = "managed_certificates")]
    tls_cert: Option<PathBuf>,
    /// Key of the certificate, PEM
    #[arg(long, required_unless_present = "managed_certificates")]
    tls_key: Option<PathBuf>,
    /// Make and renew the certificate for this Service of the webhooks, in a Secret
    #[arg(long, value_name = "SERVICE", conflicts_with_all = ["tls_cert", "tls_key"])]
    managed_certificates: Option<String>,
    /// Life of a certificate; another takes its place after two thirds of it
    #[arg(long, hide = true, value_name = "SECONDS", default_value_t = CERTIFICATE_LIFE,
          value_parser = clap::value_parser!(u64).range(1..=40 * CERTIFICATE_LIFE))]
    certificate_life: u64,
    /// Address of /healthz and /readyz
    #[arg(long, default_value = "0.0.0.0:9444")]
    health_bind: SocketAddr,
    /// Address of /metrics
    #[arg(long, default_value = "0.0.0.0:9445")]
    metrics_bind: SocketAddr,
    /// Reconcile only while holding the lease
    #[arg(long)]
    leader_elect: bool,
    /// Form of the log lines on stderr; what is logged is RUST_LOG's
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
    /// Break a promise on purpose, to see whether a suite notices
    #[arg(long, hide = true, value_name = "NAME")]
    fault: Vec<Fault>,
}

#[derive(Args)]
struct InstallArguments {
    /// Image of the controller: everything of manifests/controller, for a controller in the cluster that keeps its own
    /// certificate
    #[arg(long, requires = "config", conflicts_with_all = ["webhook_url", "webhook_service", "ca_bundle"])]
    image: Option<String>,
    /// Configuration file (OperatorConfiguration) of that controller
    #[arg(long, requires = "image")]
    config: Option<PathBuf>,
    /// Break a promise on purpose, to see whether a suite notices
    #[arg(long, hide = true, value_name = "NAME", requires = "image")]
    fault: Vec<String>,
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

/// Runs the program with these arguments, the first of which is its name.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let result = match Arguments::parse_from(args).command {
        Command::Run(arguments) => run(*arguments),
        Command::InstallManifests(arguments) => install_manifests(arguments),
        Command::PrintCrds => print_crds(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The last word goes to stderr even where logs are off.
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: RunArguments) -> anyhow::Result<()> {
    arguments.log_format.init();
    let certificates = match (arguments.managed_certificates, arguments.tls_cert, arguments.tls_key) {
        (Some(service), ..) => {
            Certificates::Managed { service, life: Duration::from_secs(arguments.certificate_life) }
        }
        (None, Some(certificate), Some(key)) => Certificates::Files { certificate, key },
        _ => anyhow::bail!("--managed-certificates, or --tls-cert and --tls-key are needed"),
    };
    let options = Options {
        kubeconfig: arguments.kubeconfig,
        config: arguments.config,
        namespace: arguments.namespace,
        webhook_bind: arguments.webhook_bind,
        certificates,
        health_bind: arguments.health_bind,
        metrics_bind: arguments.metrics_bind,
        leader_elect: arguments.leader_elect,
        faults: arguments.fault.into_iter().collect(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(run_controller(options));
    runtime.shutdown_background();
    Ok(result?)
}

fn install_manifests(arguments: InstallArguments) -> anyhow::Result<()> {
    let read =
        |path: &PathBuf| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    let objects = match (&arguments.image, &arguments.config, &arguments.ca_bundle) {
        (Some(image), Some(config), _) => {
            let configuration = yaml::documents(&String::from_utf8(read(config)?)?)?;
            let [configuration] = configuration.as_slice() else {
                anyhow::bail!("{} is not one YAML document", config.display());
            };
            in_cluster(image, configuration, &arguments.fault)?
        }
        (_, _, Some(ca_bundle)) => {
            let webhooks = match (arguments.webhook_url, arguments.webhook_service) {
                (Some(url), _) => WebhookTarget::Url(url),
                (None, Some(name)) => WebhookTarget::Service { name, port: arguments.webhook_port },
                (None, None) => anyhow::bail!("one of --webhook-url and --webhook-service is needed"),
            };
            objects(&InstallOptions { webhooks, ca_bundle: read(ca_bundle)? })?
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

    #[rstest::rstest]
    #[case::neither("", false)]
    #[case::files("--tls-cert=c --tls-key=k", true)]
    #[case::no_key("--tls-cert=c", false)]
    #[case::no_certificate("--tls-key=k", false)]
    #[case::managed("--managed-certificates=svc", true)]
    #[case::managed_briefly("--managed-certificates=svc --certificate-life=60", true)]
    #[case::no_life("--managed-certificates=svc --certificate-life=0", false)]
    #[case::both("--managed-certificates=svc --tls-cert=c --tls-key=k", false)]
    fn certificates_come_from_one_place(#[case] args: &str, #[case] accepted: bool) {
        let args = ["run", "--config=f"].into_iter().chain(args.split_whitespace());
        assert_eq!(parsed(args).is_ok(), accepted);
    }

    #[test]
    fn the_deployment_gives_proper_arguments() {
        let deployment =
            yaml::documents(include_str!("../../../manifests/controller/deployment.yaml")).unwrap();
        let container = &deployment[0]["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["command"][0], "grove-backend-controller");
        let args = container["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap());
        match parsed(args) {
            Ok(Arguments { command: Command::Run(run) }) => assert!(run.leader_elect),
            Ok(_) => panic!("the deployment runs another command"),
            Err(error) => panic!("{error}"),
        }
    }
}
