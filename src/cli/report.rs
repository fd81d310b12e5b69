//! `report`: what is done with reports that were written before. `report merge` makes one of several, `report recover` one
//! of the results of a run that was killed before it wrote its own, `report evidence` the file that is published beside a
//! release; `report compare` says what two runs differ in, `report page` shows several side by side.
//!
//! [`conformance_report::merge`] decides what may be merged, and how. This file handles the files: it reads the
//! reports, finds the path from the merged report to each of them (their artifacts stay there), and writes and
//! prints the result as `run` does.

use std::path::{Component, Path, PathBuf};

use conformance_report as report;
use conformance_report::{Evidence, EvidenceError, Exit, MergeInput, Report};

use super::Failure;
use super::args::{CompareArgs, EvidenceArgs, MergeArgs, PageArgs, RecoverArgs, ReportArgs, ReportVerb};
use super::output;
use super::run::{command, write};

/// Does what the verb says.
///
/// # Errors
/// [`Failure::Usage`] for files that are no reports or do not merge; [`Failure::Infrastructure`] if the merged report
/// cannot be written.
pub(crate) fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    match &args.verb {
        ReportVerb::Merge(args) => merge(args),
        ReportVerb::Recover(args) => recover(args),
        ReportVerb::Evidence(args) => evidence(args),
        ReportVerb::Compare(args) => compare(args),
        ReportVerb::Page(args) => page(args),
    }
}

fn read(file: &PathBuf) -> Result<Report, Failure> {
    report::read(file).map_err(|error| Failure::Usage(error.to_string()))
}

/// Prints a line per difference.
fn compare(args: &CompareArgs) -> Result<Exit, Failure> {
    let differences = report::compare(&read(&args.one)?, &read(&args.other)?);
    differences.iter().for_each(|difference| output::data(&difference.to_string()));
    Ok(if differences.is_empty() { Exit::Conformant } else { Exit::NotConformant })
}

fn page(args: &PageArgs) -> Result<Exit, Failure> {
    let reports = args.reports.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    output::data(report::page(&reports).trim_end());
    Ok(Exit::Conformant)
}

/// Writes the evidence file of a report, prints it, or checks one.
fn evidence(args: &EvidenceArgs) -> Result<Exit, Failure> {
    let usage = |error: EvidenceError| Failure::Usage(error.to_string());
    let of = report::read(&args.report).map_err(|error| usage(error.into()))?;
    if let Some(file) = &args.check {
        let found = report::read_evidence(file).map_err(|error| usage(error.into()))?;
        found.verify(&of).map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))?;
        output::say(&format!("{} is the evidence of {}", file.display(), args.report.display()));
    } else if let Some(file) = &args.out {
        report::write_evidence(file, &of).map_err(usage)?;
        output::say(&format!("wrote {}", file.display()));
    } else {
        let evidence = Evidence::of(&of).map_err(usage)?;
        let text =
            serde_json::to_string_pretty(&evidence).map_err(|error| Failure::Usage(error.to_string()))?;
        output::data(&text);
    }
    Ok(of.exit())
}

fn merge(args: &MergeArgs) -> Result<Exit, Failure> {
    let reports = args.files.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    std::fs::create_dir_all(&args.report_dir).map_err(wrong(&args.report_dir))?;
    let sources = args.files.iter().zip(reports).map(|(file, report)| source(file, report, &args.report_dir));
    let sources = sources.collect::<Result<Vec<_>, _>>()?;
    let merged = report::merge(&sources, command()).map_err(|error| Failure::Usage(error.to_string()))?;
    write(&args.report_dir, &merged)?;
    Ok(merged.exit())
}

/// Writes the report that the folder's run did not come to write.
fn recover(args: &RecoverArgs) -> Result<Exit, Failure> {
    let recovered = report::recover(&args.folder).map_err(|error| Failure::Usage(error.to_string()))?;
    // A report of an earlier run may be there; one of this run says more than its results.
    let file = args.folder.join("report.yaml");
    if let Some(written) = report::read(&file).ok().filter(|report| !report.incomplete)
        && written.date >= recovered.date
    {
        return Err(Failure::Usage(format!("{}: the run has written its report", file.display())));
    }
    write(&args.folder, &recovered)?;
    Ok(recovered.exit())
}

/// A report that was read, and where it lies as seen from the folder that the merged one goes to.
fn source(file: &Path, report: Report, into: &Path) -> Result<MergeInput, Failure> {
    let found = file.canonicalize().map_err(wrong(file))?;
    let (from, to) = (into.canonicalize().map_err(wrong(into))?, found.parent().unwrap_or(&found));
    if from == to {
        return Err(Failure::Usage(format!(
            "--report-dir {}: the merged report would take the place of {}",
            into.display(),
            file.display()
        )));
    }
    Ok(MergeInput { file: file.to_owned(), folder: way(&from, to), report })
}

/// The way from one folder to another, of two paths that begin at the root and have no links.
fn way(from: &Path, to: &Path) -> PathBuf {
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(to.components().skip(shared)).collect()
}

fn wrong(path: &Path) -> impl Fn(std::io::Error) -> Failure {
    move |error| Failure::Usage(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("/r/merged", "/r/shard-1", "../shard-1")]
    #[case("/r/all/merged", "/r/shard-1/report", "../../shard-1/report")]
    #[case("/r", "/r/shard-1", "shard-1")]
    #[case("/r/merged", "/r", "..")]
    fn the_way_from_one_folder_to_another(#[case] from: &str, #[case] to: &str, #[case] wanted: &str) {
        assert_eq!(way(Path::new(from), Path::new(to)), Path::new(wanted));
    }
}
