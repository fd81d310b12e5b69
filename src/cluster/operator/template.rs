//! Placeholders in a description: `{webhook-port}`, `{kubeconfig}` and the like. Braces around anything but lower-case
//! letters and dashes are text.

use std::collections::BTreeMap;

use serde_json::Value;

/// Every placeholder there is.
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

/// The value of each placeholder.
pub(super) type Values = BTreeMap<&'static str, String>;

/// The text with its placeholders filled.
///
/// # Errors
/// The placeholder that has no value.
pub(super) fn fill(text: &str, values: &Values) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, from) = rest.split_at(open);
        filled.push_str(before);
        let name = from[1..].split_once('}').map(|(name, _)| name).filter(|name| is_name(name));
        match name {
            Some(name) => {
                let unknown = || format!("{{{name}}} has no value here; there are {}", known(values));
                filled.push_str(values.get(name).ok_or_else(unknown)?);
                rest = &from[name.len() + 2..];
            }
            None => {
                filled.push('{');
                rest = &from[1..];
            }
        }
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The value with the placeholders in all its strings filled; a string that is nothing but a port is a number.
///
/// # Errors
/// As [`fill`].
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

/// Values for every placeholder, to find out whether a text has one that does not exist.
pub(super) fn any() -> Values {
    NAMES.into_iter().map(|name| (name, "1".to_owned())).collect()
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

fn known(values: &Values) -> String {
    values.keys().map(|name| format!("{{{name}}}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn values() -> Values {
        [("config", "C".to_owned()), ("webhook-port", "1005".to_owned())].into()
    }

    #[rstest]
    #[case("--config={config}", "--config=C")]
    #[case("{config}{config}:{webhook-port}", "CC:1005")]
    #[case(r#"{"a": {}}"#, r#"{"a": {}}"#)]
    #[case("{A} { config } {", "{A} { config } {")]
    #[case("", "")]
    fn filled(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(fill(text, &values()).unwrap(), expected);
    }

    #[test]
    fn a_placeholder_that_does_not_exist_is_named() {
        let error = fill("--x={webhook}", &values()).unwrap_err();
        assert_eq!(error, "{webhook} has no value here; there are {config}, {webhook-port}");
    }

    #[test]
    fn a_port_alone_is_a_number() {
        let value = json!({"port": "{webhook-port}", "bind": ["127.0.0.1:{webhook-port}"], "n": 7});
        let expected = json!({"port": 1005, "bind": ["127.0.0.1:1005"], "n": 7});
        assert_eq!(fill_value(&value, &values()).unwrap(), expected);
    }
}
