//! `report compact`, `report check` and `report results`: compact reports are built from full ones and
//! checked against them. The tables in `results/` follow from the compact reports alone.

use std::path::{Path, PathBuf};

use conformance_report as report;
use conformance_report::{CompactError, CompactReport, Exit, MergeInput, Stated};

use super::args::{CheckArgs, CompactArgs, ResultsArgs};
use super::report::opened;
use super::{Failure, output};

pub(crate) fn compact(args: &CompactArgs) -> Result<Exit, Failure> {
    let stated = Stated {
        machine: args.machine.clone(),
        commit: args.commit.clone(),
        backends: args.backends.clone(),
    };
    if args.out.extension().is_none_or(|extension| extension != "json") {
        return Err(Failure::Usage(format!("--out {}: the name must end in .json", args.out.display())));
    }
    let compact = CompactReport::of(inputs(&args.reports)?, &stated).map_err(usage)?;
    report::write_compact(&args.out, &compact).map_err(usage)?;
    output::say(&format!("wrote {}", args.out.display()));
    Ok(Exit::Conformant)
}

pub(crate) fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let file = args.file.display();
    let compact = report::read_compact(&args.file).map_err(usage)?;
    if args.reports.is_empty() {
        output::say(&format!("{file} is consistent; pass the reports of its runs to verify it"));
        return Ok(Exit::Conformant);
    }
    let verified = compact.verify(inputs(&args.reports)?);
    verified.map_err(|error| Failure::Usage(format!("{file}: {error}")))?;
    output::say(&format!("{file} follows from the reports of its runs"));
    Ok(Exit::Conformant)
}

pub(crate) fn write(args: &ResultsArgs) -> Result<Exit, Failure> {
    let published = report::read_published(&args.folder).map_err(usage)?;
    let readme = std::fs::read_to_string(&args.readme)
        .map_err(|error| Failure::Usage(format!("{}: {error}", args.readme.display())))?;
    let Some(with_results) = report::with_results(&readme, &published) else {
        let readme = args.readme.display();
        return Err(Failure::Usage(format!(
            "{readme}: the lines `begin results` and `end results` are missing: add them"
        )));
    };
    update(&args.folder.join("README.md"), &report::results_page(&published), args.check)?;
    update(&args.readme, &with_results, args.check)?;
    Ok(Exit::Conformant)
}

fn update(file: &Path, text: &str, check: bool) -> Result<(), Failure> {
    if std::fs::read_to_string(file).is_ok_and(|found| found == text) {
        return Ok(());
    }
    if check {
        let file = file.display();
        return Err(Failure::Usage(format!("{file} is out of date: run `report results` to write it")));
    }
    report::write_text(file, text).map_err(|error| Failure::Infrastructure(error.to_string()))?;
    output::say(&format!("wrote {}", file.display()));
    Ok(())
}

fn inputs(paths: &[PathBuf]) -> Result<Vec<MergeInput>, Failure> {
    let input = |path: &PathBuf| -> Result<MergeInput, Failure> {
        let (report, folder) = opened(path)?;
        Ok(MergeInput { file: path.clone(), folder, report })
    };
    paths.iter().map(input).collect()
}

fn usage(error: CompactError) -> Failure {
    match error {
        CompactError::File(report::StoreError::Render { .. }) => Failure::Infrastructure(error.to_string()),
        _ => Failure::Usage(error.to_string()),
    }
}
