//! The loop that maintains the certificate in the Secret, the webhook configurations and the server. Its only
//! state outside the API server is the certificate that it serves.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum_server::tls_rustls::RustlsConfig;
use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::PostParams;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watch_object};
use kube::{Api, Client};
use rustls::ServerConfig;
use rustls::pki_types::UnixTime;
use rustls::server::ResolvesServerCertUsingSni;
use tokio::sync::watch;

use super::configurations::Configurations;
use super::content::{CertificateState, Content, Subject};
use super::{CertificateError, CertificateObjects};

const SECRET_TYPE: &str = "kubernetes.io/tls";
/// The longest pause between two checks. It limits the time until a removed authority is restored.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
const RETRY: Duration = Duration::from_secs(1);
/// How long API servers may take to read a new authority.
const PROPAGATION: Duration = Duration::from_secs(2);
const MAX_RACES: usize = 3;

pub struct Keeper {
    secrets: Api<Secret>,
    secret: &'static str,
    configurations: Configurations,
    subject: Subject,
    tls: RustlsConfig,
    served: Option<Content>,
    state: watch::Sender<Result<(), String>>,
    /// The error that was logged last. `None` after a success.
    reported: Option<String>,
}

impl Keeper {
    /// A crypto provider must be installed.
    pub(super) fn new(client: &Client, subject: Subject, kept: CertificateObjects) -> Self {
        let (state, _) = watch::channel(Err("the webhook has no certificate yet".to_owned()));
        // TLS handshakes fail until there is a certificate.
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(ResolvesServerCertUsingSni::new()));
        Self {
            secrets: Api::namespaced(client.clone(), &subject.namespace),
            secret: kept.secret,
            configurations: Configurations::new(client, &kept),
            subject,
            tls: RustlsConfig::from_config(Arc::new(config)),
            served: None,
            state,
            reported: None,
        }
    }

    pub fn tls(&self) -> RustlsConfig {
        self.tls.clone()
    }

    /// Once `Ok`, it stays `Ok`: the server keeps its certificate while the API server does not respond.
    pub fn state(&self) -> watch::Receiver<Result<(), String>> {
        self.state.subscribe()
    }

    pub async fn run(mut self) {
        let mut changes = pin!(watch_object(self.secrets.clone(), self.secret).default_backoff());
        let period = (self.subject.lifetime / 30).clamp(RETRY, LONGEST_PAUSE);
        loop {
            let pause = if self.check().await { period } else { RETRY };
            let _ = tokio::time::timeout(pause, changed(&mut changes)).await;
        }
    }

    async fn check(&mut self) -> bool {
        let Err(error) = self.attempt().await else {
            let _ = self.state.send_replace(Ok(()));
            self.reported = None;
            return true;
        };
        let text = error.to_string();
        self.state.send_if_modified(|state| {
            let waiting = state.is_err();
            if waiting {
                *state = Err(text.clone());
            }
            waiting
        });
        if error.is_lost_race() {
            tracing::debug!(%error, "another replica wrote the certificate first");
        } else if self.reported.as_ref() != Some(&text) {
            tracing::warn!(%error, "cannot maintain the webhook certificate");
            self.reported = Some(text);
        }
        false
    }

    async fn attempt(&mut self) -> Result<(), CertificateError> {
        // The module `certificates` explains this order.
        let found = self.configurations.read().await?;
        let content = self.content().await?;
        self.configurations.write_authority(&found, &content.bundle()).await?;
        self.serve(content).await?;
        match self.configurations.absent(&found) {
            absent if absent.is_empty() => Ok(()),
            absent => Err(CertificateError::NotInstalled(absent.join(", "))),
        }
    }

    /// Returns the certificate of the Secret. Writes a new one if it is missing, invalid or due for renewal.
    async fn content(&self) -> Result<Content, CertificateError> {
        for _ in 0..MAX_RACES {
            let secret =
                self.secrets.get_opt(self.secret).await.map_err(CertificateError::api("get", self.secret))?;
            let old = match secret.as_ref().map(Content::read) {
                None => None,
                Some(Err(missing)) => {
                    let reason = missing.to_string();
                    tracing::warn!(secret = self.secret, reason, "replacing the webhook certificate");
                    None
                }
                Some(Ok(content)) => {
                    match content.check(&self.subject, UnixTime::now()) {
                        CertificateState::Valid => return Ok(content),
                        CertificateState::DueForRenewal => {
                            tracing::info!("the webhook certificate is due for renewal")
                        }
                        CertificateState::Invalid(reason) => {
                            tracing::warn!(secret = self.secret, reason, "replacing the webhook certificate");
                        }
                    }
                    Some(content)
                }
            };
            // Other replicas may serve this replica's certificate, so keep its authority in the bundle.
            let new = Content::issue(old.as_ref().or(self.served.as_ref()), &self.subject, UnixTime::now())?;
            if let CertificateState::Invalid(reason) = new.check(&self.subject, UnixTime::now()) {
                return Err(CertificateError::Useless(reason));
            }
            if self.write(secret, &new).await? {
                return Ok(new);
            }
        }
        Err(CertificateError::Contended)
    }

    async fn write(&self, old: Option<Secret>, content: &Content) -> Result<bool, CertificateError> {
        let (params, data) = (PostParams::default(), Some(content.data()));
        let (verb, written) = match old {
            // The type of an existing Secret is immutable.
            Some(old) => {
                let secret = Secret { data, ..old };
                ("replace", self.secrets.replace(self.secret, &params, &secret).await)
            }
            None => {
                let metadata = ObjectMeta { name: Some(self.secret.to_owned()), ..ObjectMeta::default() };
                let secret =
                    Secret { metadata, data, type_: Some(SECRET_TYPE.to_owned()), ..Secret::default() };
                ("create", self.secrets.create(&params, &secret).await)
            }
        };
        match written {
            Ok(_) => {
                tracing::info!(secret = self.secret, "webhook certificate written");
                Ok(true)
            }
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => Ok(false),
            Err(error) => Err(CertificateError::api(verb, self.secret)(error)),
        }
    }

    /// The authority must already be in the webhook configurations.
    async fn serve(&mut self, content: Content) -> Result<(), CertificateError> {
        if self.served.as_ref() == Some(&content) {
            return Ok(());
        }
        if self.served.is_some() {
            tokio::time::sleep(PROPAGATION).await;
        }
        let (certificate, key) = content.pair();
        self.tls.reload_from_pem(certificate, key).await.map_err(CertificateError::Serve)?;
        tracing::info!("serving the webhook certificate of the Secret");
        self.served = Some(content);
        Ok(())
    }
}

async fn changed(secrets: &mut (impl Stream<Item = watcher::Result<Option<Secret>>> + Unpin)) {
    loop {
        match secrets.next().await {
            Some(Ok(_)) => return,
            Some(Err(error)) => tracing::warn!(%error, "the watch of the webhook certificate failed"),
            None => std::future::pending::<()>().await,
        }
    }
}

#[cfg(test)]
#[path = "keeper_tests.rs"]
mod tests;
