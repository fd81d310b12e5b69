//! From Rust types to structural schemas, the dialect of JSON Schema that CustomResourceDefinitions are written in.
//!
//! The derived schema refers to types by `$ref`, says `null` for every `Option` and `oneOf` for every enum; a
//! structural schema may do none of that. Type names are kept until the last step, so that `core_schema` can say what it knows of
//! Kubernetes' own types by their names.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use kube::core::{Rule, object::HasSpec, object::HasStatus};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::core_schema;

/// Where the generator keeps the types that `$ref` points to.
const TYPES: &str = "#/$defs/";

/// The schema of kind `K` with CEL `rules` on its root.
///
/// # Errors
/// Only if the generated schema is no JSONSchemaProps, which a test excludes for the kinds there are.
pub(super) fn structural<K>(description: &str, rules: &[Rule]) -> serde_json::Result<JSONSchemaProps>
where
    K: HasSpec + HasStatus,
    K::Spec: JsonSchema,
    K::Status: JsonSchema,
{
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let spec = generator.subschema_for::<K::Spec>().to_value();
    let status = generator.subschema_for::<K::Status>().to_value();
    let mut types = generator.take_definitions(false);
    core_schema::annotate(&mut types);

    let mut root = json!({
        "description": description,
        "type": "object",
        "required": ["spec"],
        "properties": { "spec": resolve(spec, &types), "status": resolve(status, &types) },
    });
    if !rules.is_empty() {
        root["x-kubernetes-validations"] = serde_json::to_value(rules)?;
    }
    serde_json::from_value(root)
}

/// Puts types in the place of references and rewrites what a structural schema cannot say.
fn resolve(schema: Value, types: &Map<String, Value>) -> Value {
    let Value::Object(mut schema) = schema else {
        return schema;
    };
    if let Some(base) = base_of(&mut schema, types) {
        // What a field says of itself (description, default) wins over what its type says.
        let Value::Object(mut merged) = base else {
            return base;
        };
        merged.extend(schema);
        return resolve(Value::Object(merged), types);
    }
    schema.remove("title");
    if let Some(Value::Array(alternatives)) = schema.get("type")
        && let Some(not_null) = alternatives.iter().find(|alternative| *alternative != "null").cloned()
    {
        schema.insert("type".to_owned(), not_null);
    }
    if let Some(Value::Array(variants)) = schema.remove("oneOf") {
        let names: Vec<Value> = variants.iter().filter_map(|variant| variant.get("const").cloned()).collect();
        schema.insert("type".to_owned(), json!("string"));
        schema.insert("enum".to_owned(), names.into());
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(|property| *property = resolve(property.take(), types));
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get_mut(keyword) {
            *inner = resolve(inner.take(), types);
        }
    }
    Value::Object(schema)
}

/// Takes the reference out of `schema`: a plain `$ref`, or the non-null side of an `Option`'s `anyOf`.
fn base_of(schema: &mut Map<String, Value>, types: &Map<String, Value>) -> Option<Value> {
    if let Some(Value::String(reference)) = schema.remove("$ref") {
        return types.get(reference.strip_prefix(TYPES)?).cloned();
    }
    let alternatives = schema.get("anyOf")?.as_array()?;
    let [base, null] = alternatives.as_slice() else {
        return None;
    };
    if *null != json!({ "type": "null" }) {
        return None;
    }
    let base = base.clone();
    schema.remove("anyOf");
    Some(base)
}
