//! `results.jsonl`: a line per case, written when it ends, so that a killed run loses only unfinished cases.
//!
//! Each line is a JSON object with one key. `run` contains the report in which no case has ended. The last
//! such line counts, because some values are known only when the cluster is ready. `case` contains the result
//! of one case on one target, with its violations. [`recover`] builds a report from these lines. Each line is
//! written with one call, and an unfinished last line is ignored.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use conformance_contract::violation::Violation;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{CaseResult, Report, Seconds, StoreError, TargetReport, Timings};

/// The file's name in a report's folder.
pub const RESULTS: &str = "results.jsonl";

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Line {
    Run(Box<Report>),
    Case(Box<Ended>),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ended {
    at: Timestamp,
    target: String,
    result: CaseResult,
    /// By clause id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    violations: BTreeMap<String, Vec<Violation>>,
}

/// The results file of a run in progress.
#[derive(Debug)]
pub struct ResultsFile {
    path: PathBuf,
    file: File,
    /// Length of all complete lines, in bytes.
    length: u64,
}

impl ResultsFile {
    /// Creates the file in a folder and replaces that of an earlier run.
    pub fn create(folder: &Path) -> Result<Self, StoreError> {
        std::fs::create_dir_all(folder).map_err(|source| StoreError::Io { path: folder.into(), source })?;
        let path = folder.join(RESULTS);
        let opened = OpenOptions::new().create(true).write(true).truncate(true).open(&path);
        match opened {
            Ok(file) => Ok(Self { path, file, length: 0 }),
            Err(source) => Err(StoreError::Io { path, source }),
        }
    }

    /// Writes the report of a run in which no case has ended.
    pub fn write_run(&mut self, report: &Report) -> Result<(), StoreError> {
        self.write(&Line::Run(Box::new(report.clone())))
    }

    /// Writes the result of a case. If this fails, the earlier lines stay readable.
    pub fn write_case(&mut self, target: String, result: &CaseResult) -> Result<(), StoreError> {
        let violated = result.clauses.iter().filter(|judgement| !judgement.violations.is_empty());
        let violations =
            violated.map(|judgement| (judgement.clause.clone(), judgement.violations.clone())).collect();
        let ended = Ended { at: Timestamp::now(), target, result: result.clone(), violations };
        self.write(&Line::Case(Box::new(ended)))
    }

    fn write(&mut self, line: &Line) -> Result<(), StoreError> {
        let text = serde_json::to_string(line)
            .map_err(|error| StoreError::Render { file: RESULTS, message: error.to_string() })?;
        let text = text + "\n";
        match self.file.write_all(text.as_bytes()) {
            Ok(()) => {
                self.length += text.len() as u64;
                Ok(())
            }
            Err(source) => {
                // A partial line would corrupt the next one. A full disk still allows truncation.
                let _ = self.file.set_len(self.length);
                let _ = io::Seek::seek(&mut self.file, io::SeekFrom::Start(self.length));
                Err(StoreError::Io { path: self.path.clone(), source })
            }
        }
    }
}

/// Builds the report of a killed run, incomplete in any case, because the run skipped its final steps.
pub fn recover(folder: &Path) -> Result<Report, StoreError> {
    let path = folder.join(RESULTS);
    let text =
        std::fs::read_to_string(&path).map_err(|source| StoreError::Io { path: path.clone(), source })?;
    let (mut run, mut ended) = (None, Vec::new());
    for (number, line) in text.split_inclusive('\n').enumerate() {
        // Without a final newline, the run was killed while it wrote this line.
        let Some(line) = line.strip_suffix('\n') else { break };
        match serde_json::from_str(line) {
            Ok(Line::Run(report)) => run = Some(*report),
            Ok(Line::Case(case)) => ended.push(*case),
            Err(error) => {
                return Err(StoreError::Malformed { path, message: format!("line {}: {error}", number + 1) });
            }
        }
    }
    let Some(report) = run else { return Err(StoreError::NoRun { path }) };
    let begin = report.date;
    let date = ended.iter().map(|case| case.at).max().unwrap_or(begin);
    let total = std::time::Duration::try_from(date.duration_since(begin)).unwrap_or_default();
    let timings = Timings { total_seconds: Seconds::from(total), ..report.timings };
    let mut targets: Vec<TargetReport> = report.targets.clone();
    for target in &mut targets {
        let (title, cases) = (target.title(), target.cases.clone());
        let found = |case: &CaseResult| {
            ended
                .iter()
                .find(|ended| ended.target == title && ended.result.id == case.id)
                .map(Ended::with_violations)
        };
        let cases =
            cases.iter().map(|case| found(case).unwrap_or_else(|| target.with_violations(case))).collect();
        *target = target.clone().reconclude(cases);
    }
    Ok(Report { date, timings, targets, ..report })
}

impl Ended {
    fn with_violations(&self) -> CaseResult {
        let mut result = self.result.clone();
        for judgement in &mut result.clauses {
            judgement.violations = self.violations.get(&judgement.clause).cloned().unwrap_or_default();
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::left_out::interrupted;
    use crate::{Exit, fixture, verify};

    fn planned(report: &Report) -> Report {
        let mut planned = report.clone();
        for target in &mut planned.targets {
            let interrupt = |case: &CaseResult| {
                let clauses = case.clauses.iter().map(|judgement| judgement.clause.clone());
                CaseResult::without_running(case.id.clone(), case.title.clone(), clauses, &interrupted())
            };
            let cases = target.cases.iter().map(interrupt).collect();
            *target = target.clone().reconclude(cases);
        }
        planned.incomplete("the run was killed")
    }

    fn killed_after(count: usize) -> (tempfile::TempDir, Report) {
        let (folder, whole) = (tempfile::tempdir().unwrap(), fixture::report());
        let mut file = ResultsFile::create(folder.path()).unwrap();
        file.write_run(&planned(&whole)).unwrap();
        let cases =
            whole.targets.iter().flat_map(|target| target.cases.iter().map(move |case| (target, case)));
        for (target, case) in cases.take(count) {
            file.write_case(target.title(), &target.with_violations(case)).unwrap();
        }
        (folder, whole)
    }

    #[test]
    fn a_run_that_was_killed_after_its_last_case_is_recovered_completely() {
        let (folder, whole) = killed_after(usize::MAX);
        let recovered = recover(folder.path()).unwrap();
        assert_eq!(recovered.targets, whole.targets, "violations included");
        assert_eq!(verify(&recovered), Ok(()));
        assert_eq!((recovered.incomplete, recovered.exit()), (true, Exit::Inconclusive));
    }

    #[test]
    fn a_case_that_had_not_ended_is_interrupted() {
        let (folder, whole) = killed_after(2);
        let recovered = recover(folder.path()).unwrap();
        assert_eq!(recovered.targets[0].cases[..2], whole.targets[0].cases[..2]);
        assert!(recovered.targets[0].cases[2..].iter().all(CaseResult::is_interrupted));
        assert_eq!(verify(&recovered), Ok(()));
    }

    #[test]
    fn an_unfinished_line_is_ignored_and_an_invalid_one_is_named() {
        let (folder, _) = killed_after(2);
        let path = folder.path().join(RESULTS);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 10]).unwrap();
        let recovered = recover(folder.path()).unwrap();
        assert!(recovered.targets[0].cases[1].is_interrupted(), "the second case was being written");
        std::fs::write(&path, text.replacen("\"case\"", "\"cased\"", 1)).unwrap();
        let error = recover(folder.path()).unwrap_err().to_string();
        assert!(error.contains("results.jsonl: line 2: unknown variant `cased`"), "{error}");
    }

    #[test]
    fn a_run_without_a_plan_is_not_recovered() {
        let folder = tempfile::tempdir().unwrap();
        let missing = recover(folder.path()).unwrap_err().to_string();
        assert!(missing.contains("results.jsonl: No such file"), "{missing}");
        ResultsFile::create(folder.path()).unwrap();
        let empty = recover(folder.path()).unwrap_err().to_string();
        assert!(empty.contains("killed before its first case"), "{empty}");
    }

    /// Writes to `/dev/full` fail as on a full disk.
    #[test]
    fn an_error_on_a_full_disk_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/full", folder.path().join(RESULTS)).unwrap();
        let mut file = ResultsFile::create(folder.path()).unwrap();
        let error = file.write_run(&fixture::report()).unwrap_err().to_string();
        assert!(error.contains("results.jsonl: No space left on device"), "{error}");
    }
}
