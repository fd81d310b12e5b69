//! Volumes for the claims of a case. A claim with a storage class is bound after the scheduler has chosen a
//! node, because the class has no provisioner. A claim without a class must be bound before the scheduler
//! considers the pod. The claims of a user's workload may have any class; a [`Provisioner`] binds them.

use std::collections::BTreeSet;

use conformance_cluster::{ClusterError, deploy};
use k8s_openapi::api::core::v1::{Namespace, PersistentVolumeClaim};
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::limits::{PACE, SCHEDULING};
use crate::context::{Awaited, Stop, TestContext};

/// Annotation with which a scheduler reports the chosen node to the provisioner of a claim.
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

impl TestContext {
    /// Creates claims and their storage class. The class is deleted with the namespace of the case.
    pub async fn create_claims(&self, names: &[&str]) -> Result<(), Stop> {
        let class = json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": self.namespace_owned_metadata().await?,
            "provisioner": "conformance.grove.io/by-hand", "volumeBindingMode": "WaitForFirstConsumer",
            // Volcano treats every provisioner as a CSI driver and rejects nodes whose CSINode does not list
            // the driver. An empty driver name disables this check.
            "parameters": {"csi.storage.k8s.io/csi-driver-name": ""},
        });
        deploy::apply(&self.test_cluster.client, &class).await?;
        for name in names {
            self.create_claim_of(name, &self.namespace).await?;
        }
        Ok(())
    }

    /// Creates a claim without a storage class: its pods wait for [`TestContext::bind_claim`].
    pub async fn create_claim(&self, name: &str) -> Result<(), Stop> {
        self.create_claim_of(name, "").await
    }

    async fn create_claim_of(&self, name: &str, class: &str) -> Result<(), Stop> {
        let claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {"storageClassName": class, "accessModes": ["ReadWriteOnce"],
                     "resources": {"requests": {"storage": "1Gi"}}},
        });
        Ok(deploy::apply(&self.test_cluster.client, &claim).await?)
    }

    /// Creates a volume for a claim without a storage class. Kubernetes then binds the claim immediately.
    pub async fn bind_claim(&self, name: &str) -> Result<(), Stop> {
        let client = &self.test_cluster.client;
        let found = Api::<PersistentVolumeClaim>::namespaced(client.clone(), &self.namespace).get(name).await;
        let found = found.map_err(ClusterError::during(format!("get claim {name}")))?;
        let claim = serde_json::to_value(found).unwrap_or_default();
        let metadata = self.namespace_owned_metadata().await?;
        if let Some(volume) = volume(&claim, &self.namespace, &metadata, &BTreeSet::new()) {
            deploy::apply(client, &volume).await?;
        }
        Ok(())
    }

    pub async fn until_claim_has_node(&self, name: &str) -> Result<(), Stop> {
        let claims: Api<PersistentVolumeClaim> =
            Api::namespaced(self.test_cluster.client.clone(), &self.namespace);
        let chosen = Awaited::demanded_by("AON-01", format!("a node for the claim {name}"));
        self.poll_until(chosen, SCHEDULING, || async {
            let claim = claims.get(name).await.map_err(ClusterError::during(format!("get claim {name}")))?;
            Ok(claim.annotations().contains_key(SELECTED_NODE).then_some(()))
        })
        .await
    }

    /// Creates the volume of a claim: a hostPath folder on the node of the claim's pod.
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

    /// Returns metadata of a cluster-scoped object with the namespace's name, which the namespace owns.
    async fn namespace_owned_metadata(&self) -> Result<Value, Stop> {
        let name = &self.namespace;
        let found = Api::<Namespace>::all(self.test_cluster.client.clone()).get(name).await;
        let found = found.map_err(ClusterError::during(format!("get Namespace {name}")))?;
        let owner = json!({"apiVersion": "v1", "kind": "Namespace", "name": name, "uid": found.uid()});
        Ok(json!({"name": name, "ownerReferences": [owner]}))
    }
}

/// Binds every claim of a namespace immediately, to volumes that can be used on every node. Kubernetes binds
/// a volume that names its claim regardless of the class.
pub struct Provisioner {
    client: Client,
    namespace: String,
    /// Metadata without a name. Its owner reference deletes the volumes with the namespace.
    metadata: Value,
    /// Storage classes whose claims get no volume, because the manifest has volumes for them; `""`: no class.
    left_out: BTreeSet<String>,
}

