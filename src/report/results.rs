//! `results.jsonl`: what each case found, written as it ends, so that a run that is killed loses no other.
//!
//! A line is one of two JSON objects. `run` holds the report as it would be if no case had ended; the last such line
//! counts, for some of it is known only when there is a cluster. `case` holds what one case found on one target, with
//! the violations that a report keeps with its clauses. [`recover`] makes of them the report of a run that did not come
//! to write one. A line is written whole, with one call; of a file whose last line is not, that line is left out.

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

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Line {
    /// The run, with every case of its plan interrupted.
    Run(Box<Report>),
    /// A case that has ended.
    Case(Box<Ended>),
}

/// What one case found on one target.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ended {
    /// When it ended.
    at: Timestamp,
    /// The target's title.
    target: String,
    /// What was found.
    result: CaseResult,
    /// What broke its clauses, by their ids.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    violations: BTreeMap<String, Vec<Violation>>,
}

/// The file of a run that goes on.
#[derive(Debug)]
pub struct ResultsFile {
    path: PathBuf,
    file: File,
    /// The length of what is whole.
    length: u64,
}

impl ResultsFile {
    /// Begins the file in a folder, in place of an earlier run's.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn begin(folder: &Path) -> Result<Self, StoreError> {
        std::fs::create_dir_all(folder).map_err(|source| StoreError::Io { path: folder.into(), source })?;
        let path = folder.join(RESULTS);
        let opened = OpenOptions::new().create(true).write(true).truncate(true).open(&path);
        match opened {
            Ok(file) => Ok(Self { path, file, length: 0 }),
            Err(source) => Err(StoreError::Io { path, source }),
        }
    }

    /// Writes the report of a run of which no case has ended.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn run(&mut self, report: &Report) -> Result<(), StoreError> {
        self.write(&Line::Run(Box::new(report.clone())))
    }

    /// Writes what a case found.
    ///
    /// # Errors
    /// [`StoreError::Io`]; the lines before stay readable.
    pub fn case(&mut self, target: String, result: &CaseResult) -> Result<(), StoreError> {
        let broken = result.clauses.iter().filter(|judgement| !judgement.violations.is_empty());
        let violations =
            broken.map(|judgement| (judgement.clause.clone(), judgement.violations.clone())).collect();
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
                // Half a line would make one of itself and the next. A disk that is full can still shorten a file.
                let _ = self.file.set_len(self.length);
                let _ = io::Seek::seek(&mut self.file, io::SeekFrom::Start(self.length));
                Err(StoreError::Io { path: self.path.clone(), source })
            }
        }
    }
}

/// The report of the run that wrote a folder's results and ended before it wrote a report. It is incomplete even if
/// every case had ended: whatever a run does at its end, this one did not.
///
/// # Errors
/// [`StoreError::Io`], [`StoreError::Malformed`] with the line's number; [`StoreError::NoRun`] if the run was killed
/// before it had said what it runs.
pub fn recover(folder: &Path) -> Result<Report, StoreError> {
    let path = folder.join(RESULTS);
    let text =
        std::fs::read_to_string(&path).map_err(|source| StoreError::Io { path: path.clone(), source })?;
    let (mut run, mut ended) = (None, Vec::new());
    for (number, line) in text.split_inclusive('\n').enumerate() {
        // The one that was being written when the run was killed.
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
                .map(Ended::observed)
        };
        let cases = cases.iter().map(|case| found(case).unwrap_or_else(|| target.observed(case))).collect();
        *target = target.clone().concluded_of(cases);
    }
    Ok(Report { date, timings, targets, ..report })
}

impl Ended {
    /// The case as it was before it was written.
    fn observed(&self) -> CaseResult {
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

    /// As the report of a run would be if no case had ended.
    fn planned(report: &Report) -> Report {
        let mut planned = report.clone();
        for target in &mut planned.targets {
            let interrupt = |case: &CaseResult| {
                let clauses = case.clauses.iter().map(|judgement| judgement.clause.clone());
                CaseResult::without_running(case.id.clone(), case.title.clone(), clauses, &interrupted())
            };
            let cases = target.cases.iter().map(interrupt).collect();
            *target = target.clone().concluded_of(cases);
        }
        planned.incomplete("the run was killed")
    }

    /// A folder with the results of a run in which that many cases have ended.
    fn killed_after(count: usize) -> (tempfile::TempDir, Report) {
        let (folder, whole) = (tempfile::tempdir().unwrap(), fixture::report());
        let mut file = ResultsFile::begin(folder.path()).unwrap();
        file.run(&planned(&whole)).unwrap();
        let cases =
            whole.targets.iter().flat_map(|target| target.cases.iter().map(move |case| (target, case)));
        for (target, case) in cases.take(count) {
            file.case(target.title(), &target.observed(case)).unwrap();
        }
        (folder, whole)
    }

    #[test]
    fn a_run_that_was_killed_at_its_end_lost_nothing() {
        let (folder, whole) = killed_after(usize::MAX);
        let recovered = recover(folder.path()).unwrap();
        assert_eq!(recovered.targets, whole.targets, "violations included");
        assert_eq!(verify(&recovered), Ok(()));
        assert_eq!((recovered.incomplete, recovered.exit()), (true, Exit::Inconclusive));
    }

    #[test]
    fn what_had_not_ended_is_interrupted() {
        let (folder, whole) = killed_after(2);
        let recovered = recover(folder.path()).unwrap();
        assert_eq!(recovered.targets[0].cases[..2], whole.targets[0].cases[..2]);
        assert!(recovered.targets[0].cases[2..].iter().all(CaseResult::is_interrupted));
        assert_eq!(verify(&recovered), Ok(()));
    }

    #[test]
    fn half_a_line_is_left_out_and_a_broken_one_is_named() {
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
    fn a_run_that_had_not_begun_is_not_recovered() {
        let folder = tempfile::tempdir().unwrap();
        let missing = recover(folder.path()).unwrap_err().to_string();
        assert!(missing.contains("results.jsonl: No such file"), "{missing}");
        ResultsFile::begin(folder.path()).unwrap();
        let empty = recover(folder.path()).unwrap_err().to_string();
        assert!(empty.contains("killed before its first case"), "{empty}");
    }

    /// `/dev/full` refuses every write as a full disk does.
    #[test]
    fn a_full_disk_is_an_error_with_the_files_name() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/full", folder.path().join(RESULTS)).unwrap();
        let mut file = ResultsFile::begin(folder.path()).unwrap();
        let error = file.run(&fixture::report()).unwrap_err().to_string();
        assert!(error.contains("results.jsonl: No space left on device"), "{error}");
    }
}
