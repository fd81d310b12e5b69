//! The configuration file of a run: `-f conformance.yaml`. `--set` overrides it, and options override both.

mod fields;
mod variables;

use std::path::Path;

use serde_json::{Map, Value};

use self::fields::Fields;
pub(crate) use self::variables::check as check_variables;
use crate::Failure;
use crate::args::ConfigArgs;
use crate::options::{Layer, RunOptions};

const API_VERSION: &str = "conformance.grove.io/v1alpha1";
const KIND: &str = "ConformanceConfig";

pub(crate) fn completed(args: &ConfigArgs, options: RunOptions) -> Result<RunOptions, Failure> {
    let fields = Fields::of_runs();
    let mut set = Value::Object(Map::new());
    for word in &args.set {
        fields.set(&mut set, word)?;
    }
    let set = read(set).map_err(|reason| Failure::Usage(format!("--set: {reason}")))?;
    let file = match &args.config_file {
        Some(path) => of_file(path, &fields)?,
        None => RunOptions::default(),
    };
    Ok(options.over(set).over(file))
}

fn of_file(path: &Path, fields: &Fields) -> Result<RunOptions, Failure> {
    let usage = |reason: String| Failure::Usage(format!("{}: {reason}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| usage(error.to_string()))?;
    of_text(&text, fields).map_err(usage)
}

fn of_text(text: &str, fields: &Fields) -> Result<RunOptions, String> {
    let documents = grove_yaml::documents(text).map_err(|error| error.to_string())?;
    let [Value::Object(document)] = documents.as_slice() else {
        return Err(format!("expected one document of kind {KIND}, found {}", documents.len()));
    };
    let mut document = document.clone();
    for (field, expected) in [("apiVersion", API_VERSION), ("kind", KIND)] {
        match document.remove(field) {
            Some(found) if found == expected => {}
            Some(found) => return Err(format!("{field} is {found}, expected {expected}")),
            None => return Err(format!("{field} is missing, expected {expected}")),
        }
    }
    let document = Value::Object(document);
    fields.check_names(&document)?;
    read(document)
}

fn read(document: Value) -> Result<RunOptions, String> {
    serde_path_to_error::deserialize(document).map_err(|error| {
        let path = error.path().to_string();
        format!("{path}: {}", error.into_inner())
    })
}

#[cfg(test)]
mod tests;
