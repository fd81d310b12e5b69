//! Parsers of single values. Their errors complete clap's "invalid value".

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use conformance_contract::kubernetes::Kubernetes;

pub(super) fn version() -> impl TypedValueParser<Value = Kubernetes> {
    let known = Kubernetes::WITH_PREVIEWS;
    let known = known.map(|version| PossibleValue::new(version.minor()).help(version.about()));
    PossibleValuesParser::new(known).map(|word| {
        // The parser above accepts only known versions.
        Kubernetes::named(&word).unwrap_or_default()
    })
}

pub(super) fn factor(raw: &str) -> Result<f64, String> {
    match raw.parse::<f64>() {
        Ok(factor) if (0.01..=100.0).contains(&factor) => Ok(factor),
        _ => Err("expected a number between 0.01 and 100".into()),
    }
}
