//! Packs sheets into the page: JSON, compressed with gzip for a browser's `DecompressionStream`, in base64.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Timestamp;
use serde::Serialize;

use super::sheet::Sheet;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Packed {
    pub text: String,
    pub begin: Option<Timestamp>,
    /// Whether the case failed. The timelines of failed cases are dropped last.
    is_failure: bool,
}

impl Packed {
    pub(crate) fn of(sheet: &Sheet<'_>, begin: Option<Timestamp>, is_failure: bool) -> Self {
        Self { text: packed(sheet), begin, is_failure }
    }
}

/// Returns an empty text on an error, which cannot occur in memory. The page then shows an unreadable sheet.
fn packed(sheet: &impl Serialize) -> String {
    let compressed = || {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
        encoder.write_all(&serde_json::to_vec(sheet).ok()?).ok()?;
        encoder.finish().ok()
    };
    STANDARD.encode(compressed().unwrap_or_default())
}

pub(crate) fn length(sheets: &[Packed]) -> usize {
    sheets.iter().map(|sheet| sheet.text.len()).sum()
}

/// Drops timelines until the sheets take at most `limit` bytes: the largest first, failing cases last.
pub(crate) fn limited<'a>(
    mut sheets: Vec<Packed>,
    limit: usize,
    without: impl Fn(usize) -> Sheet<'a>,
) -> Vec<Packed> {
    let mut total = length(&sheets);
    let mut order: Vec<usize> = (0..sheets.len()).collect();
    order.sort_by_key(|index| (sheets[*index].is_failure, std::cmp::Reverse(sheets[*index].text.len())));
    for index in order {
        if total <= limit {
            break;
        }
        let text = packed(&without(index));
        total = total + text.len() - sheets[index].text.len();
        sheets[index].text = text;
    }
    sheets
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use conformance_report::{CaseResult, Features, Judgement, Outcome, TargetReport};
    use flate2::read::GzDecoder;
    use serde_json::Value;

    use super::*;
    use crate::sheet::without_timeline;

    fn read(text: &str) -> Value {
        let mut json = String::new();
        GzDecoder::new(STANDARD.decode(text).unwrap().as_slice()).read_to_string(&mut json).unwrap();
        serde_json::from_str(&json).unwrap()
    }

    #[test]
    fn the_largest_timelines_are_dropped_first_and_those_of_failures_last() {
        let judgement =
            Judgement { clause: "AON-01".into(), outcome: Outcome::pass(), violations: Vec::new() };
        let case = CaseResult::new("aon/fits", "fits", vec![judgement]);
        let target = TargetReport::new("volcano", None, "v1", Features::default());
        let own = packed(&without_timeline(&target, &case)).len();
        let sheet = |length: usize, is_failure| Packed { text: "x".repeat(length), begin: None, is_failure };
        let sheets = vec![sheet(3_000, false), sheet(9_000, true), sheet(5_000, false)];
        let kept = |limit: usize| {
            let limited = limited(sheets.clone(), limit, |_| without_timeline(&target, &case));
            assert!(length(&limited) <= limit.max(3 * own));
            limited.iter().map(|sheet| sheet.text.starts_with("xx")).collect::<Vec<_>>()
        };
        assert_eq!(kept(17_000), [true, true, true]);
        assert_eq!(kept(16_999), [true, true, false]);
        assert_eq!(kept(12_000), [false, true, false]);
        assert_eq!(kept(0), [false, false, false]);
        let sheet = read(&limited(sheets, 0, |_| without_timeline(&target, &case))[0].text);
        assert_eq!((&sheet["case"], &sheet["target"]), (&"aon/fits".into(), &"volcano".into()));
        assert!(sheet["missing"].as_str().unwrap().starts_with("left out"), "{sheet}");
    }
}
