use std::path::{Path, PathBuf};

use conformance_contract::clauses::Workload;
use conformance_page as page;
use conformance_programs::blocking::in_place;
use conformance_report as report;
use conformance_report::{EvidenceError, Report, StoreError};
use conformance_run::interruption::Interruption;

use super::request::{Cases, Request};
use super::{Failure, load, output};

/// Prints the report and writes its files. `quiet` prints only failures, errors and results.
pub(crate) fn write(folder: &Path, report: &Report, quiet: bool) -> Result<(), Failure> {
    print(report, quiet);
    store(folder, report)
}

/// Like [`write()`], but an interrupted run prints the command that renders the page instead.
pub(crate) async fn write_unless_interrupted(
    folder: &Path,
    report: &Report,
    quiet: bool,
    interruption: &Interruption,
) -> Result<(), Failure> {
    print(report, quiet);
    let mut files = in_place(|| report::write_all(folder, report)).map_err(unwritten)?;
    let page = rendered_unless_interrupted(folder, report, interruption).await?;
    if let Some(page) = &page {
        report::write_text(&folder.join(page::PAGE), page).map_err(unwritten)?;
        files.push(folder.join(page::PAGE));
    }
    say_written(&files);
    if page.is_none() {
        let yaml = folder.join("report.yaml");
        output::say(&format!("the page was not rendered: grove-conformance report html {}", yaml.display()));
    }
    Ok(())
}

/// Renders the page, or returns `None` after an interruption: rendering takes longer than an interrupted run
/// may take, and cannot be cancelled. The thread of an abandoned page ends with the program.
async fn rendered_unless_interrupted(
    folder: &Path,
    report: &Report,
    interruption: &Interruption,
) -> Result<Option<String>, Failure> {
    if interruption.is_requested() {
        return Ok(None);
    }
    let (report, folder) = (report.clone(), folder.to_owned());
    let rendering =
        tokio::task::spawn_blocking(move || page::page(&report, &folder).map_err(|error| error.to_string()));
    let rendered = tokio::select! {
        () = interruption.requested() => return Ok(None),
        rendered = rendering => rendered,
    };
    let page = rendered.unwrap_or_else(|panic| Err(format!("cannot render the page: {panic}")));
    page.map(Some).map_err(Failure::Infrastructure)
}

fn print(report: &Report, quiet: bool) {
    output::data(&if quiet { report::brief_terminal(report) } else { report::terminal(report) });
    load::lines(report).iter().for_each(|line| output::data(line));
    if std::env::var_os("GITHUB_ACTIONS").is_some() {
        report::annotations(report).iter().for_each(|line| output::say(line));
    }
}

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

pub(crate) fn command() -> String {
    let mut words: Vec<String> = std::env::args().collect();
    if let Some(first) = words.first_mut() {
        *first = "grove-conformance".into();
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_interrupted_run_has_a_report_without_a_page() {
        let folder = tempfile::tempdir().unwrap();
        let (report, interruption) = (report::testing::report(Vec::new()), Interruption::default());
        let is_written = |file: &str| folder.path().join(file).is_file();
        let _accepting = interruption.accept_requests();
        interruption.request("SIGINT");
        write_unless_interrupted(folder.path(), &report, true, &interruption).await.unwrap();
        assert!(is_written("report.yaml") && !is_written(page::PAGE));
        write_unless_interrupted(folder.path(), &report, true, &Interruption::default()).await.unwrap();
        assert!(is_written(page::PAGE));
    }
}
