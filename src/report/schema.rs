//! The published JSON Schemas, from `model`, `evidence` and `compact`. A test compares those in `docs/`;
//! `UPDATE_SCHEMA=1 cargo test published_schema` writes them.

use schemars::schema_for;

use super::{CompactReport, Evidence, Report};

/// The JSON Schema (draft 2020-12) of [`Report`].
pub fn schema() -> serde_json::Value {
    schema_for!(Report).to_value()
}

/// The JSON Schema (draft 2020-12) of [`Evidence`].
pub fn evidence_schema() -> serde_json::Value {
    schema_for!(Evidence).to_value()
}

/// The JSON Schema (draft 2020-12) of [`CompactReport`].
pub fn compact_schema() -> serde_json::Value {
    schema_for!(CompactReport).to_value()
}

#[cfg(test)]
mod tests {
    use super::*;
    use conformance_contract::clauses::Feature;

    #[test]
    fn the_published_schema_is_up_to_date() {
        for (name, schema) in
            [("report", schema()), ("evidence", evidence_schema()), ("compact", compact_schema())]
        {
            let path = format!("{}/../../docs/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
            let derived = format!("{schema:#}\n");
            if std::env::var_os("UPDATE_SCHEMA").is_some() {
                std::fs::write(&path, &derived).unwrap();
            }
            let published = std::fs::read_to_string(path).unwrap_or_default();
            assert!(
                published == derived,
                "docs/{name}.schema.json is out of date: UPDATE_SCHEMA=1 cargo test published_schema"
            );
        }
    }

    #[test]
    fn the_schema_names_every_verdict_level_and_feature() {
        let schema = schema();
        for (name, count) in [("Verdict", 7), ("Level", 2), ("Feature", Feature::ALL.len())] {
            let values = schema.pointer(&format!("/$defs/{name}/oneOf")).and_then(|values| values.as_array());
            assert_eq!(values.map(Vec::len), Some(count), "{name}");
        }
        let clause = schema.pointer("/$defs/ClauseResult/properties/verdict");
        assert!(clause.is_some(), "the outcome is flattened into the clause");
    }
}
