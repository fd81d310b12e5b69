//! Rewrites plain scalars of a YAML stream so that YAML 1.2 and kubectl read the same values, and detects
//! duplicate keys. Runs before a document is read and after one is written.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use crate::YamlError;
use crate::plain::in_yaml_1_2;

enum Open {
    Sequence,
    /// The line of each key so far, and whether the next node is a key.
    Mapping(HashMap<String, usize>, bool),
}

/// Keeps the line numbers. Returns invalid YAML unchanged, because the parser reports the error.
pub(crate) fn as_kubectl_reads(text: &str) -> Result<String, YamlError> {
    scanned(text, |plain, is_key| in_yaml_1_2(plain).filter(|_| !is_key))
}

pub(crate) fn quoted_for_kubectl(text: &str) -> Result<String, YamlError> {
    scanned(text, |plain, _| in_yaml_1_2(plain).map(|_| format!("'{plain}'")))
}

/// `replacement` receives the text of each scalar, and whether the scalar is a key.
fn scanned(text: &str, replacement: impl Fn(&str, bool) -> Option<String>) -> Result<String, YamlError> {
    let mut open: Vec<Open> = Vec::new();
    let mut edits: Vec<(Span, String)> = Vec::new();
    for event in Parser::new_from_str(text) {
        let Ok((event, span)) = event else { return Ok(text.to_owned()) };
        match event {
            Event::Scalar(value, style, _, tag) => {
                let is_key = matches!(open.last(), Some(Open::Mapping(_, true)));
                if let Some(Open::Mapping(keys, true)) = open.last_mut() {
                    let (line, column) = (span.start.line(), span.start.col() + 1);
                    if let Some(first) = keys.insert(value.to_string(), line) {
                        return Err(YamlError::DuplicateKey { key: value.into(), line, column, first });
                    }
                }
                if style == ScalarStyle::Plain && tag.is_none() {
                    edits.extend(replacement(&value, is_key).map(|edit| (span, edit)));
                }
                end_node(&mut open);
            }
            Event::Alias(_) => end_node(&mut open),
            Event::SequenceStart(..) => open.push(Open::Sequence),
            Event::MappingStart(..) => open.push(Open::Mapping(HashMap::new(), true)),
            Event::SequenceEnd | Event::MappingEnd => {
                open.pop();
                end_node(&mut open);
            }
            _ => {}
        }
    }
    Ok(edited(text, &edits))
}

/// In a mapping, keys and values alternate.
fn end_node(open: &mut [Open]) {
    if let Some(Open::Mapping(_, is_key)) = open.last_mut() {
        *is_key = !*is_key;
    }
}

/// The spans must be in order.
fn edited(text: &str, edits: &[(Span, String)]) -> String {
    let mut edits = edits.iter().peekable();
    let mut out = String::with_capacity(text.len());
    for (index, c) in text.chars().enumerate() {
        if let Some((_, edit)) = edits.next_if(|(span, _)| span.end.index() <= index) {
            out.push_str(edit);
        }
        if edits.peek().is_none_or(|(span, _)| index < span.start.index()) {
            out.push(c);
        }
    }
    edits.for_each(|(_, edit)| out.push_str(edit));
    out
}
