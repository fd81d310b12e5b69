//! Reads the file of `output.accept`, the deviations that a maintainer accepts, and applies it to a report.

use std::path::Path;

use conformance_report::{AcceptedDeviations, Report};

use super::{Failure, output};

pub(crate) fn read(file: Option<&Path>) -> Result<Option<AcceptedDeviations>, Failure> {
    let Some(file) = file else { return Ok(None) };
    let usage = |reason: String| Failure::Usage(format!("output.accept {}: {reason}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| usage(error.to_string()))?;
    let documents = grove_yaml::documents(&text).map_err(|error| usage(error.to_string()))?;
    let [document] = documents.as_slice() else {
        return Err(usage(format!("expected one YAML document, found {}", documents.len())));
    };
    let accepted = serde_json::from_value(document.clone()).map_err(|error| usage(error.to_string()))?;
    Ok(Some(accepted))
}

/// Turns accepted failures into known deviations. Prints the entries that did not occur.
pub(crate) fn apply(accepted: Option<&AcceptedDeviations>, report: Report) -> Report {
    let Some(accepted) = accepted else { return report };
    let (report, unused) = report.accepting(accepted);
    for deviation in unused {
        let (clause, case, code) = (&deviation.clause, &deviation.case, &deviation.code);
        output::say(&format!(
            "output.accept: {clause} in {case} ({code}) did not occur, or ended in {}: delete the entry",
            deviation.until
        ));
    }
    report
}