impl TestContext {
    pub async fn provisioner(&self, left_out: BTreeSet<String>) -> Result<Provisioner, Stop> {
        Ok(Provisioner {
            client: self.test_cluster.client.clone(),
            namespace: self.namespace.clone(),
            metadata: self.namespace_owned_metadata().await?,
            left_out,
        })
    }
}

impl Provisioner {
    pub async fn alongside(self, work: impl Future<Output = Result<(), Stop>>) -> Result<(), Stop> {
        tokio::select! {
            ended = work => ended,
            failed = self.run() => Err(failed),
        }
    }

    async fn run(self) -> Stop {
        let claims: Api<PersistentVolumeClaim> = Api::namespaced(self.client.clone(), &self.namespace);
        loop {
            if let Err(error) = self.bind(&claims).await {
                return error.into();
            }
            tokio::time::sleep(PACE).await;
        }
    }

    async fn bind(&self, claims: &Api<PersistentVolumeClaim>) -> Result<(), ClusterError> {
        let listed = claims.list(&ListParams::default()).await;
        let listed = listed.map_err(ClusterError::during("list the PersistentVolumeClaims"))?;
        for claim in listed {
            let claim = serde_json::to_value(claim).unwrap_or_default();
            if let Some(volume) = self.volume(&claim) {
                deploy::create_unless_exists(&self.client, &volume).await?;
            }
        }
        Ok(())
    }

    fn volume(&self, claim: &Value) -> Option<Value> {
        volume(claim, &self.namespace, &self.metadata, &self.left_out)
    }
}

/// Returns the volume for a claim that needs one, named by its uid: a later claim needs another volume.
fn volume(claim: &Value, namespace: &str, owned: &Value, left_out: &BTreeSet<String>) -> Option<Value> {
    let (meta, wanted) = (&claim["metadata"], &claim["spec"]);
    let class = wanted["storageClassName"].as_str().unwrap_or_default();
    let is_bound = wanted["volumeName"].as_str().is_some_and(|name| !name.is_empty());
    if is_bound || meta["deletionTimestamp"].is_string() || left_out.contains(class) {
        return None;
    }
    let name = format!("{namespace}-{}", meta["uid"].as_str().unwrap_or_default());
    let mut metadata = owned.clone();
    metadata["name"] = name.as_str().into();
    let mut spec = json!({
        "accessModes": wanted["accessModes"],
        "capacity": {"storage": wanted["resources"]["requests"]["storage"]},
        "persistentVolumeReclaimPolicy": "Retain",
        // With the uid, Kubernetes binds the claim immediately; without it, up to 15 s later.
        "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": meta["name"],
                     "uid": meta["uid"]},
        "hostPath": {"path": format!("/tmp/{name}"), "type": "DirectoryOrCreate"},
    });
    for field in ["storageClassName", "volumeMode", "volumeAttributesClassName"] {
        if wanted[field].is_string() {
            spec[field] = wanted[field].clone();
        }
    }
    Some(json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume_of(spec: Value) -> Option<Value> {
        let claim = json!({"metadata": {"name": "data", "uid": "7"}, "spec": spec});
        volume(&claim, "n", &json!({"ownerReferences": []}), &BTreeSet::from(["local".to_owned()]))
    }

    #[test]
    fn a_volume_has_what_its_claim_requests() {
        let spec = json!({"accessModes": ["ReadWriteMany"], "volumeMode": "Block", "storageClassName": "fast",
            "resources": {"requests": {"storage": "3Gi"}}});
        let volume = volume_of(spec).unwrap();
        assert_eq!(volume["metadata"]["name"], "n-7");
        let spec = &volume["spec"];
        let claim = ["namespace", "name", "uid"].map(|field| &spec["claimRef"][field]);
        assert_eq!(claim, ["n", "data", "7"]);
        assert_eq!(spec["accessModes"], json!(["ReadWriteMany"]));
        assert_eq!(spec["capacity"]["storage"], "3Gi");
        assert_eq!((&spec["volumeMode"], &spec["storageClassName"]), (&json!("Block"), &json!("fast")));
        assert!(spec["volumeAttributesClassName"].is_null());
    }

    #[test]
    fn a_claim_that_is_bound_or_has_volumes_of_its_own_gets_none() {
        assert!(volume_of(json!({})).is_some(), "no class, not bound");
        assert!(volume_of(json!({"volumeName": ""})).is_some(), "not bound");
        assert!(volume_of(json!({"volumeName": "v"})).is_none(), "bound");
        assert!(volume_of(json!({"storageClassName": "local"})).is_none(), "the manifest has its volumes");
    }
}
