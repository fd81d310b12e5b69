use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::backend::names::is_label_key;

const WELL_KNOWN: [(&str, Layer); 3] = [
    ("kubernetes.io/hostname", Layer::Host),
    ("topology.kubernetes.io/rack", Layer::Rack),
    ("topology.kubernetes.io/block", Layer::Block),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Layer {
    #[serde(rename = "hostLayer")]
    Host,
    #[serde(rename = "rackLayer")]
    Rack,
    #[serde(rename = "blockLayer")]
    Block,
}

impl Layer {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Host => "hostLayer",
            Self::Rack => "rackLayer",
            Self::Block => "blockLayer",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "BTreeMap<String, Layer>")]
pub struct LayerMappings(BTreeMap<String, Layer>);

impl LayerMappings {
    pub fn layer(&self, key: &str) -> Option<Layer> {
        well_known(key).or_else(|| self.0.get(key).copied())
    }
}

impl TryFrom<BTreeMap<String, Layer>> for LayerMappings {
    type Error = String;

    fn try_from(mappings: BTreeMap<String, Layer>) -> Result<Self, Self::Error> {
        for (key, layer) in &mappings {
            if !is_label_key(key) {
                return Err(format!("{key:?}: must be the key of a node label"));
            }
            if let Some(own) = well_known(key).filter(|own| own != layer) {
                return Err(format!("{key:?} is {} and cannot be {}", own.as_str(), layer.as_str()));
            }
        }
        Ok(Self(mappings))
    }
}

fn well_known(key: &str) -> Option<Layer> {
    WELL_KNOWN.iter().find(|(known, _)| *known == key).map(|(_, layer)| *layer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("kubernetes.io/hostname", Some(Layer::Host))]
    #[case("topology.kubernetes.io/rack", Some(Layer::Rack))]
    #[case("topology.kubernetes.io/block", Some(Layer::Block))]
    #[case("example.com/row", Some(Layer::Block))]
    #[case("topology.kubernetes.io/zone", None)]
    #[case("hostname", None)]
    fn keys_map_to_layers(#[case] key: &str, #[case] layer: Option<Layer>) {
        let mappings = BTreeMap::from([("example.com/row".to_owned(), Layer::Block)]);
        assert_eq!(LayerMappings::try_from(mappings).unwrap().layer(key), layer);
    }

    #[test]
    fn names_are_those_of_the_configuration() {
        for layer in [Layer::Host, Layer::Rack, Layer::Block] {
            assert_eq!(serde_json::to_value(layer).unwrap(), layer.as_str());
        }
    }
}
