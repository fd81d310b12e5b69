use async_trait::async_trait;
use grove_api::ClusterTopologyBinding;
use kube::{Api, Client};

#[async_trait]
pub trait TopologyBindings: Send + Sync {
    async fn binding(&self, name: &str) -> Result<Option<ClusterTopologyBinding>, LookupError>;
}

#[derive(Debug, thiserror::Error)]
#[error("failed to fetch ClusterTopologyBinding {name:?}: {source}")]
pub struct LookupError {
    pub name: String,
    pub source: kube::Error,
}

/// A cache may lack a binding that was created just before the PodCliqueSet.
#[async_trait]
impl TopologyBindings for Client {
    async fn binding(&self, name: &str) -> Result<Option<ClusterTopologyBinding>, LookupError> {
        let bindings = Api::<ClusterTopologyBinding>::all(self.clone());
        bindings.get_opt(name).await.map_err(|source| LookupError { name: name.to_owned(), source })
    }
}
