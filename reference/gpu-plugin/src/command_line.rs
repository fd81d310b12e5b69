use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::{COUNT_LABEL, Fault, NodeOptions, Options, PLUGINS_DIR, ResourceName, run_plugin};
use clap::Parser;
use clap::builder::NonEmptyStringValueParser;
use logging::LogFormat;

/// A kubelet device plugin that advertises GPUs that do not exist.
///
/// The node annotation conformance.grove.io/unhealthy-gpus lists the unhealthy GPUs: "all", or indices such
/// as "0,3".
#[derive(Parser)]
#[command(name = "fake-gpu-plugin", version, about)]
struct Arguments {
    /// Resource to advertise
    #[arg(long, value_name = "DOMAIN/NAME", default_value = "nvidia.com/gpu")]
    resource: ResourceName,
    /// Number of GPUs of a node without the label
    #[arg(long, value_name = "N", default_value_t = 0)]
    gpus: u16,
    /// Node label that holds the number of GPUs
    #[arg(long, value_name = "KEY", default_value = COUNT_LABEL)]
    count_label: String,
    /// Name of the node
    #[arg(
        long,
        env = "NODE_NAME",
        value_name = "NAME",
        value_parser = NonEmptyStringValueParser::new(),
        required_unless_present = "no_node_watch"
    )]
    node_name: Option<String>,
    /// Kubeconfig file [default: the pod's service account, or the user's own kubeconfig]
    #[arg(long, env = "KUBECONFIG")]
    kubeconfig: Option<PathBuf>,
    /// Run without an API server: the number of GPUs is --gpus, and all are healthy
    #[arg(long)]
    no_node_watch: bool,
    /// Folder of the kubelet's socket
    #[arg(long, value_name = "DIR", default_value = PLUGINS_DIR)]
    plugins_dir: PathBuf,
    /// Address of /healthz and /readyz
    #[arg(long, default_value = "0.0.0.0:9446")]
    health_bind: SocketAddr,
    /// Format of the log lines on stderr; RUST_LOG sets the level
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
    /// Inject a fault, to test whether a suite detects it
    #[arg(long, hide = true, value_name = "NAME")]
    fault: Vec<Fault>,
}

pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    logging::exit_code(run(Arguments::parse_from(args)))
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    arguments.log_format.init();
    let node = arguments.node_name.filter(|_| !arguments.no_node_watch);
    let (count_label, kubeconfig) = (arguments.count_label, arguments.kubeconfig);
    let options = Options {
        resource: arguments.resource,
        gpus: arguments.gpus,
        plugins_dir: arguments.plugins_dir,
        health_bind: arguments.health_bind,
        node: node.map(|name| NodeOptions { name, count_label, kubeconfig }),
        faults: arguments.fault.into_iter().collect(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(run_plugin(options));
    runtime.shutdown_background();
    Ok(result?)
}
