//! `/readyz` also fails while the trainer's CRDs lack the field `kaiScheduler`, because the API server then
//! drops the field before it calls a webhook.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use clap::Args;
use http::HeaderValue;
use http::header::USER_AGENT;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use webhook_server::certificates::{CertificateOptions, Keeper};
use webhook_server::{serve, serve_tls, shutdown_signal};

use crate::install::{CERTIFICATE_OBJECTS, NAMESPACE};
use crate::{admission, crd};

const GRACE: Duration = Duration::from_secs(4);

#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Kubeconfig file [default: the pod's service account, or the user's own kubeconfig]
    #[arg(long, env = "KUBECONFIG")]
    pub kubeconfig: Option<PathBuf>,
    /// The plugin's own namespace, with the Service and the Secret of its webhooks
    #[arg(long, default_value = NAMESPACE)]
    pub namespace: String,
    /// Address of the webhooks
    #[arg(long, default_value = "0.0.0.0:9443")]
    pub webhook_bind: SocketAddr,
    #[command(flatten)]
    pub certificates: CertificateOptions,
    /// Address of /healthz and /readyz
    #[arg(long, default_value = "0.0.0.0:9444")]
    pub health_bind: SocketAddr,
}

#[derive(Clone)]
struct Readiness {
    client: Client,
    certificates: Option<watch::Receiver<Result<(), String>>>,
}

pub async fn run(options: Options) -> anyhow::Result<()> {
    // `install_default` fails if a provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let shutdown = shutdown_signal();
    let client = connect(options.kubeconfig.as_deref()).await?;
    if let Err(reason) = crd::have_field(&client).await {
        tracing::warn!(reason = format!("{reason:#}"), "the field kaiScheduler of runtimes has no effect");
    }
    let stop = CancellationToken::new();
    let mut tasks = JoinSet::new();
    let (tls, keeper) = options
        .certificates
        .open(&client, options.webhook_bind, &options.namespace, CERTIFICATE_OBJECTS)
        .await?;
    let certificates = keeper.as_ref().map(Keeper::state);
    if let Some(keeper) = keeper {
        tasks.spawn(async {
            keeper.run().await;
            Ok(())
        });
    }
    let health = health(Readiness { client: client.clone(), certificates });
    tasks.spawn(serve("health", options.health_bind, health, stop.clone()));
    tasks.spawn(serve_tls(options.webhook_bind, tls, admission::router(Arc::new(client)), stop.clone()));
    tracing::info!(webhooks = %options.webhook_bind, "serving");
    let ended = tokio::select! {
        () = shutdown => Ok(()),
        Some(result) = tasks.join_next() => match result {
            Ok(Err(error)) => Err(error.into()),
            _ => Err(anyhow::anyhow!("a server ended unexpectedly")),
        },
    };
    stop.cancel();
    let finish = async { while tasks.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(GRACE, finish).await;
    ended
}

fn health(readiness: Readiness) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .with_state(readiness)
}

async fn readyz(State(readiness): State<Readiness>) -> (StatusCode, String) {
    let certificates = readiness.certificates.as_ref().map_or(Ok(()), |state| state.borrow().clone());
    let field = crd::have_field(&readiness.client).await.map_err(|error| format!("{error:#}"));
    let mut text = String::new();
    for (what, found) in [("certificates", &certificates), ("crds", &field)] {
        let (sign, detail) = found.as_ref().err().map_or(('+', "ok"), |reason| ('-', reason));
        let _ = writeln!(text, "[{sign}]{what} {detail}");
    }
    let ready = certificates.is_ok() && field.is_ok();
    (if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, text)
}

async fn connect(kubeconfig: Option<&std::path::Path>) -> anyhow::Result<Client> {
    let mut config = match kubeconfig {
        Some(path) => {
            Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &KubeConfigOptions::default())
                .await?
        }
        None => Config::infer().await?,
    };
    config.headers.push((USER_AGENT, HeaderValue::from_static("trainer-kai-plugin")));
    Client::try_from(config).context("cannot connect to the API server")
}
