//! Devices that pods share by ResourceClaims, as a driver for dynamic resource allocation (DRA) publishes
//! them. The harness is the driver. On simulated nodes nothing has to prepare the devices.

use conformance_cluster::{ClusterError, deploy};
use http::Method;
use serde_json::{Value, json};

use crate::context::{Stop, TestContext};

/// Name of the DRA driver. On real nodes a kubelet would look for it.
const DRIVER: &str = "devices.conformance.grove.io";
/// The DeviceClass that the claims of manifests name. It is not deleted after a case.
const CLASS: &str = "conformance-device";

impl TestContext {
    /// Publishes `count` devices on each of the case's nodes. They are deleted with their node.
    pub async fn publish_devices(&self, count: usize) -> Result<(), Stop> {
        let selector = json!({"cel": {"expression": format!("device.driver == '{DRIVER}'")}});
        let class = json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": CLASS},
            "spec": {"selectors": [selector]},
        });
        deploy::apply(&self.test_cluster.client, &class).await?;
        for node in &self.nodes {
            // The watch may not have delivered the node yet.
            let found = self.attempt(Method::GET, "Node", &node.name, &Value::Null).await?;
            let uid = found.accepted(format!("get Node {}", node.name))?["metadata"]["uid"].clone();
            deploy::apply(&self.test_cluster.client, &slice(&node.name, &uid, count)).await?;
        }
        Ok(())
    }

    /// Withdraws a node's devices, as if its driver had stopped. Existing allocations remain.
    pub async fn withdraw_devices(&self, node: &str) -> Result<(), Stop> {
        let action = format!("withdraw the devices of Node {node}");
        let path = format!("/apis/resource.k8s.io/v1/resourceslices/{node}");
        let request = http::Request::builder().method(Method::DELETE).uri(path).body(Vec::new());
        let request = request.map_err(|e| Stop::Refused { action: action.clone(), reason: e.to_string() })?;
        let deleted = self.test_cluster.client.request::<Value>(request).await;
        deleted.map(drop).map_err(|source| ClusterError::api(action, source).into())
    }
}

/// The ResourceSlice of a node; each node is its own pool.
fn slice(node: &str, uid: &Value, count: usize) -> Value {
    let devices: Vec<_> = (0..count).map(|index| json!({"name": format!("device-{index}")})).collect();
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
        "metadata": {
            "name": node,
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid}],
        },
        "spec": {
            "driver": DRIVER, "nodeName": node, "devices": devices,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
        },
    })
}
