//! A plugin that watches a node registers only after it has seen that node. Otherwise a restarted plugin
//! could briefly offer too few GPUs, which takes capacity from a node with running pods.

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
use crate::shutdown::{shutdown_signal, stop_requested};

/// How long all parts together may take to end: the process must exit within a second.
const GRACE: Duration = Duration::from_millis(800);

#[derive(Clone, Debug)]
pub struct Options {
    pub resource: ResourceName,
    pub gpus: u16,
    pub plugins_dir: PathBuf,
    pub health_bind: SocketAddr,
    pub node: Option<NodeOptions>,
    pub faults: Faults,
}

#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    #[error(transparent)]
    Health(#[from] HealthError),
    #[error("{0} ended unexpectedly")]
    Ended(&'static str),
}

pub async fn run_plugin(options: Options) -> Result<(), PluginError> {
    run_until(options, shutdown_signal()).await
}

pub async fn run_until(
    options: Options,
    shutdown_signal: impl Future<Output = ()>,
) -> Result<(), PluginError> {
    let Options { resource, gpus, plugins_dir, health_bind, node, faults } = options;
    tracing::info!(%resource, gpus, plugins_dir = %plugins_dir.display(), "starting");
    let (stop, stopped) = watch::channel(false);
    let (registered, registration) = watch::channel(false);
    // Once the sender is dropped, the `ListAndWatch` stream ends and the kubelet removes the devices.
    let (sender, devices) = watch::channel(Devices { count: gpus, unhealthy: Unhealthy::default() });
    let node_seen = Arc::new(Notify::new());
    let mut parts = JoinSet::<Result<(), PluginError>>::new();
    match node {
        None => node_seen.notify_one(),
        Some(node) => {
            let views = views(connect(&node).await?, &node.name);
            let rules =
                Rules { count_label: node.count_label, gpus, ignores_annotation: faults.ignore_unhealthy };
            let (sender, node_seen, stopped) = (sender.clone(), Arc::clone(&node_seen), stopped.clone());
            parts.spawn(async move {
                tokio::select! {
                    () = follow(views, &rules, &sender, &node_seen) => {
                        Err(PluginError::Ended("the node's watch"))
                    }
                    () = stop_requested(stopped) => Ok(()),
                }
            });
        }
    }
    let plugin = Plugin { resource, plugins_dir, devices, registered, faults };
    let plugin_stopped = stopped.clone();
    parts.spawn(async move {
        tokio::select! {
            () = node_seen.notified() => {}
            () = stop_requested(plugin_stopped.clone()) => return Ok(()),
        }
        plugin.run(plugin_stopped).await;
        Ok(())
    });
    parts.spawn(async move {
        health::serve(health_bind, registration, stopped).await.map_err(PluginError::Health)
    });
    let ended = tokio::select! {
        () = shutdown_signal => Ok(()),
        Some(result) = parts.join_next() => match result {
            Ok(Err(error)) => Err(error),
            _ => Err(PluginError::Ended("the plugin or its health server")),
        },
    };
    stop.send_replace(true);
    tracing::info!("shutting down");
    let finish = async { while parts.join_next().await.is_some() {} };
    if tokio::time::timeout(GRACE, finish).await.is_err() {
        tracing::warn!("shutdown timed out: some tasks are still running");
    }
    ended
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
