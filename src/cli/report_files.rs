//! Writes and prints reports: those of a run, and merged or recovered ones.

use std::path::{Path, PathBuf};

use conformance_contract::clauses::Workload;
use conformance_page as page;
use conformance_programs::blocking::in_place;
use conformance_report as report;
use conformance_report::{EvidenceError, Report, StoreError};

use super::request::{Cases, Request};
use super::{Failure, load, output};

/// Writes a report with its page, prints it, and annotates the GitHub workflow that runs it. If `quiet`,
/// only its failures, errors and results are printed.
pub(crate) fn write(folder: &Path, report: &Report, quiet: bool) -> Result<(), Failure> {
    print(report, quiet);
    store(folder, report)
}

/// Like [`write()`], without the page. Prints the command that renders it.
pub(crate) fn write_without_page(folder: &Path, report: &Report, quiet: bool) -> Result<(), Failure> {
    print(report, quiet);
    let files = in_place(|| report::write_all(folder, report)).map_err(unwritten)?;
    say_written(&files);
    let yaml = folder.join("report.yaml");
    output::say(&format!("the page was not rendered: grove-conformance report html {}", yaml.display()));
    Ok(())
}

/// Prints a report, even if it cannot be written.
fn print(report: &Report, quiet: bool) {
    output::data(&if quiet { report::brief_terminal(report) } else { report::terminal(report) });
    load::lines(report).iter().for_each(|line| output::data(line));
    if std::env::var_os("GITHUB_ACTIONS").is_some() {
        report::annotations(report).iter().for_each(|line| output::say(line));
    }
}

/// Writes a report with its page. The page reads all histories of the report.
pub(crate) fn store(folder: &Path, report: &Report) -> Result<(), Failure> {
    let files = in_place(|| {
        let mut files = report::write_all(folder, report).map_err(unwritten)?;
        let page = page::page(report, folder).map_err(|error| Failure::Infrastructure(error.to_string()))?;
        files.push(folder.join(page::PAGE));
        report::write_text(&folder.join(page::PAGE), &page).map_err(unwritten)?;
        Ok::<_, Failure>(files)
    })?;
    say_written(&files);
    Ok(())
}

fn say_written(files: &[PathBuf]) {
    for file in files {
        output::say(&format!("wrote {}", file.display()));
    }
}

pub(crate) fn unwritten(error: StoreError) -> Failure {
    Failure::Infrastructure(format!("the report cannot be written: {error}"))
}

/// Writes the files that were requested in addition to the report.
pub(crate) fn write_further_files(request: &Request, report: &Report) -> Result<(), Failure> {
    let folder = &request.output.folder;
    let checklists = match request.subject.cases {
        Cases::Suite(Workload::PlainPods) => report::write_ai_conformance(folder, report),
        Cases::Suite(Workload::PodCliqueSets) => report::write_operator_conformance(folder, report),
        _ => Ok(Vec::new()),
    };
    for file in checklists.map_err(unwritten)? {
        output::say(&format!("wrote {}", file.display()));
    }
    if let Some(file) = &request.output.evidence {
        match report::write_evidence(file, report) {
            Ok(()) => output::say(&format!("wrote {}", file.display())),
            Err(EvidenceError::File(error)) => return Err(Failure::Infrastructure(error.to_string())),
            // An incomplete report has no evidence. The run prints the reason.
            Err(error) => output::say(&format!("output.evidence {}: {error}", file.display())),
        }
    }
    Ok(())
}

/// The command line of this process, for the report.
pub(crate) fn command() -> String {
    let mut words: Vec<String> = std::env::args().collect();
    if let Some(first) = words.first_mut() {
        *first = "grove-conformance".into();
    }
    words.join(" ")
}
