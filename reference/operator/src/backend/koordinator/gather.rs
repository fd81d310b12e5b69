//! Koordinator can honour one required layer for the whole GangGroup (KOORD-03). A constraint that
//! Koordinator would ignore is refused, so that a PodGang that bypassed admission fails closed (KOORD-05).

use std::collections::BTreeSet;

use grove_api::PodGang;
use kube::ResourceExt;
use serde_json::json;

use super::layers::{Layer, LayerMappings};
use crate::backend::BackendError;
use crate::backend::domain::pack_keys;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Gather {
    pub required: Option<Layer>,
    /// Koordinator 1.8 ignores the preferred layer.
    pub preferred: Option<Layer>,
    pub warnings: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
#[error("ClusterNetworkTopology default declares no layer {}", .0.as_str())]
pub(super) struct UndeclaredLayer(Layer);

impl Gather {
    /// An undeclared required layer is an error: Koordinator would leave the gang pending indefinitely.
    pub(super) fn within(&self, declared: &BTreeSet<String>) -> Result<Self, UndeclaredLayer> {
        let mut gather = self.clone();
        let undeclared = |layer: &Layer| !declared.contains(layer.as_str());
        if let Some(layer) = self.required.filter(undeclared) {
            return Err(UndeclaredLayer(layer));
        }
        if let Some(layer) = gather.preferred.take_if(|layer| undeclared(layer)) {
            gather
                .warnings
                .push(format!("{}: the operator ignores the preferred level", UndeclaredLayer(layer)));
        }
        Ok(gather)
    }

    pub(super) fn network_topology_spec(&self) -> Option<String> {
        let rule = |layer: Layer, strategy: &str| json!({"layer": layer, "strategy": strategy});
        let required = self.required.map(|layer| rule(layer, "MustGather"));
        let preferred = self.preferred.filter(|layer| self.required != Some(*layer));
        let rules: Vec<_> =
            required.into_iter().chain(preferred.map(|layer| rule(layer, "PreferGather"))).collect();
        (!rules.is_empty()).then(|| json!({ "gatherStrategy": rules }).to_string())
    }
}

/// Converts constraints to layers. An unknown required level is an error, an unknown preferred one a warning.
pub(super) fn gather(pod_gang: &PodGang, mappings: &LayerMappings) -> Result<Gather, BackendError> {
    let refused = |reason: String| {
        BackendError::Refused(format!("PodGang {}: Koordinator {reason}", pod_gang.name_any()))
    };
    let spec = &pod_gang.spec;
    if let Some(config) = spec.topology_constraint_group_configs.first() {
        let reason = format!("cannot keep a part of a gang, topology group {}, in one domain", config.name);
        return Err(refused(reason));
    }
    let mut own = spec.podgroups.iter().map(|podgroup| pack_keys(podgroup.topology_constraint.as_ref()));
    let own = own.find(|keys| *keys != (None, None));
    if own.is_some() && spec.podgroups.len() > 1 {
        let reason = "honours one topology for all podgroups of a gang, not one for each".to_owned();
        return Err(refused(reason));
    }
    // If the gang has only one podgroup, that podgroup's level lies within the PodGang's level (ADM-07).
    let (required, preferred) = own.unwrap_or_default();
    let whole = pack_keys(spec.topology_constraint.as_ref());
    let mut gather = Gather::default();
    if let Some(key) = required.or(whole.0) {
        let layer = mappings.layer(key);
        gather.required =
            Some(layer.ok_or_else(|| refused(format!("has no layer for the required level {key}")))?);
    }
    if let Some(key) = preferred.or(whole.1) {
        gather.preferred = mappings.layer(key);
        if gather.preferred.is_none() {
            gather.warnings.push(format!(
                "Koordinator has no layer for the preferred level {key}: the operator ignores it"
            ));
        }
    }
    Ok(gather)
}

#[cfg(test)]
#[path = "gather_tests.rs"]
mod tests;
