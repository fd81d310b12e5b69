//! Parsers of single values. Their errors complete clap's "invalid value".

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use conformance_contract::kubernetes::Kubernetes;

/// Parses a Kubernetes version such as `1.36`.
pub(super) fn version() -> impl TypedValueParser<Value = Kubernetes> {
    let known = Kubernetes::ALL.map(|version| PossibleValue::new(version.minor()).help(version.about()));
    PossibleValuesParser::new(known).map(|word| {
        // The parser above accepts only known versions.
        Kubernetes::named(&word).unwrap_or_default()
    })
}

/// Parses a node label with its value.
pub(super) fn label(word: &str) -> Result<String, String> {
    let is_part = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
    };
    match word.split_once('=') {
        Some((key, value)) if is_part(key) && is_part(value) => Ok(word.to_owned()),
        _ => Err("expected KEY=VALUE, a label that the nodes carry".into()),
    }
}

pub(super) fn name_and_path(raw: &str) -> Result<(String, PathBuf), String> {
    match raw.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok((name.into(), path.into())),
        _ => Err("expected NAME=PATH, e.g. kube-scheduler=./my-scheduler".into()),
    }
}

pub(super) fn name_and_dir(raw: &str) -> Result<(String, PathBuf), String> {
    name_and_path(raw).map_err(|_| "expected NAME=DIR, e.g. vc-scheduler=../volcano".into())
}

pub(super) fn name_and_chart(raw: &str) -> Result<(String, String), String> {
    match raw.split_once('=') {
        Some((name, chart)) if !name.is_empty() && !chart.is_empty() => Ok((name.into(), chart.into())),
        _ => Err("expected NAME=CHART[@VERSION], e.g. kai-scheduler=./charts/kai-scheduler".into()),
    }
}

pub(super) fn factor(raw: &str) -> Result<f64, String> {
    match raw.parse::<f64>() {
        Ok(factor) if (0.01..=100.0).contains(&factor) => Ok(factor),
        _ => Err("expected a number between 0.01 and 100".into()),
    }
}
