use conformance_programs::source::UnknownPlaceholder;
pub(super) use conformance_programs::source::{Values, fill};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::error::InvalidDescription;

const NAMES: [&str; 13] = [
    "kubeconfig",
    "config",
    "cert-dir",
    "webhook-port",
    "health-port",
    "metrics-port",
    "webhook-url",
    "ca-bundle",
    "namespace",
    "dir",
    "version",
    "commit",
    "backends",
];

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Configuration {
    pub template: Value,
    /// JSON pointer to the list in the template that receives the profile of each enabled backend.
    pub profiles: Option<String>,
}

impl Configuration {
    /// `field` is the name of [`Configuration::profiles`] in messages.
    pub(super) fn check(&self, field: &'static str) -> Result<(), InvalidDescription> {
        let is_list = |pointer: &String| self.template.pointer(pointer).is_some_and(Value::is_array);
        match self.profiles.as_ref().filter(|pointer| !is_list(pointer)) {
            Some(pointer) => Err(InvalidDescription::NoList { field, pointer: pointer.clone() }),
            None => Ok(()),
        }
    }
}

/// A string that is only a port becomes a number.
pub(super) fn fill_value(value: &Value, values: &Values) -> Result<Value, UnknownPlaceholder> {
    Ok(match value {
        Value::String(text) => {
            let filled = fill(text, values)?;
            match filled.parse::<u16>() {
                Ok(port) if text.starts_with('{') && text.ends_with("-port}") => port.into(),
                _ => filled.into(),
            }
        }
        Value::Array(items) => {
            items.iter().map(|item| fill_value(item, values)).collect::<Result<Vec<_>, _>>()?.into()
        }
        Value::Object(fields) => {
            let mut filled = Map::new();
            for (name, value) in fields {
                filled.insert(name.clone(), fill_value(value, values)?);
            }
            filled.into()
        }
        other => other.clone(),
    })
}

pub(super) fn any() -> Values {
    NAMES.into_iter().map(|name| (name, "1".to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_string_that_is_a_port_becomes_a_number() {
        let values = [("webhook-port", "1005".to_owned())].into();
        let value = json!({"port": "{webhook-port}", "bind": ["127.0.0.1:{webhook-port}"], "n": 7});
        let expected = json!({"port": 1005, "bind": ["127.0.0.1:1005"], "n": 7});
        assert_eq!(fill_value(&value, &values).unwrap(), expected);
    }
}
