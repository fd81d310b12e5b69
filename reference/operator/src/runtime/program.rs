//! Startup order: configuration, CRDs, backends, certificate, caches, webhooks and health, leadership,
//! reconcilers. SIGTERM is handled from the start: the kernel ignores it for PID 1 without a handler.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use http::HeaderValue;
use http::header::USER_AGENT;
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use webhook_server::certificates::{CertificateObjects, CertificateOptions, Keeper};
use webhook_server::{ServerError, serve, serve_tls, shutdown_signal};

use super::api_layer::ApiLayer;
use super::configuration::{Configuration, ConfigurationError};
use super::install::{MUTATING_CONFIGURATIONS, NAMESPACE, SECRET, VALIDATING_CONFIGURATIONS};
use super::leader::Candidate;
use super::reconcilers::reconcile_all;
use super::servers::{self, Readiness};
use crate::admission::{self, AdmissionState};
use crate::cache::caches::caches;
use crate::context::fault_injection::{CorruptingLayer, corrupts_writes};
use crate::context::metrics::Metrics;
use crate::context::queues::queues;
use crate::context::{Context, triggers};
use crate::plan::pod_gang_names::PodGangNames;

const GRACE: Duration = Duration::from_secs(4);
const CRDS_SERVED: Duration = Duration::from_secs(10);

const REQUIRED: [(&str, &[&str]); 2] = [
    (
        "grove.io/v1alpha1",
        &["podcliquesets", "podcliques", "podcliquescalinggroups", "clustertopologybindings"],
    ),
    ("scheduler.grove.io/v1alpha1", &["podgangs"]),
];

#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Kubeconfig file [default: the pod's service account, or the user's own kubeconfig]
    #[arg(long, env = "KUBECONFIG")]
    pub kubeconfig: Option<PathBuf>,
    /// Configuration file (OperatorConfiguration)
    #[arg(long)]
    pub config: PathBuf,
    /// The controller's own namespace, for its lease and for dry runs
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
    /// Address of /metrics
    #[arg(long, default_value = "0.0.0.0:9445")]
    pub metrics_bind: SocketAddr,
    /// Reconcile only while holding the lease
    #[arg(long)]
    pub leader_elect: bool,
    /// How PodGangs are named, to test that nothing relies on their names
    #[arg(long, hide = true, value_enum, default_value_t = PodGangNames::ByIndex)]
    pub pod_gang_names: PodGangNames,
}

#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    #[error("cannot read {path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    #[error("cannot connect to the API server: {0}")]
    Connection(String),
    #[error(
        "the API server does not serve {missing}; install the CustomResourceDefinitions first: \
         grove-backend-controller install-manifests --webhook-url URL --ca-bundle FILE \
         | kubectl apply --server-side -f -"
    )]
    MissingResources {
        /// The names of the resources, separated by commas.
        missing: String,
    },
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error("{0} ended unexpectedly")]
    Ended(&'static str),
    #[error("cannot renew the lease in time: another replica may lead now")]
    LeadershipLost,
}

