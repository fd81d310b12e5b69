//! Topology constraints as users write them: domains (`rack`, `host`) at PodCliqueSet, scaling group and
//! clique level. A ClusterTopologyBinding maps a domain to a node-label key; a PodGang contains only keys.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The topology, and the domains into which pods must or should be packed.
///
/// The schema requires `pack` or the deprecated `packDomain`. Only one of them may require a domain.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", schemars(extend("x-kubernetes-validations" = [
    {
        "rule": "has(self.pack) || has(self.packDomain)",
        "message": "topologyConstraint must specify pack or deprecated packDomain",
        "fieldPath": ".pack",
        "reason": "FieldValueRequired",
    },
    {
        "rule": "!(has(self.packDomain) && has(self.pack) && has(self.pack.required))",
        "message": "must not set both pack.required and deprecated packDomain",
        "fieldPath": ".pack.required",
    },
])))]
pub struct TopologyConstraint {
    /// Name of the ClusterTopologyBinding that defines the domains; inherited from the PodCliqueSet if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pack: Option<TopologyPackConstraint>,
    /// Deprecated spelling of `pack.required`, refused on new PodCliqueSets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = 63), regex(pattern = r"^[a-z][a-z0-9-]*$"))
    )]
    pub pack_domain: Option<String>,
}

/// A hard and a soft packing domain; at least one of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", schemars(extend("x-kubernetes-validations" = [{
    "rule": "has(self.required) || has(self.preferred)",
    "message": "pack must specify at least one of required or preferred",
    "reason": "FieldValueRequired",
}])))]
pub struct TopologyPackConstraint {
    /// All pods are placed in one instance of this domain, or none is placed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = 63), regex(pattern = r"^[a-z][a-z0-9-]*$"))
    )]
    pub required: Option<String>,
    /// All pods are placed in one instance of this domain if possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = 63), regex(pattern = r"^[a-z][a-z0-9-]*$"))
    )]
    pub preferred: Option<String>,
}

impl TopologyConstraint {
    pub fn required_domain(&self) -> Option<&str> {
        self.pack.as_ref().and_then(|pack| pack.required.as_deref()).or(self.pack_domain.as_deref())
    }

    pub fn preferred_domain(&self) -> Option<&str> {
        self.pack.as_ref().and_then(|pack| pack.preferred.as_deref())
    }

    pub fn referenced_domains(&self) -> impl Iterator<Item = &str> {
        let required = self.required_domain();
        required.into_iter().chain(self.preferred_domain().filter(move |domain| required != Some(domain)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[rstest::rstest]
    #[case(json!({"pack": {"required": "rack"}}), Some("rack"), None, &["rack"])]
    #[case(json!({"pack": {"preferred": "host"}}), None, Some("host"), &["host"])]
    #[case(json!({"pack": {"required": "rack", "preferred": "host"}}), Some("rack"), Some("host"), &["rack", "host"])]
    #[case(json!({"pack": {"required": "rack", "preferred": "rack"}}), Some("rack"), Some("rack"), &["rack"])]
    #[case(json!({"packDomain": "zone"}), Some("zone"), None, &["zone"])]
    #[case(json!({"packDomain": "zone", "pack": {"preferred": "host"}}), Some("zone"), Some("host"), &["zone", "host"])]
    fn domains_come_from_pack_or_pack_domain(
        #[case] constraint: serde_json::Value,
        #[case] required: Option<&str>,
        #[case] preferred: Option<&str>,
        #[case] referenced: &[&str],
    ) {
        let constraint: TopologyConstraint = serde_json::from_value(constraint).unwrap();
        assert_eq!(constraint.required_domain(), required);
        assert_eq!(constraint.preferred_domain(), preferred);
        assert_eq!(constraint.referenced_domains().collect::<Vec<_>>(), referenced);
    }
}
