//! The fields of the configuration file, from its schema.

use serde_json::{Map, Number, Value};

use crate::options::RunOptions;
use crate::{Failure, unknown};

pub(super) struct Fields {
    schema: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Boolean,
    Number,
    /// Separated by commas.
    List,
    Text,
    /// A section, or a map of names.
    Object,
}

impl Fields {
    pub(super) fn of_runs() -> Self {
        Self { schema: schemars::schema_for!(RunOptions).to_value() }
    }

    /// Sets a field in `tree`. `word` is its path and its value, such as `cluster.oneEtcd=true`.
    pub(super) fn set(&self, tree: &mut Value, word: &str) -> Result<(), Failure> {
        let usage = |reason: &str| Failure::Usage(format!("--set {word}: {reason}"));
        let Some((path, text)) = word.split_once('=') else {
            return Err(usage("expected FIELD=VALUE, e.g. cluster.oneEtcd=true"));
        };
        let schema = self.at(path).map_err(|reason| usage(&reason))?;
        let value =
            value_of(kind(schema), text).map_err(|expected| usage(&format!("expected {expected}")))?;
        let mut place = tree;
        for name in path.split('.') {
            if !place.is_object() {
                *place = Value::Object(Map::new());
            }
            place = &mut place[name];
        }
        *place = value;
        Ok(())
    }

    pub(super) fn check_names(&self, document: &Value) -> Result<(), String> {
        self.check_below(document, self.resolved(&self.schema), "")
    }

    fn check_below(&self, value: &Value, schema: &Value, above: &str) -> Result<(), String> {
        let (Some(fields), Some(_)) = (value.as_object(), schema["properties"].as_object()) else {
            return Ok(());
        };
        for (name, value) in fields {
            self.check_below(value, self.field(schema, name, above)?, &format!("{above}{name}."))?;
        }
        Ok(())
    }

    pub(super) fn at(&self, path: &str) -> Result<&Value, String> {
        let (mut schema, mut above) = (self.resolved(&self.schema), String::new());
        for name in path.split('.') {
            schema = self.field(schema, name, &above)?;
            above.push_str(name);
            above.push('.');
        }
        Ok(schema)
    }

    /// `above` is the path of the object, for errors.
    fn field<'a>(&'a self, object: &'a Value, name: &str, above: &str) -> Result<&'a Value, String> {
        if let Some(field) = object["properties"].get(name) {
            return Ok(self.resolved(field));
        }
        if object["additionalProperties"].is_object() {
            return Ok(self.resolved(&object["additionalProperties"]));
        }
        let known = object["properties"].as_object().into_iter().flat_map(Map::keys);
        let known: Vec<_> = known.map(|known| format!("{above}{known}")).collect();
        if known.is_empty() {
            return Err(format!(
                "unknown key \"{above}{name}\": {} has no fields",
                above.trim_end_matches('.')
            ));
        }
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        Err(unknown::name("key", &format!("{above}{name}"), &known, "").to_string())
    }

    /// Follows references. For an optional field, returns the schema of its value.
    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        if let Some(reference) = schema["$ref"].as_str().and_then(|text| text.strip_prefix('#')) {
            return self.schema.pointer(reference).map_or(schema, |found| self.resolved(found));
        }
        let some = |all: &'a Vec<Value>| all.iter().find(|one| one["type"] != "null");
        schema["anyOf"].as_array().and_then(some).map_or(schema, |found| self.resolved(found))
    }
}

fn kind(schema: &Value) -> Kind {
    let is = |name: &str| match &schema["type"] {
        Value::Array(names) => names.iter().any(|known| known == name),
        known => known == name,
    };
    match () {
        () if is("boolean") => Kind::Boolean,
        () if is("integer") || is("number") => Kind::Number,
        () if is("array") => Kind::List,
        () if is("object") => Kind::Object,
        () => Kind::Text,
    }
}

/// The error names what was expected.
fn value_of(kind: Kind, text: &str) -> Result<Value, &'static str> {
    match kind {
        Kind::Boolean => text.parse().map(Value::Bool).map_err(|_| "true or false"),
        Kind::Number => {
            let whole = text.parse::<u64>().ok().map(Number::from);
            let number = whole.or_else(|| text.parse().ok().and_then(Number::from_f64));
            number.map(Value::Number).ok_or("a number")
        }
        Kind::List => Ok(text.split(',').map(Value::from).collect()),
        Kind::Text => Ok(text.into()),
        Kind::Object => Err("a field below it, such as cluster.oneEtcd"),
    }
}
