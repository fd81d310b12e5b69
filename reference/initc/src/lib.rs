//! The init container that exits once every PodClique in its arguments has enough Ready pods at one time.

mod access;
mod parents;
mod watch;

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use kube::{Api, Client};

use crate::parents::{Parent, Parents};

/// The kubelet copies the content of this file to the container's status.
const TERMINATION_MESSAGE: &str = "/dev/termination-log";

/// Waits until the pods of other PodCliques are Ready.
#[derive(Debug, Parser)]
#[command(name = "grove-initc", version)]
struct Arguments {
    /// A PodClique to wait for and its number of Ready pods, as in `set-0-leader:2`; may be repeated.
    #[arg(long = "podcliques", required = true)]
    parents: Vec<Parent>,
    /// The folder with the files `namespace` and `podgangname` of the pod.
    #[arg(long, hide = true, default_value = "/var/grove/pod-info")]
    pod_info: PathBuf,
}

pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    logging::LogFormat::Text.init();
    let arguments = Arguments::parse_from(arguments);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended =
        runtime.context("cannot start a runtime").and_then(|runtime| runtime.block_on(run(arguments)));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            record(&error, Path::new(TERMINATION_MESSAGE));
            ExitCode::FAILURE
        }
    }
}

/// Does nothing without the file, which only a kubelet creates.
fn record(error: &anyhow::Error, file: &Path) {
    if let Ok(mut file) = OpenOptions::new().write(true).open(file) {
        let _ = write!(file, "{error:#}");
    }
}

async fn run(arguments: Arguments) -> anyhow::Result<()> {
    // `install_default` fails if a provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let file = arguments.pod_info.join("namespace");
    let namespace = tokio::fs::read_to_string(&file).await;
    let namespace = namespace.with_context(|| format!("cannot read {}", file.display()))?;
    if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
        access::until_present(Path::new(access::SERVICE_ACCOUNT)).await?;
    }
    let client = Client::try_default().await.context("cannot find the API server")?;
    let parents = Parents::new(arguments.parents);
    tracing::info!(%parents, "waiting for pods of other PodCliques");
    watch::until_ready(Api::namespaced(client, namespace.trim()), parents).await;
    tracing::info!("the required pods are Ready");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_error_is_the_termination_message() {
        let file = std::env::temp_dir().join(format!("grove-initc-{}-message", std::process::id()));
        record(&anyhow::anyhow!("of a container without the file"), &file);
        assert!(!file.exists());
        std::fs::write(&file, "").unwrap();
        record(&anyhow::anyhow!("no token").context("cannot find the API server"), &file);
        let found = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(found, "cannot find the API server: no token");
    }
}
