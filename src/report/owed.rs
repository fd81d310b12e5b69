//! Who owes a clause, as reports of version v1alpha1 write it.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use conformance_contract::clauses::{Clause, Feature};

/// Which of the backends that a clause speaks about owe it. Written `core` or `ext:<Feature>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Owed {
    /// All of them.
    Core,
    /// Those that declare the feature; for the others the clause is *unsupported*, never *pass*.
    Extended(Feature),
}

impl Owed {
    /// As the contract says.
    pub fn of(clause: &Clause) -> Self {
        clause.feature.map_or(Owed::Core, Owed::Extended)
    }

    /// The feature of an extended clause.
    pub fn feature(self) -> Option<Feature> {
        match self {
            Owed::Core => None,
            Owed::Extended(feature) => Some(feature),
        }
    }
}

impl fmt::Display for Owed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Owed::Core => f.pad("core"),
            Owed::Extended(feature) => f.pad(&format!("ext:{feature}")),
        }
    }
}

impl From<Owed> for String {
    fn from(owed: Owed) -> Self {
        owed.to_string()
    }
}

impl TryFrom<String> for Owed {
    type Error = UnknownOwed;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.strip_prefix("ext:") {
            None if text == "core" => Ok(Owed::Core),
            Some(name) if let Ok(feature) = name.parse() => Ok(Owed::Extended(feature)),
            _ => Err(UnknownOwed(text)),
        }
    }
}

impl JsonSchema for Owed {
    fn schema_name() -> Cow<'static, str> {
        "Level".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let levels: Vec<String> = std::iter::once(Owed::Core)
            .chain(Feature::ALL.into_iter().map(Owed::Extended))
            .map(String::from)
            .collect();
        json_schema!({
            "description": "Which of the backends that the clause speaks about owe it: all (core), or those that declare the feature.",
            "type": "string",
            "enum": levels,
        })
    }
}

/// A level that is neither `core` nor `ext:` with a known feature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown level {0:?}: expected core or ext:<Feature>")]
pub struct UnknownOwed(pub String);

#[cfg(test)]
mod tests {
    use conformance_contract::clauses::CLAUSES;

    use super::*;

    #[test]
    fn it_is_read_as_it_is_written() {
        for owed in CLAUSES.iter().map(Owed::of) {
            assert_eq!(Owed::try_from(owed.to_string()), Ok(owed));
        }
        let unknown = Owed::try_from("ext:Telepathy".to_owned());
        assert_eq!(unknown, Err(UnknownOwed("ext:Telepathy".to_owned())));
    }
}
