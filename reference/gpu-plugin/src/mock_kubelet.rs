//! A fake kubelet. Like a real one, it requests the plugin's options before it answers a registration, and
//! removes all sockets when it starts. It allocates no devices: a test calls the registered plugin.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::transport::{Channel, Server};
use tonic::{Request, Response, Status};

use super::kubelet::dial;
use super::v1beta1::device_plugin_client::DevicePluginClient;
use super::v1beta1::registration_server::{Registration, RegistrationServer};
use super::v1beta1::{DevicePluginOptions, Empty, RegisterRequest};

pub(crate) struct Registered {
    pub request: RegisterRequest,
    pub options: DevicePluginOptions,
    pub plugin: DevicePluginClient<Channel>,
}

pub(crate) struct MockKubelet {
    plugins_dir: PathBuf,
    registrar: Registrar,
    server: JoinHandle<()>,
}

#[derive(Clone)]
struct Registrar {
    plugins_dir: PathBuf,
    refusal: Option<&'static str>,
    registered: mpsc::UnboundedSender<Registered>,
}

impl MockKubelet {
    pub(crate) fn start(plugins_dir: &Path) -> (Self, mpsc::UnboundedReceiver<Registered>) {
        Self::start_with(plugins_dir, None)
    }

    pub(crate) fn refusing(plugins_dir: &Path, message: &'static str) -> Self {
        Self::start_with(plugins_dir, Some(message)).0
    }

    fn start_with(
        plugins_dir: &Path,
        refusal: Option<&'static str>,
    ) -> (Self, mpsc::UnboundedReceiver<Registered>) {
        let (registered, registrations) = mpsc::unbounded_channel();
        let registrar = Registrar { plugins_dir: plugins_dir.to_owned(), refusal, registered };
        let server = serve(plugins_dir, registrar.clone());
        (Self { plugins_dir: plugins_dir.to_owned(), registrar, server }, registrations)
    }

    pub(crate) fn restart(&mut self) {
        self.server.abort();
        self.server = serve(&self.plugins_dir, self.registrar.clone());
    }
}

impl Drop for MockKubelet {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn serve(plugins_dir: &Path, registrar: Registrar) -> JoinHandle<()> {
    for entry in std::fs::read_dir(plugins_dir).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_socket() {
            std::fs::remove_file(entry.path()).unwrap();
        }
    }
    let listener = UnixListener::bind(plugins_dir.join("kubelet.sock")).unwrap();
    tokio::spawn(async move {
        let server = Server::builder().add_service(RegistrationServer::new(registrar));
        server.serve_with_incoming(UnixListenerStream::new(listener)).await.unwrap();
    })
}

#[tonic::async_trait]
impl Registration for Registrar {
    async fn register(&self, request: Request<RegisterRequest>) -> Result<Response<Empty>, Status> {
        if let Some(message) = self.refusal {
            return Err(Status::unknown(message));
        }
        let request = request.into_inner();
        let channel = dial(&self.plugins_dir.join(&request.endpoint)).await;
        let channel = channel.map_err(|error| Status::unknown(error.to_string()))?;
        let mut plugin = DevicePluginClient::new(channel);
        let options = plugin.get_device_plugin_options(Empty {}).await?.into_inner();
        // The test may have dropped the receiver.
        let _ = self.registered.send(Registered { request, options, plugin });
        Ok(Response::new(Empty {}))
    }
}
