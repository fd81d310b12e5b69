//! PersistentVolumeClaims of a storage class without a provisioner. The harness creates their volumes when
//! the case calls for it. As with most classes, a claim is bound only after the scheduler has chosen a node
//! for the pod.

use conformance_cluster::{ClusterError, deploy};
use k8s_openapi::api::core::v1::{Namespace, PersistentVolumeClaim};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::limits::SCHEDULING;
use crate::context::{Awaited, Stop, TestContext};

/// Annotation by which a scheduler reports the chosen node to the provisioner of a claim.
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

impl TestContext {
    /// Creates claims, and their storage class, which is deleted with the test's namespace.
    pub async fn create_claims(&self, names: &[&str]) -> Result<(), Stop> {
        let class = json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": self.namespace_owned_metadata().await?,
            "provisioner": "conformance.grove.io/by-hand", "volumeBindingMode": "WaitForFirstConsumer",
            // Volcano treats every provisioner as a CSI driver. No node admits volumes of a driver that its
            // CSINode does not list. Volcano ignores a driver with an empty name.
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

    /// Waits until a scheduler has chosen the node of a claim's pod.
    pub async fn until_claim_has_node(&self, name: &str) -> Result<(), Stop> {
        let claims: Api<PersistentVolumeClaim> =
            Api::namespaced(self.test_cluster.client.clone(), &self.namespace);
        let chosen = Awaited::demanded_by("AON-01", format!("a node for the claim {name}"));
        self.poll_until(chosen, SCHEDULING, || async {
            let claim = claims.get(name).await;
            let claim = claim.map_err(|source| ClusterError::api(format!("get claim {name}"), source))?;
            Ok(claim.annotations().contains_key(SELECTED_NODE).then_some(()))
        })
        .await
    }

    /// Creates the volume of a claim, as a folder on the node of its pod.
    pub async fn create_volume(&self, claim: &str) -> Result<(), Stop> {
        let mut metadata = self.namespace_owned_metadata().await?;
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

    /// Metadata of a cluster-scoped object that has the name of the test's namespace and is owned by it.
    async fn namespace_owned_metadata(&self) -> Result<Value, Stop> {
        let name = &self.namespace;
        let found = Api::<Namespace>::all(self.test_cluster.client.clone()).get(name).await;
        let found = found.map_err(|source| ClusterError::api(format!("get Namespace {name}"), source))?;
        let owner = json!({"apiVersion": "v1", "kind": "Namespace", "name": name, "uid": found.uid()});
        Ok(json!({"name": name, "ownerReferences": [owner]}))
    }
}
