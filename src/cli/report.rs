//! `report`: works with existing reports. `compact`, `check` and `results` are in [`super::results`]. A
//! merged report refers to the artifacts of its sources, which stay in their folders.

use std::path::{Component, Path, PathBuf};

use conformance_page as page;
use conformance_programs::blocking::in_place;
use conformance_report as report;
use conformance_report::{Evidence, EvidenceError, Exit, MergeInput, Report, Source};

use super::args::{
    CompareArgs, EvidenceArgs, HtmlArgs, MergeArgs, RecoverArgs, ReportArgs, ReportVerb, TableArgs,
};
use super::report_files::{command, write};
use super::{Failure, job, output, results};

pub(crate) async fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    match &args.verb {
        ReportVerb::Fetch(args) => job::fetch(args).await,
        // The other verbs read and write large files, and would block the runtime.
        ReportVerb::Merge(args) => in_place(|| merge(args)),
        ReportVerb::Html(args) => in_place(|| html(args)),
        ReportVerb::Compare(args) => in_place(|| compare(args)),
        ReportVerb::Table(args) => in_place(|| table(args)),
        ReportVerb::Recover(args) => in_place(|| recover(args)),
        ReportVerb::Evidence(args) => in_place(|| evidence(args)),
        ReportVerb::Compact(args) => in_place(|| results::compact(args)),
        ReportVerb::Check(args) => in_place(|| results::check(args)),
        ReportVerb::Results(args) => in_place(|| results::write(args)),
    }
}

fn read(file: &Path) -> Result<Report, Failure> {
    report::read(file).map_err(|error| Failure::Usage(error.to_string()))
}

fn evidence(args: &EvidenceArgs) -> Result<Exit, Failure> {
    let usage = |error: EvidenceError| Failure::Usage(error.to_string());
    let report = report::read(&args.report).map_err(|error| usage(error.into()))?;
    if let Some(file) = &args.check {
        let found = report::read_evidence(file).map_err(|error| usage(error.into()))?;
        found.verify(&report).map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))?;
        output::say(&format!("{} is the evidence of {}", file.display(), args.report.display()));
    } else if let Some(file) = &args.out {
        report::write_evidence(file, &report).map_err(usage)?;
        output::say(&format!("wrote {}", file.display()));
    } else {
        let evidence = Evidence::of(&report).map_err(usage)?;
        let text =
            serde_json::to_string_pretty(&evidence).map_err(|error| Failure::Usage(error.to_string()))?;
        output::data(&text);
    }
    Ok(report.exit())
}

pub(crate) fn opened(path: &Path) -> Result<(Report, PathBuf), Failure> {
    let file = match path.is_dir() {
        true => {
            ["report.yaml", "report.json"].map(|name| path.join(name)).into_iter().find(|file| file.is_file())
        }
        false => Some(path.to_owned()),
    };
    let Some(file) = file else {
        return Err(Failure::Usage(format!(
            "{}: the folder has neither report.yaml nor report.json",
            path.display()
        )));
    };
    let report = report::read(&file).map_err(|error| Failure::Usage(error.to_string()))?;
    Ok((report, file.parent().map(Path::to_owned).unwrap_or_default()))
}

fn html(args: &HtmlArgs) -> Result<Exit, Failure> {
    let (report, folder) = opened(&args.report)?;
    let file = args.out.clone().unwrap_or_else(|| folder.join(page::PAGE));
    let text = page::page(&report, &folder).map_err(|error| Failure::Infrastructure(error.to_string()))?;
    write_text(&file, &text)?;
    Ok(Exit::Conformant)
}

fn compare(args: &CompareArgs) -> Result<Exit, Failure> {
    let ((old, _), (new, folder)) = (opened(&args.old)?, opened(&args.new)?);
    let compared = report::compare(&old, &new);
    let compared = match args.figures {
        Some(percent) => compared.with_threshold(percent),
        None => compared,
    };
    if args.out.is_empty() {
        output::data(&compared.markdown());
    } else {
        output::say(&compared.result());
    }
    for file in &args.out {
        let text = match is_page(file) {
            true => page::compared(&compared, &page_in(&folder, file)?),
            false => Ok(compared.markdown()),
        };
        write_text(file, &text.map_err(|error| Failure::Infrastructure(error.to_string()))?)?;
    }
    let has_worse_figures = args.figures.is_some() && compared.has_worse_figures();
    Ok(match has_worse_figures || (args.same && !compared.is_same()) {
        true => Exit::NotConformant,
        false => compared.exit(),
    })
}

