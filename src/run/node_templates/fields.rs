use std::collections::BTreeMap;

use conformance_facts::quantity::{ONE, amount};
use serde_json::{Map, Value};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) path: String,
    pub(super) reason: String,
}

pub(super) fn wrong(path: impl Into<String>, reason: impl Into<String>) -> Wrong {
    Wrong { path: path.into(), reason: reason.into() }
}

/// The known fields are `used` and `ignored`. An error lists those in `used`. The mapping may be absent.
pub(super) fn mapping<'a>(
    value: &'a Value,
    path: &str,
    used: &[&str],
    ignored: &[&str],
) -> Result<Option<&'a Map<String, Value>>, Wrong> {
    let Some(fields) = optional(value, path)? else { return Ok(None) };
    let is_known = |field: &&String| used.contains(&field.as_str()) || ignored.contains(&field.as_str());
    match fields.keys().find(|field| !is_known(field)) {
        Some(field) => {
            let path = if path.is_empty() { field.clone() } else { format!("{path}.{field}") };
            Err(wrong(path, format!("unknown field: use one of {}, or remove it", used.join(", "))))
        }
        None => Ok(Some(fields)),
    }
}

fn optional<'a>(value: &'a Value, path: &str) -> Result<Option<&'a Map<String, Value>>, Wrong> {
    match value {
        Value::Null => Ok(None),
        Value::Object(fields) => Ok(Some(fields)),
        other => Err(wrong(path, format!("{other} is not a mapping: write KEY: VALUE lines"))),
    }
}

pub(super) fn items<'a>(value: &'a Value, path: &str) -> Result<&'a [Value], Wrong> {
    match value {
        Value::Null => Ok(&[]),
        Value::Array(items) => Ok(items),
        other => Err(wrong(path, format!("{other} is not a list: start each element with a dash"))),
    }
}

pub(super) fn labels(value: &Value, path: &str) -> Result<BTreeMap<String, String>, Wrong> {
    let mut labels = BTreeMap::new();
    for (key, value) in optional(value, path)?.into_iter().flatten() {
        let path = format!("{path}[{key:?}]");
        if !is_key(key) {
            return Err(wrong(path, "the API server rejects this key: use NAME or DOMAIN/NAME"));
        }
        let Some(text) = value.as_str() else {
            return Err(wrong(path, format!("{value} is not a string: write \"{value}\" in quotes")));
        };
        if !text.is_empty() && !is_name(text) {
            let rule = "at most 63 letters, digits, dashes, underscores and dots";
            return Err(wrong(path, format!("the API server rejects {text:?}: use {rule}")));
        }
        labels.insert(key.clone(), text.to_owned());
    }
    Ok(labels)
}

pub(super) fn quantities(fields: &Map<String, Value>, path: &str) -> Result<BTreeMap<String, String>, Wrong> {
    let mut quantities = BTreeMap::new();
    for (resource, value) in fields {
        let path = format!("{path}[{resource:?}]");
        let Some(found) = amount(value) else {
            let advice = "write an amount such as 8, 500m or 64Gi";
            return Err(wrong(path, format!("{value} is not a quantity: {advice}")));
        };
        if found < 0 {
            return Err(wrong(path, format!("{value} is negative: write an amount such as 8")));
        }
        let is_counted = resource == "pods" || resource.contains('/');
        if is_counted && found % ONE != 0 {
            return Err(wrong(path, format!("{value} is not a whole number: write an integer such as 8")));
        }
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        quantities.insert(resource.clone(), text);
    }
    Ok(quantities)
}

pub(super) fn is_key(key: &str) -> bool {
    let is_domain =
        |domain: &str| domain.len() <= 253 && !domain.contains('_') && domain.split('.').all(is_name);
    match key.split_once('/') {
        Some((domain, name)) => is_domain(domain) && is_name(name),
        None => is_name(key),
    }
}

fn is_name(text: &str) -> bool {
    let is_end = |end: Option<char>| end.is_some_and(|letter| letter.is_ascii_alphanumeric());
    let mut letters = text.chars();
    text.len() <= 63
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
        && is_end(letters.next())
        && is_end(text.chars().next_back())
}
