//! One pass over a stream before it is read or after it was written: plain scalars are put into a form that YAML 1.2 and kubectl
//! read alike, and keys are counted.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use crate::YamlError;
use crate::plain::in_yaml_1_2;

/// A collection that is open.
enum Open {
    Sequence,
    /// The lines of the keys so far, and whether the next node is a key.
    Mapping(HashMap<String, usize>, bool),
}

/// The text with its plain scalars as kubectl reads them, line by line where it was. What is no YAML is left to the reader.
///
/// # Errors
/// [`YamlError::DuplicateKey`].
pub(crate) fn as_kubectl_reads(text: &str) -> Result<String, YamlError> {
    scanned(text, |plain, is_key| in_yaml_1_2(plain).filter(|_| !is_key))
}

/// The text, which a writer of YAML 1.2 has written, with quotes around the plain strings that kubectl would take for something else.
///
/// # Errors
/// None for what a writer has written: [`YamlError::DuplicateKey`].
pub(crate) fn quoted_for_kubectl(text: &str) -> Result<String, YamlError> {
    scanned(text, |plain, _| in_yaml_1_2(plain).map(|_| format!("'{plain}'")))
}

/// The text with plain scalars replaced; of each its text is given, and whether it is a key.
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
                is_complete(&mut open);
            }
            Event::Alias(_) => is_complete(&mut open),
            Event::SequenceStart(..) => open.push(Open::Sequence),
            Event::MappingStart(..) => open.push(Open::Mapping(HashMap::new(), true)),
            Event::SequenceEnd | Event::MappingEnd => {
                open.pop();
                is_complete(&mut open);
            }
            _ => {}
        }
    }
    Ok(edited(text, &edits))
}

/// A node has ended: in a mapping, a value follows a key and a key a value.
fn is_complete(open: &mut [Open]) {
    if let Some(Open::Mapping(_, is_key)) = open.last_mut() {
        *is_key = !*is_key;
    }
}

/// The text with these spans, which are in order, replaced.
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
