//! Connects to a cluster that someone else runs, with a kubeconfig or a pod's service account.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use kube::{Client, Config};

use super::ClusterError;
use super::kubeconfig::KubeconfigSource;

/// Timeout of the first request to the API server.
const ANSWER: Duration = Duration::from_secs(15);
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    Kubeconfig(KubeconfigSource),
    Pod,
}

impl Access {
    /// Returns `None` outside a pod, or in a pod without a token.
    pub fn of_pod() -> Option<Self> {
        let has_token = || Path::new(SERVICE_ACCOUNT).join("token").is_file();
        (std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() && has_token()).then_some(Self::Pod)
    }

    /// Reads the configuration without a request to the API server.
    pub async fn config(&self) -> Result<Config, ClusterError> {
        match self {
            Self::Kubeconfig(source) => source.config().await,
            Self::Pod => {
                let mut config = Config::incluster()
                    .map_err(|source| ClusterError::ServiceAccount { source: Box::new(source) })?;
                // No read timeout, because watches stay open for minutes.
                config.read_timeout = None;
                Ok(config)
            }
        }
    }

    pub async fn client(&self) -> Result<Client, ClusterError> {
        Client::try_from(self.config().await?).map_err(ClusterError::during("connect"))
    }

    pub(crate) fn unreachable(&self, server: String, reason: String) -> ClusterError {
        ClusterError::Unreachable { access: self.to_string(), server, reason, advice: self.advice() }
    }

    fn advice(&self) -> String {
        match self {
            Self::Kubeconfig(source) => {
                format!("`kubectl{} get --raw /version` must work from here first", source.options())
            }
            Self::Pod => "the cluster's pods must reach it; look for network policies".into(),
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kubeconfig(source) => write!(f, "{source}"),
            Self::Pod => f.write_str("the service account of this pod"),
        }
    }
}

pub async fn client(kubeconfig: &Path) -> Result<Client, ClusterError> {
    Client::try_from(KubeconfigSource::of_file(kubeconfig).config().await?)
        .map_err(ClusterError::during("connect"))
}

pub async fn reached(access: &Access) -> Result<Client, ClusterError> {
    reached_in(access, ANSWER).await
}

async fn reached_in(access: &Access, limit: Duration) -> Result<Client, ClusterError> {
    let config = access.config().await?;
    let server = config.cluster_url.to_string();
    let unreachable = |reason: String| access.unreachable(server, reason);
    let client = match Client::try_from(config) {
        Ok(client) => client,
        Err(error) => return Err(unreachable(format!("cannot be connected to: {error}"))),
    };
    match tokio::time::timeout(limit, client.apiserver_version()).await {
        Ok(Ok(_)) => Ok(client),
        Ok(Err(kube::Error::Api(status))) if status.code == 401 => {
            Err(unreachable(format!("rejects the credentials: {}", status.message)))
        }
        // A user without the right to read the version can still have all rights that a run needs.
        Ok(Err(kube::Error::Api(_))) => Ok(client),
        Ok(Err(error)) => Err(unreachable(format!("does not answer: {}", causes(&error)))),
        Err(_) => Err(unreachable(format!("did not answer within {} s", limit.as_secs()))),
    }
}

fn causes(error: &dyn std::error::Error) -> String {
    let (mut text, mut error) = (error.to_string(), error.source());
    while let Some(cause) = error {
        if !text.contains(&cause.to_string()) {
            text = format!("{text}: {cause}");
        }
        error = cause.source();
    }
    text
}

pub fn namespace_of_pod() -> Result<String, ClusterError> {
    let path = Path::new(SERVICE_ACCOUNT).join("namespace");
    let text = std::fs::read_to_string(&path).map_err(ClusterError::file(&path))?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(
        Access::Kubeconfig(KubeconfigSource::of_file("admin.conf")),
        "--kubeconfig admin.conf: https://a:6443 does not answer\n`kubectl --kubeconfig admin.conf get --raw /version` must work \
         from here first"
    )]
    #[case(
        Access::Pod,
        "the service account of this pod: https://a:6443 does not answer\nthe cluster's pods must reach it; look for network policies"
    )]
    fn an_unreachable_server_is_reported_with_advice(#[case] access: Access, #[case] message: &str) {
        let (server, reason) = ("https://a:6443".to_owned(), "does not answer".to_owned());
        assert_eq!(access.unreachable(server, reason).to_string(), message);
    }

    fn kubeconfig(port: u16) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
             clusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:{port}'}}}}]\n\
             contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\nusers: [{{name: u, user: {{}}}}]\n"
        );
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[tokio::test]
    async fn a_server_that_does_not_answer_is_reported_with_its_kubeconfig() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let (_folder, path) = kubeconfig(silent.local_addr().unwrap().port());
        let access = Access::Kubeconfig(KubeconfigSource::of_file(&path));
        let error = reached_in(&access, Duration::from_secs(1)).await.err().unwrap().to_string();
        assert!(error.contains("did not answer within 1 s") && error.contains("http://127.0.0.1"), "{error}");
        drop(silent);
        let error = reached(&access).await.err().unwrap().to_string();
        let parts = ["does not answer: ", "refused", "http://127.0.0.1", &path.display().to_string()];
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
}