pub async fn run_controller(options: Options) -> Result<(), ProgramError> {
    // `install_default` fails if a provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let shutdown = shutdown_signal();
    tokio::pin!(shutdown);
    let text = tokio::fs::read_to_string(&options.config).await;
    let text = text.map_err(|source| ProgramError::File { path: options.config.clone(), source })?;
    let configuration = Configuration::parse(&text)?;
    let metrics = Metrics::default();
    let connecting = async {
        let client = connect(&options, metrics.clone()).await?;
        let registry = configuration.registry(&client, &options.namespace)?;
        require_resources(&client).await?;
        for backend in registry.iter() {
            if let Err(error) = backend.init().await {
                tracing::warn!(backend = backend.name(), %error, "cannot initialize the scheduler backend");
            }
        }
        Ok::<_, ProgramError>((client, registry))
    };
    let (client, registry) = tokio::select! {
        connected = connecting => connected?,
        () = &mut shutdown => return Ok(()),
    };
    let kept = CertificateObjects {
        secret: SECRET,
        mutating: &MUTATING_CONFIGURATIONS,
        validating: &VALIDATING_CONFIGURATIONS,
    };
    let (tls, keeper) =
        options.certificates.open(&client, options.webhook_bind, &options.namespace, kept).await?;
    let stop = CancellationToken::new();
    let (ready, readiness) = watch::channel(false);
    let (caches, mut feeds) = caches(registry.cached_kinds());
    let (queues, inboxes) = queues();
    let init_image = configuration.init_image().to_owned();
    let context = Context::new(client.clone(), registry.clone(), caches.clone(), queues, init_image);
    let context = Arc::new(Context { metrics, pod_gang_names: options.pod_gang_names, ..context });
    triggers::connect(&mut feeds, &context);

    let mut watches = JoinSet::new();
    feeds.watch(&client, &mut watches);
    let mut servers = JoinSet::new();
    let health = servers::health(Readiness {
        registry: registry.clone(),
        ready: readiness,
        certificates: keeper.as_ref().map(Keeper::state),
    });
    if let Some(keeper) = keeper {
        watches.spawn(keeper.run());
    }
    servers.spawn(serve("health", options.health_bind, health, stop.clone()));
    servers.spawn(serve(
        "metrics",
        options.metrics_bind,
        servers::metrics(Arc::clone(&context)),
        stop.clone(),
    ));
    let webhooks = admission::router(AdmissionState {
        registry: registry.clone(),
        bindings: Arc::new(client.clone()),
        scaled_objects: Arc::new(client.clone()),
    });
    servers.spawn(serve_tls(options.webhook_bind, tls, webhooks, stop.clone()));

    let reconcilers = async {
        caches.wait_until_synced().await;
        ready.send_replace(true);
        tracing::info!("the caches are complete");
        let work = async {
            context.metrics.set_leading();
            if reconcile_all(inboxes, &context, &stop).await {
                Ok(())
            } else {
                Err(ProgramError::Ended("a reconciler"))
            }
        };
        if !options.leader_elect {
            return work.await;
        }
        let mut candidate = Candidate::new(client.clone(), &options.namespace, identity());
        tokio::select! {
            () = candidate.lead() => {}
            () = stop.cancelled() => return Ok(()),
        }
        tokio::select! {
            result = work => result?,
            () = candidate.keep() => return Err(ProgramError::LeadershipLost),
        }
        candidate.release().await;
        Ok(())
    };
    tokio::pin!(reconcilers);
    let ended = tokio::select! {
        () = &mut shutdown => Ok(()),
        result = &mut reconcilers => result.and(Err(ProgramError::Ended("reconcilers"))),
        Some(result) = servers.join_next() => match result {
            Ok(Err(error)) => Err(error.into()),
            _ => Err(ProgramError::Ended("a server")),
        },
        Some(_) = watches.join_next() => Err(ProgramError::Ended("a watch")),
    };
    stop.cancel();
    tracing::info!("shutting down");
    let finish = async {
        if ended.is_ok() {
            let _ = reconcilers.await;
        }
        while servers.join_next().await.is_some() {}
    };
    if tokio::time::timeout(GRACE, finish).await.is_err() {
        tracing::warn!("shutdown timed out: some tasks are still running");
    }
    ended
}

async fn connect(options: &Options, metrics: Metrics) -> Result<Client, ProgramError> {
    let failed = |error: &dyn std::error::Error| ProgramError::Connection(error.to_string());
    let mut config = match &options.kubeconfig {
        Some(path) => {
            let kubeconfig = Kubeconfig::read_from(path).map_err(|error| failed(&error))?;
            let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
            config.map_err(|error| failed(&error))?
        }
        None => Config::infer().await.map_err(|error| failed(&error))?,
    };
    let layer = ApiLayer::new(metrics);
    // This name appears in the managedFields of written objects.
    config.headers.push((USER_AGENT, HeaderValue::from_static("grove-backend-controller")));
    let builder = ClientBuilder::try_from(config).map_err(|error| failed(&error))?.with_layer(&layer);
    Ok(if corrupts_writes() { builder.with_layer(&CorruptingLayer).build() } else { builder.build() })
}

/// The API server serves a new CRD only some time after it accepts it.
async fn require_resources(client: &Client) -> Result<(), ProgramError> {
    let start = Instant::now();
    loop {
        match check_served_resources(client).await {
            Err(ProgramError::MissingResources { .. }) if start.elapsed() < CRDS_SERVED => {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            other => return other,
        }
    }
}

async fn check_served_resources(client: &Client) -> Result<(), ProgramError> {
    let mut missing = Vec::new();
    for (version, resources) in REQUIRED {
        let served = match client.list_api_group_resources(version).await {
            Ok(list) => list.resources.into_iter().map(|resource| resource.name).collect(),
            Err(kube::Error::Api(status)) if status.code == 404 => Vec::new(),
            Err(error) => return Err(ProgramError::Connection(error.to_string())),
        };
        let absent = resources.iter().filter(|resource| !served.iter().any(|name| name == *resource));
        missing.extend(absent.map(|resource| format!("{resource} of {version}")));
    }
    match missing.is_empty() {
        true => Ok(()),
        false => Err(ProgramError::MissingResources { missing: missing.join(", ") }),
    }
}

fn identity() -> String {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "controller".to_owned());
    format!("{host}-{}-{}", std::process::id(), jiff::Timestamp::now().as_millisecond())
}
