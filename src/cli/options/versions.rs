use std::borrow::Cow;
use std::sync::LazyLock;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use conformance_contract::kubernetes::Kubernetes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Versions {
    One(Kubernetes),
    /// Every released version, one after the other, in one report.
    All,
}

impl ValueEnum for Versions {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<Versions>> = LazyLock::new(|| {
            Kubernetes::WITH_PREVIEWS.map(Versions::One).into_iter().chain([Versions::All]).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::One(version) => PossibleValue::new(version.minor()).help(version.about()),
            Self::All => {
                PossibleValue::new("all").help("Every released version, one after the other, in one report")
            }
        })
    }
}

impl<'de> Deserialize<'de> for Versions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(word) => Self::from_str(&word, false).map_err(|_| {
                D::Error::custom(format!("unknown version {word:?}: expected {}", Self::names().join(", ")))
            }),
            // YAML reads 1.40 as the number 1.4.
            other => Err(D::Error::custom(format!("expected a string: put the version {other} in quotes"))),
        }
    }
}

impl JsonSchema for Versions {
    fn schema_name() -> Cow<'static, str> {
        "Versions".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "enum": Self::names()})
    }
}

impl From<Kubernetes> for Versions {
    fn from(version: Kubernetes) -> Self {
        Self::One(version)
    }
}

impl Versions {
    pub(crate) fn all(self) -> Vec<Kubernetes> {
        match self {
            Self::One(version) => vec![version],
            Self::All => Kubernetes::ALL.into(),
        }
    }

    fn names() -> Vec<String> {
        let names = Self::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        names.map(|name| name.get_name().to_owned()).collect()
    }
}
