//! Replaces placeholders such as `{version}`. Other braces are plain text.

use std::collections::BTreeMap;

pub type Values = BTreeMap<&'static str, String>;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown placeholder {{{name}}}; known: {known}")]
pub struct UnknownPlaceholder {
    name: String,
    known: String,
}

pub fn fill(text: &str, values: &Values) -> Result<String, UnknownPlaceholder> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, from) = rest.split_at(open);
        filled.push_str(before);
        let name = from[1..].split_once('}').map(|(name, _)| name).filter(|name| is_name(name));
        match name {
            Some(name) => {
                let unknown = || UnknownPlaceholder { name: name.to_owned(), known: known(values) };
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

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c == '-')
}

fn known(values: &Values) -> String {
    values.keys().map(|name| format!("{{{name}}}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Values {
        [("config", "C".to_owned()), ("webhook-port", "1005".to_owned())].into()
    }

    #[rstest::rstest]
    #[case("--config={config}", "--config=C")]
    #[case("{config}{config}:{webhook-port}", "CC:1005")]
    #[case(r#"{"a": {}}"#, r#"{"a": {}}"#)]
    #[case("{A} { config } {", "{A} { config } {")]
    #[case("", "")]
    fn placeholders_are_filled_and_other_braces_kept(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(fill(text, &values()).unwrap(), expected);
    }

    #[test]
    fn an_unknown_placeholder_is_an_error() {
        let error = fill("--x={webhook}", &values()).unwrap_err().to_string();
        assert_eq!(error, "unknown placeholder {webhook}; known: {config}, {webhook-port}");
    }
}
