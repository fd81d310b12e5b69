//! Devices that pods share by means of ResourceClaims. The harness acts as the DRA driver.

use conformance_cluster::{ClusterError, deploy};
use http::Method;
use serde_json::{Value, json};

use crate::context::{Stop, TestContext};

/// Name of the DRA driver. The driver exists only on simulated nodes, because a kubelet would call it.
const DRIVER: &str = "devices.conformance.grove.io";
/// DeviceClass of the claims in manifests. It remains in the cluster after a case.
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
            let uid = self.uid_of(&node.name).await?;
            deploy::apply(&self.test_cluster.client, &slice(&node.name, &uid, count)).await?;
        }
        Ok(())
    }

    /// Publishes slices of the node templates, deleted with their node, and DeviceClasses, which remain.
    pub async fn publish_templates(&self) -> Result<(), Stop> {
        let mut classes: Vec<&Value> = Vec::new();
        for node in &self.nodes {
            let Some(template) = node.template.filter(|template| !template.slices.is_empty()) else {
                continue;
            };
            for class in &template.device_classes {
                if !classes.contains(&class) {
                    classes.push(class);
                    deploy::apply(&self.test_cluster.client, class).await?;
                }
            }
            let uid = self.uid_of(&node.name).await?;
            for slice in slices_of(&node.name, &uid, &template.slices) {
                deploy::apply(&self.test_cluster.client, &slice).await?;
            }
        }
        Ok(())
    }

    async fn uid_of(&self, node: &str) -> Result<Value, Stop> {
        // Read the node from the API server, because the watch may not have delivered it yet.
        let found = self.attempt(Method::GET, "Node", node, &Value::Null).await?;
        Ok(found.accepted(format!("get Node {node}"))?["metadata"]["uid"].clone())
    }

    /// Deletes the ResourceSlice of a node. Existing allocations remain.
    pub async fn withdraw_devices(&self, node: &str) -> Result<(), Stop> {
        let action = format!("withdraw the devices of Node {node}");
        let path = format!("/apis/resource.k8s.io/v1/resourceslices/{node}");
        let request = http::Request::builder().method(Method::DELETE).uri(path).body(Vec::new());
        let request = request.map_err(|e| Stop::Refused { action: action.clone(), reason: e.to_string() })?;
        let deleted = self.test_cluster.client.request::<Value>(request).await;
        deleted.map(drop).map_err(|source| ClusterError::api(action, source).into())
    }
}

fn slices_of(node: &str, uid: &Value, template: &[Value]) -> Vec<Value> {
    let pool_of = |slice: &Value| (slice["spec"]["driver"].clone(), slice["spec"]["pool"]["name"].clone());
    let for_node = |(index, slice): (usize, &Value)| {
        let count = template.iter().filter(|other| pool_of(other) == pool_of(slice)).count();
        let pool = slice["spec"]["pool"]["name"].as_str().unwrap_or_default();
        let mut spec = slice["spec"].clone();
        spec["nodeName"] = node.into();
        spec["pool"] = json!({
            "name": format!("{node}/{pool}"), "generation": 1, "resourceSliceCount": count,
        });
        json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
            "metadata": {
                "name": format!("{node}-{index}"),
                "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid}],
            },
            "spec": spec,
        })
    };
    template.iter().enumerate().map(for_node).collect()
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slices_of_a_template_become_those_of_a_node() {
        let slice = |pool: &str, devices: &[&str]| {
            let devices: Vec<_> = devices.iter().map(|name| json!({"name": name})).collect();
            json!({"spec": {"driver": "gpu.example.com", "nodeName": "gpu",
                "pool": {"name": pool, "generation": 7, "resourceSliceCount": 9}, "devices": devices}})
        };
        let template = [slice("a", &["0", "1"]), slice("b", &["0"]), slice("a", &["2"])];
        let found = slices_of("n-3", &json!("u"), &template);
        let place = |slice: &Value| {
            let pool = &slice["spec"]["pool"];
            json!([slice["metadata"]["name"], pool["name"], pool["generation"], pool["resourceSliceCount"]])
        };
        let places: Vec<_> = found.iter().map(place).collect();
        assert_eq!(
            places,
            [
                json!(["n-3-0", "n-3/a", 1, 2]),
                json!(["n-3-1", "n-3/b", 1, 1]),
                json!(["n-3-2", "n-3/a", 1, 2])
            ]
        );
        for slice in &found {
            assert_eq!(slice["spec"]["nodeName"], "n-3");
            assert_eq!(slice["metadata"]["ownerReferences"][0]["uid"], "u");
        }
        assert_eq!(found[0]["spec"]["devices"], template[0]["spec"]["devices"]);
    }
}
