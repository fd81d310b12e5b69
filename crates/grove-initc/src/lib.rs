//! The init container of pods that start after others: it ends as soon as every clique that it was told of has so many Ready
//! pods, all at once.
//!
//! It watches the pods of those cliques in its namespace, by label, with the token that is mounted for it; what it finds is
//! judged by [`parents`]. A connection that is lost is made again. Anything that is wrong with its arguments ends it with an
//! error, which a kubelet shows.

mod parents;
mod watch;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use kube::{Api, Client};

use crate::parents::{Parent, Parents};

/// Waits until the pods of other PodCliques are Ready.
#[derive(Debug, Parser)]
#[command(name = "grove-initc", version)]
struct Arguments {
    /// A PodClique to wait for, and how many Ready pods of it, as in `set-0-leader:2`; once for each.
    #[arg(long = "podcliques", required = true)]
    parents: Vec<Parent>,
    /// The folder with the files `namespace` and `podgangname` about the pod.
    #[arg(long, hide = true, default_value = "/var/grove/pod-info")]
    pod_info: PathBuf,
}

/// The program with these arguments, the first of which is its name.
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
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> anyhow::Result<()> {
    // An error means that a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let file = arguments.pod_info.join("namespace");
    let namespace = tokio::fs::read_to_string(&file).await;
    let namespace = namespace.with_context(|| format!("cannot read {}", file.display()))?;
    let client = Client::try_default().await.context("cannot find the API server")?;
    let parents = Parents::new(arguments.parents);
    tracing::info!(%parents, "waiting");
    watch::until_ready(Api::namespaced(client, namespace.trim()), parents).await;
    tracing::info!("all are Ready");
    Ok(())
}
