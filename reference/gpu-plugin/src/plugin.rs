//! A session is one server at one socket and one registration. It starts when the kubelet's socket exists,
//! and ends when a restarted kubelet has invalidated it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::watch;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::transport::Server;

use super::devices::Devices;
use super::faults::Faults;
use super::kubelet::{RegistrationError, register, with_sources};
use super::reasons::Reasons;
use super::resource_name::ResourceName;
use super::service::{FakeGpus, plugin_options};
use super::socket::{FileIdentity, OwnSocket};
use super::v1beta1::RegisterRequest;
use super::v1beta1::device_plugin_server::DevicePluginServer;
use crate::shutdown::stop_requested;

pub const PLUGINS_DIR: &str = "/var/lib/kubelet/device-plugins";

const KUBELET_SOCKET: &str = "kubelet.sock";
const API_VERSION: &str = "v1beta1";
/// The plugin polls the sockets with two `stat` calls. A watch would need an inotify dependency.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
const GRACE: Duration = Duration::from_millis(500);

pub(crate) struct Plugin {
    pub resource: ResourceName,
    pub plugins_dir: PathBuf,
    /// The sender must outlive the plugin: once the sender is dropped, the `ListAndWatch` stream ends.
    pub devices: watch::Receiver<Devices>,
    pub registered: watch::Sender<bool>,
    pub faults: Faults,
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("the folder {0} does not exist: the kubelet has not created it yet")]
    NoFolder(PathBuf),
    #[error("{0} does not exist: the kubelet is not running yet")]
    NoKubelet(PathBuf),
    #[error("cannot read {path}: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("cannot listen at {path}: {source}")]
    Listen { path: PathBuf, source: io::Error },
    #[error("the server at {path} stopped: {reason}")]
    Server { path: PathBuf, reason: String },
    #[error(transparent)]
    Registration(#[from] RegistrationError),
}

enum Ended {
    Stopped,
    Lost(&'static str),
}

impl Plugin {
    pub(crate) async fn run(self, stop: watch::Receiver<bool>) {
        let mut reasons = Reasons::default();
        loop {
            match self.session(stop.clone()).await {
                Ok(Ended::Stopped) => return,
                Ok(Ended::Lost(what)) => {
                    reasons.forget();
                    tracing::info!(what, "registering with the kubelet again");
                }
                Err(failure) => {
                    let reason = failure.to_string();
                    if reasons.is_new(&reason) {
                        tracing::warn!(resource = %self.resource, %reason, "not registered with the \
                                                                            kubelet; retrying");
                    }
                    tokio::select! {
                        () = tokio::time::sleep(RETRY_INTERVAL) => {}
                        () = stop_requested(stop.clone()) => return,
                    }
                }
            }
        }
    }

    async fn session(&self, stop: watch::Receiver<bool>) -> Result<Ended, Failure> {
        let kubelet = self.plugins_dir.join(KUBELET_SOCKET);
        // Identify the kubelet's socket first, so that any later restart of the kubelet is detected.
        let before = self.kubelet_socket(&kubelet)?;
        let path = self.plugins_dir.join(self.resource.socket_name());
        let bound = OwnSocket::bind(path.clone());
        let (socket, listener) = bound.map_err(|source| Failure::Listen { path: path.clone(), source })?;
        let (end, ended) = watch::channel(false);
        let service =
            DevicePluginServer::new(FakeGpus::new(self.devices.clone(), ended.clone(), self.faults));
        let server = Server::builder()
            .add_service(service)
            .serve_with_incoming_shutdown(UnixListenerStream::new(listener), stop_requested(ended));
        tokio::pin!(server);
        let mut serving = true;
        let result = tokio::select! {
            () = stop_requested(stop) => Ok(Ended::Stopped),
            result = self.registration(&kubelet, before, &socket) => result,
            result = &mut server => {
                serving = false;
                let reason = result.err().map(|error| with_sources(&error));
                let reason = reason.unwrap_or_else(|| "no reason given".to_owned());
                Err(Failure::Server { path, reason })
            }
        };
        self.registered.send_replace(false);
        drop(socket);
        end.send_replace(true);
        if serving && tokio::time::timeout(GRACE, &mut server).await.is_err() {
            tracing::debug!("closing open connections");
        }
        result
    }

    fn kubelet_socket(&self, path: &Path) -> Result<FileIdentity, Failure> {
        FileIdentity::of(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound if !self.plugins_dir.exists() => {
                Failure::NoFolder(self.plugins_dir.clone())
            }
            io::ErrorKind::NotFound => Failure::NoKubelet(path.to_owned()),
            _ => Failure::Unreadable { path: path.to_owned(), source },
        })
    }

    async fn registration(
        &self,
        kubelet: &Path,
        before: FileIdentity,
        socket: &OwnSocket,
    ) -> Result<Ended, Failure> {
        let request = RegisterRequest {
            version: API_VERSION.to_owned(),
            endpoint: self.resource.socket_name(),
            resource_name: self.resource.to_string(),
            options: Some(plugin_options()),
        };
        let lost = async {
            if self.faults.register_once {
                std::future::pending::<()>().await;
            }
            registration_lost(kubelet, before, socket).await
        };
        tokio::pin!(lost);
        tokio::select! {
            answer = register(kubelet, request) => answer?,
            what = &mut lost => return Ok(Ended::Lost(what)),
        }
        self.registered.send_replace(true);
        tracing::info!(resource = %self.resource, "registered with the kubelet");
        Ok(Ended::Lost(lost.await))
    }
}

/// A starting kubelet removes all sockets in its folder, including the plugin's, and creates its own again.
async fn registration_lost(kubelet: &Path, before: FileIdentity, socket: &OwnSocket) -> &'static str {
    loop {
        tokio::time::sleep(CHECK_INTERVAL).await;
        if !socket.exists() {
            return "the plugin's socket has been removed";
        }
        if FileIdentity::of(kubelet).ok() != Some(before) {
            return "the kubelet's socket has been replaced";
        }
    }
}

#[cfg(test)]
#[path = "plugin_tests.rs"]
mod tests;
