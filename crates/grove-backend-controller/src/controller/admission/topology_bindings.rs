//! Where topology rules read ClusterTopologyBindings.

use async_trait::async_trait;
use grove_api::ClusterTopologyBinding;
use kube::{Api, Client};

/// The ClusterTopologyBindings of the cluster.
#[async_trait]
pub trait TopologyBindings: Send + Sync {
    /// The binding of that name, or `None` if there is none.
    ///
    /// # Errors
    /// The cluster could not be asked, which says nothing about the object under review.
    async fn binding(&self, name: &str) -> Result<Option<ClusterTopologyBinding>, LookupError>;
}

/// A ClusterTopologyBinding could not be read.
#[derive(Debug, thiserror::Error)]
#[error("failed to fetch ClusterTopologyBinding {name:?}: {source}")]
pub struct LookupError {
    /// The binding's name.
    pub name: String,
    /// The answer.
    pub source: kube::Error,
}

/// Reads from the API server and not from a watch's cache, which may not have heard yet of a binding that was
/// created just before the PodCliqueSet.
#[async_trait]
impl TopologyBindings for Client {
    async fn binding(&self, name: &str) -> Result<Option<ClusterTopologyBinding>, LookupError> {
        let bindings = Api::<ClusterTopologyBinding>::all(self.clone());
        bindings.get_opt(name).await.map_err(|source| LookupError { name: name.to_owned(), source })
    }
}
