//! From the command line to a running plugin, and back down.
//!
//! Where a node is watched, the plugin waits until it has seen it once: a plugin that restarts and briefly offers
//! the wrong number of GPUs would take capacity away from a node with running pods. Whatever the kubelet does, and
//! whether it runs at all, does not end the plugin.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use super::devices::{Devices, Unhealthy};
use super::faults::Faults;
use super::health::{self, HealthError};
use super::node::{ConnectionError, NodeOptions, Rules, connect, follow, views};
use super::plugin::Plugin;
use super::resource_name::ResourceName;
use crate::shutdown::{told, told_to_end};

/// How long all parts together may take to end: the process is to be gone within a second.
const GRACE: Duration = Duration::from_millis(800);

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is advertised.
    pub resource: ResourceName,
    /// How many GPUs there are, unless the node says otherwise.
    pub gpus: u16,
    /// The folder of the kubelet's socket.
    pub plugins_dir: PathBuf,
    /// Address of `/healthz` and `/readyz`.
    pub health_bind: SocketAddr,
    /// The node to watch; without one no API server is needed.
    pub node: Option<NodeOptions>,
    /// Faults that are on.
    pub faults: Faults,
}

/// Why the plugin did not start, or did not go on.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// There is no way to the API server.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// The probes cannot be answered.
    #[error(transparent)]
    Health(#[from] HealthError),
    /// A task that should run forever has ended.
    #[error("{0} ended unexpectedly")]
    Ended(&'static str),
}

/// Runs until the process is told to shut down.
///
/// # Errors
/// The start failed, or a part of the program did.
pub async fn run_plugin(options: Options) -> Result<(), PluginError> {
    run_until(options, told_to_end()).await
}

/// Runs until `told_to_end` returns.
///
/// # Errors
/// The start failed, or a part of the program did.
pub async fn run_until(options: Options, told_to_end: impl Future<Output = ()>) -> Result<(), PluginError> {
    let Options { resource, gpus, plugins_dir, health_bind, node, faults } = options;
    tracing::info!(%resource, gpus, plugins_dir = %plugins_dir.display(), "starting");
    let (stop, stopped) = watch::channel(false);
    let (registered, registration) = watch::channel(false);
    // Kept to the end, also where no node is watched: the kubelet takes the end of the list for the end of the devices.
    let (sender, devices) = watch::channel(Devices { count: gpus, unhealthy: Unhealthy::default() });
    let known = Arc::new(Notify::new());
    let mut parts = JoinSet::<Result<(), PluginError>>::new();
    match node {
        None => known.notify_one(),
        Some(node) => {
            let views = views(connect(&node).await?, &node.name);
            let rules = Rules { count_label: node.count_label, gpus, deaf: faults.deaf };
            let (sender, known, until) = (sender.clone(), Arc::clone(&known), stopped.clone());
            parts.spawn(async move {
                tokio::select! {
                    () = follow(views, &rules, &sender, &known) => Err(PluginError::Ended("the node's watch")),
                    () = told(until) => Ok(()),
                }
            });
        }
    }
    let (plugin, until) = (Plugin { resource, plugins_dir, devices, registered, faults }, stopped.clone());
    parts.spawn(async move {
        tokio::select! {
            () = known.notified() => {}
            () = told(until.clone()) => return Ok(()),
        }
        plugin.run(until).await;
        Ok(())
    });
    parts.spawn(async move {
        health::serve(health_bind, registration, stopped).await.map_err(PluginError::Health)
    });
    let ended = tokio::select! {
        () = told_to_end => Ok(()),
        Some(result) = parts.join_next() => match result {
            Ok(Err(error)) => Err(error),
            _ => Err(PluginError::Ended("a part of the plugin")),
        },
    };
    stop.send_replace(true);
    tracing::info!("ending");
    let finish = async { while parts.join_next().await.is_some() {} };
    if tokio::time::timeout(GRACE, finish).await.is_err() {
        tracing::warn!("not everything ended in time");
    }
    ended
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