/// Writes a table per file, because the links in a table are relative to its file.
fn table(args: &TableArgs) -> Result<Exit, Failure> {
    let reports = args.reports.iter().map(|path| opened(path)).collect::<Result<Vec<_>, _>>()?;
    let table_for = |file: &Path| {
        let source = |(report, folder): &(Report, PathBuf)| -> Result<Source, Failure> {
            Ok(Source { page: page_in(folder, file)?, report: report.clone() })
        };
        let sources = reports.iter().map(source).collect::<Result<Vec<_>, Failure>>()?;
        Ok::<_, Failure>(report::table(&sources))
    };
    if args.out.is_empty() {
        output::data(&table_for(Path::new("table.md"))?.markdown());
    }
    for file in &args.out {
        let table = table_for(file)?;
        let text = if is_page(file) { page::tabled(&table) } else { Ok(table.markdown()) };
        write_text(file, &text.map_err(|error| Failure::Infrastructure(error.to_string()))?)?;
    }
    Ok(Exit::Conformant)
}

fn is_page(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == "html" || ending == "htm")
}

fn page_in(folder: &Path, file: &Path) -> Result<String, Failure> {
    let current =
        |path: &Path| if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_owned() };
    let (from, to) = (current(file.parent().unwrap_or(Path::new(""))), current(folder));
    let from = from.canonicalize().map_err(wrong(&from))?;
    let to = to.canonicalize().map_err(wrong(&to))?;
    Ok(relative_path(&from, &to).join(page::PAGE).display().to_string())
}

fn write_text(file: &Path, text: &str) -> Result<(), Failure> {
    report::write_text(file, text).map_err(|error| Failure::Infrastructure(error.to_string()))?;
    output::say(&format!("wrote {}", file.display()));
    Ok(())
}

fn merge(args: &MergeArgs) -> Result<Exit, Failure> {
    let reports = args.files.iter().map(|file| read(file)).collect::<Result<Vec<_>, _>>()?;
    std::fs::create_dir_all(&args.report_dir).map_err(wrong(&args.report_dir))?;
    let sources = args.files.iter().zip(reports).map(|(file, report)| source(file, report, &args.report_dir));
    let sources = sources.collect::<Result<Vec<_>, _>>()?;
    let merged = report::merge(&sources, command()).map_err(|error| Failure::Usage(error.to_string()))?;
    write(&args.report_dir, &merged, false)?;
    Ok(merged.exit())
}

fn recover(args: &RecoverArgs) -> Result<Exit, Failure> {
    let recovered = report::recover(&args.folder).map_err(|error| Failure::Usage(error.to_string()))?;
    // Keep a complete report of the same run, because it contains more than the results. A report that is
    // older than the results belongs to an earlier run.
    let file = args.folder.join("report.yaml");
    if let Some(written) = report::read(&file).ok().filter(|report| !report.incomplete)
        && written.date >= recovered.date
    {
        return Err(Failure::Usage(format!("{}: the run already wrote a complete report", file.display())));
    }
    write(&args.folder, &recovered, false)?;
    Ok(recovered.exit())
}

fn source(file: &Path, report: Report, into: &Path) -> Result<MergeInput, Failure> {
    let found = file.canonicalize().map_err(wrong(file))?;
    let (from, to) = (into.canonicalize().map_err(wrong(into))?, found.parent().unwrap_or(&found));
    if from == to {
        return Err(Failure::Usage(format!(
            "--output {}: the merged report would overwrite {}",
            into.display(),
            file.display()
        )));
    }
    Ok(MergeInput { file: file.to_owned(), folder: relative_path(&from, to), report })
}

/// Both folders are absolute and without symbolic links.
fn relative_path(from: &Path, to: &Path) -> PathBuf {
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
    fn a_relative_path_leads_from_one_folder_to_another(
        #[case] from: &str,
        #[case] to: &str,
        #[case] wanted: &str,
    ) {
        assert_eq!(relative_path(Path::new(from), Path::new(to)), Path::new(wanted));
    }
}
