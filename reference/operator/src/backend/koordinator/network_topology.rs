//! koord-scheduler reads one ClusterNetworkTopology, `default`, which only the administrator writes.

use std::collections::BTreeSet;

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use serde_json::Value;

use crate::backend::BackendError;

const NAME: &str = "default";

pub(super) async fn declared_layers(client: &Client) -> Result<BTreeSet<String>, BackendError> {
    let kind = GroupVersionKind::gvk("scheduling.koordinator.sh", "v1alpha1", "ClusterNetworkTopology");
    let resource = ApiResource::from_gvk_with_plural(&kind, "clusternetworktopologies");
    let found = Api::<DynamicObject>::all_with(client.clone(), &resource).get_opt(NAME).await;
    let found = found
        .map_err(|source| BackendError::Api { action: format!("get {} {NAME}", resource.kind), source })?;
    Ok(found.map(|topology| layers(&topology.data)).unwrap_or_default())
}

fn layers(topology: &Value) -> BTreeSet<String> {
    let layers = topology.pointer("/spec/networkTopologySpec").and_then(Value::as_array);
    let names = layers.into_iter().flatten().filter_map(|layer| layer["topologyLayer"].as_str());
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn layers_are_named_by_the_spec() {
        let topology = json!({
            "spec": {"networkTopologySpec": [
                {"topologyLayer": "blockLayer", "labelKey": ["b"]},
                {"topologyLayer": "rackLayer", "parentTopologyLayer": "spineLayer", "labelKey": ["r"]},
            ]},
            "status": {"detailStatus": [{"topologyInfo": {"topologyLayer": "hostLayer"}}]},
        });
        assert_eq!(layers(&topology), BTreeSet::from(["blockLayer".to_owned(), "rackLayer".to_owned()]));
        assert_eq!(layers(&json!({})), BTreeSet::new());
    }
}
