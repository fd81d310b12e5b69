//! Converts Rust types to structural schemas, which allow no `$ref`, no `null` for an `Option` and no `oneOf`
//! for an enum. References are resolved last, because `core_schema` finds Kubernetes types by name.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use kube::core::{Rule, object::HasSpec, object::HasStatus};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::core_schema;

const TYPES: &str = "#/$defs/";

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

/// Inlines all references, and replaces nullable types and `oneOf` enums.
fn resolve(schema: Value, types: &Map<String, Value>) -> Value {
    let Value::Object(mut schema) = schema else {
        return schema;
    };
    if let Some(base) = base_of(&mut schema, types) {
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

/// Removes the reference from `schema`: a plain `$ref`, or the non-null side of an `Option`'s `anyOf`.
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
