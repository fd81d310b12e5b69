//! How the harness reaches a cluster that someone else runs: through a kubeconfig, or, in a pod of that
//! cluster, through the pod's service account.

use std::fmt;
use std::path::{Path, PathBuf};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use super::ClusterError;

/// The folder in which Kubernetes mounts a pod's service account credentials.
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    Kubeconfig(PathBuf),
    /// The service account of the pod that this program runs in.
    Pod,
}

impl Access {
    /// Returns `None` outside a pod, and in a pod without a token.
    pub fn of_pod() -> Option<Self> {
        let has_token = || Path::new(SERVICE_ACCOUNT).join("token").is_file();
        (std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() && has_token()).then_some(Self::Pod)
    }

    /// Builds the client configuration, without a request to the server.
    pub async fn config(&self) -> Result<Config, ClusterError> {
        match self {
            Self::Kubeconfig(path) => config(path).await,
            Self::Pod => {
                let mut config = Config::incluster()
                    .map_err(|source| ClusterError::ServiceAccount { source: Box::new(source) })?;
                // As for a kubeconfig: watches stay open for minutes.
                config.read_timeout = None;
                Ok(config)
            }
        }
    }

    pub async fn client(&self) -> Result<Client, ClusterError> {
        Client::try_from(self.config().await?).map_err(|source| ClusterError::api("connect", source))
    }

    /// The error of a server that does not answer, or rejects the user.
    pub(crate) fn unreachable(&self, server: String, reason: String) -> ClusterError {
        ClusterError::Unreachable { access: self.to_string(), server, reason, advice: self.advice() }
    }

    /// What the user can try when the server does not answer.
    fn advice(&self) -> String {
        match self {
            Self::Kubeconfig(path) => {
                format!(
                    "`kubectl --kubeconfig {} get --raw /version` must work from here first",
                    path.display()
                )
            }
            Self::Pod => "the cluster's pods must reach it; look for network policies".into(),
        }
    }
}

/// For example `--kubeconfig admin.conf`.
impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kubeconfig(path) => write!(f, "--kubeconfig {}", path.display()),
            Self::Pod => f.write_str("the service account of this pod"),
        }
    }
}

/// A client of the server in a kubeconfig.
pub async fn client(kubeconfig: &Path) -> Result<Client, ClusterError> {
    Client::try_from(config(kubeconfig).await?).map_err(|source| ClusterError::api("connect", source))
}

/// Reads a kubeconfig, without a request to its server.
pub async fn config(kubeconfig: &Path) -> Result<Config, ClusterError> {
    let unusable = |source| ClusterError::Kubeconfig { path: kubeconfig.into(), source: Box::new(source) };
    let file = Kubeconfig::read_from(kubeconfig).map_err(unusable)?;
    let mut config =
        Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.map_err(unusable)?;
    // Watches stay open for minutes. The caller's timeout limits a hanging request.
    config.read_timeout = None;
    Ok(config)
}

/// The namespace of the pod that this program runs in.
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
        Access::Kubeconfig("admin.conf".into()),
        "--kubeconfig admin.conf: https://a:6443 does not answer\n`kubectl --kubeconfig admin.conf get --raw /version` must work \
         from here first"
    )]
    #[case(
        Access::Pod,
        "the service account of this pod: https://a:6443 does not answer\nthe cluster's pods must reach it; look for network policies"
    )]
    fn a_server_that_does_not_answer_is_told_with_what_to_try(#[case] access: Access, #[case] said: &str) {
        let (server, reason) = ("https://a:6443".to_owned(), "does not answer".to_owned());
        assert_eq!(access.unreachable(server, reason).to_string(), said);
    }
}
