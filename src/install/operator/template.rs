//! Placeholders in a description: `{webhook-port}`, `{kubeconfig}` and others.

pub(super) use conformance_programs::source::{Values, fill};

use serde_json::Value;

pub(super) const NAMES: [&str; 13] = [
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

/// Fills the placeholders in all strings of a value. A string that is only a port becomes a number.
pub(super) fn fill_value(value: &Value, values: &Values) -> Result<Value, String> {
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
            let field = |(name, value): (&String, &Value)| Ok((name.clone(), fill_value(value, values)?));
            Value::Object(fields.iter().map(field).collect::<Result<_, String>>()?)
        }
        other => other.clone(),
    })
}

/// A value for every placeholder, to find placeholders that do not exist.
pub(super) fn any() -> Values {
    NAMES.into_iter().map(|name| (name, "1".to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_port_alone_is_a_number() {
        let values = [("webhook-port", "1005".to_owned())].into();
        let value = json!({"port": "{webhook-port}", "bind": ["127.0.0.1:{webhook-port}"], "n": 7});
        let expected = json!({"port": 1005, "bind": ["127.0.0.1:1005"], "n": 7});
        assert_eq!(fill_value(&value, &values).unwrap(), expected);
    }
}
