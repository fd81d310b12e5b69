use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::MutationError;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BaselineCase {
    pub id: String,
    /// The digest of the operator's sources, to which the numbers belong.
    #[serde(default)]
    pub operator: String,
    /// Includes the restart.
    pub seconds: f64,
    /// Only a case that passes without a mutation can show that a mutation is detected.
    pub passed: bool,
    /// The numbers of the mutations that were executed, from the operator's start to the end of the case.
    pub executed: BTreeSet<u32>,
}

/// The longest wait of most cases is 15 s with `--timeout-scale 0.5`. Its end often shows a violation.
const GRACE: Duration = Duration::from_secs(20);
const SLOWER: f64 = 5.0;

impl BaselineCase {
    /// A case under a mutation that takes longer has no result.
    pub fn limit(&self) -> Duration {
        GRACE + Duration::from_secs_f64(SLOWER * self.seconds)
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Baseline {
    pub cases: Vec<BaselineCase>,
}

impl Baseline {
    pub fn passed(&self) -> impl Iterator<Item = &BaselineCase> {
        self.cases.iter().filter(|case| case.passed)
    }

    pub fn executing(&self, number: u32) -> usize {
        self.passed().filter(|case| case.executed.contains(&number)).count()
    }

    pub fn executed(&self) -> BTreeSet<u32> {
        self.passed().flat_map(|case| case.executed.iter().copied()).collect()
    }
}

pub fn executed(file: &Path) -> BTreeSet<u32> {
    // The operator creates the file with its first mutation.
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// A file with one JSON value per line, to which finished work is appended, so that a run can be resumed.
#[derive(Debug, Clone)]
pub struct JsonLines(pub PathBuf);

impl JsonLines {
    /// The values so far. A last line that was cut off does not count.
    pub fn read<T: DeserializeOwned>(&self) -> Result<Vec<T>, MutationError> {
        let text = match std::fs::read_to_string(&self.0) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(MutationError::file(&self.0)(error)),
        };
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().map(|line| serde_json::from_str(line).map_err(MutationError::json(&self.0))).collect()
    }

    pub fn append<T: Serialize>(&self, values: &[T]) -> Result<(), MutationError> {
        if let Some(parent) = self.0.parent() {
            std::fs::create_dir_all(parent).map_err(MutationError::file(parent))?;
        }
        let mut text = String::new();
        for value in values {
            text.push_str(&serde_json::to_string(value).map_err(MutationError::json(&self.0))?);
            text.push('\n');
        }
        self.write_after_last_line(&text).map_err(MutationError::file(&self.0))
    }

    fn write_after_last_line(&self, text: &str) -> std::io::Result<()> {
        let mut file = File::options().create(true).truncate(false).write(true).open(&self.0)?;
        let whole = std::fs::read(&self.0)?.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        file.set_len(whole as u64)?;
        file.seek(SeekFrom::End(0))?;
        file.write_all(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(id: &str, passed: bool, executed: &[u32]) -> BaselineCase {
        let executed = executed.iter().copied().collect();
        BaselineCase { id: id.into(), operator: "1".into(), seconds: 2.0, passed, executed }
    }

    #[test]
    fn only_cases_that_pass_execute_mutations() {
        let baseline = Baseline {
            cases: vec![
                case("a/one", true, &[1, 2]),
                case("a/two", true, &[2]),
                case("a/failed", false, &[1, 3]),
            ],
        };
        assert_eq!((baseline.executing(1), baseline.executing(3)), (1, 0));
        assert_eq!(baseline.executed(), [1, 2].into());
    }

    #[test]
    fn a_case_may_take_five_times_as_long_as_without_a_mutation_and_20_s_more() {
        assert_eq!(case("a/one", true, &[]).limit(), Duration::from_secs(30));
    }

    #[test]
    fn a_line_that_was_cut_off_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let lines = JsonLines(folder.path().join("results/lines.jsonl"));
        assert!(lines.read::<u32>().unwrap().is_empty());
        lines.append(&[1, 2]).unwrap();
        std::fs::write(&lines.0, "1\n2\n{\"cut").unwrap();
        assert_eq!(lines.read::<u32>().unwrap(), [1, 2]);
        lines.append(&[3]).unwrap();
        assert_eq!(lines.read::<u32>().unwrap(), [1, 2, 3]);
    }

    #[test]
    fn executed_mutations_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sites");
        assert_eq!(executed(&file), [].into());
        std::fs::write(&file, "3\n1\n2\n").unwrap();
        assert_eq!(executed(&file), [1, 2, 3].into());
    }
}
