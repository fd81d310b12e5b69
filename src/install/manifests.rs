use std::path::Path;

use conformance_programs::ProgramError;
use serde_json::Value;

pub(crate) fn read(path: &Path) -> Result<Vec<Value>, ProgramError> {
    let text = std::fs::read_to_string(path).map_err(ProgramError::file(path))?;
    grove_yaml::documents(&text).map_err(|source| ProgramError::Manifest { path: path.into(), source })
}
