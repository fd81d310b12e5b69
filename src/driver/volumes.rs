//! Volumes for the claims of a case's pods, which nobody provides but the harness, when the case says so. As with most provisioners
//! a node is chosen for a pod before its claim gets a volume.

use conformance_cluster::{ClusterError, deploy};
use k8s_openapi::api::core::v1::{Namespace, PersistentVolumeClaim};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::limits::SCHEDULING;
use crate::context::{Awaited, Stop, TestContext};

/// By this annotation a scheduler tells a claim's provisioner the node.
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

impl TestContext {
    /// Makes claims of a storage class of the test's own, which goes with its namespace.
    ///
    /// # Errors
    /// [`Stop::Cluster`].
    pub async fn make_claims(&self, names: &[&str]) -> Result<(), Stop> {
        let class = json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": self.going_with_the_test().await?,
            "provisioner": "conformance.grove.io/by-hand", "volumeBindingMode": "WaitForFirstConsumer",
            // Volcano takes every provisioner for a CSI driver, of whose volumes a node has room for none unless it says so, but
            // for one that this parameter names.
            "parameters": {"csi.storage.k8s.io/csi-driver-name": ""},
        });
        deploy::apply(&self.test_cluster.client, &class).await?;
        for name in names {
            let claim = json!({
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "metadata": {"name": name, "namespace": self.namespace},
                "spec": {"storageClassName": self.namespace, "accessModes": ["ReadWriteOnce"],
                         "resources": {"requests": {"storage": "1Gi"}}},
            });
            deploy::apply(&self.test_cluster.client, &claim).await?;
        }
        Ok(())
    }

    /// Waits until a scheduler has chosen a node for a claim.
    ///
    /// # Errors
    /// [`Stop::Wait`]; [`Stop::Cluster`].
    pub async fn until_claim_has_a_node(&self, name: &str) -> Result<(), Stop> {
        let claims: Api<PersistentVolumeClaim> =
            Api::namespaced(self.test_cluster.client.clone(), &self.namespace);
        let chosen = Awaited::demanded_by("AON-01", format!("a node for the claim {name}"));
        self.until_answered(chosen, SCHEDULING, || async {
            let claim = claims.get(name).await;
            let claim = claim.map_err(|source| ClusterError::api(format!("get claim {name}"), source))?;
            Ok(claim.annotations().contains_key(SELECTED_NODE).then_some(()))
        })
        .await
    }

    /// Provides the volume that a claim waits for: a folder of whatever node its pod is on.
    ///
    /// # Errors
    /// [`Stop::Cluster`].
    pub async fn provide_volume(&self, claim: &str) -> Result<(), Stop> {
        let mut metadata = self.going_with_the_test().await?;
        metadata["name"] = format!("{}-{claim}", self.namespace).into();
        let volume = json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata,
            "spec": {
                "storageClassName": self.namespace, "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": "1Gi"}, "persistentVolumeReclaimPolicy": "Retain",
                "claimRef": {"namespace": self.namespace, "name": claim},
                "hostPath": {"path": format!("/tmp/{}-{claim}", self.namespace), "type": "DirectoryOrCreate"},
            },
        });
        Ok(deploy::apply(&self.test_cluster.client, &volume).await?)
    }

    /// Metadata of an object outside namespaces that is named after the test's namespace, and owned by it.
    async fn going_with_the_test(&self) -> Result<Value, Stop> {
        let name = &self.namespace;
        let found = Api::<Namespace>::all(self.test_cluster.client.clone()).get(name).await;
        let found = found.map_err(|source| ClusterError::api(format!("get Namespace {name}"), source))?;
        let owner = json!({"apiVersion": "v1", "kind": "Namespace", "name": name, "uid": found.uid()});
        Ok(json!({"name": name, "ownerReferences": [owner]}))
    }
}
