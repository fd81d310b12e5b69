//! `workload DIR`: judges every manifest of a folder, each with its own report, and prints a table.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use conformance_contract::verdict::Verdict;
use conformance_report::{ClauseResult, Exit, Report};
use conformance_run::interruption::Interruption;
use conformance_run::workload::WorkloadError;

use super::args::WorkloadArgs;
use super::request::{Request, WorkloadNodes};
use super::{Failure, list, output, run};

const USAGE_ERROR: &str = "usage error";

#[derive(Debug)]
enum Outcome {
    /// The exit code, and the clauses that decided it.
    Judged(Exit, String),
    /// The manifest or the options are wrong.
    Refused(&'static str, String),
    Failed(String),
    NotStarted(&'static str),
}

impl Outcome {
    fn of_failure(failure: &Failure) -> Self {
        match failure {
            Failure::Workload { reason, .. } => {
                let text = reason.to_string();
                match **reason {
                    WorkloadError::NoAnswer(_) => Self::Failed(text),
                    WorkloadError::Rejected(_) => Self::Refused("refused by admission", text),
                    WorkloadError::DoesNotFit(_) => Self::Refused("not feasible", text),
                    WorkloadError::Manifest(_)
                    | WorkloadError::OtherBackend(_)
                    | WorkloadError::ClusterScoped(_)
                    | WorkloadError::Taken(_) => Self::Refused("not supported", text),
                }
            }
            Failure::Usage(reason) => Self::Refused(USAGE_ERROR, reason.clone()),
            Failure::Infrastructure(reason) => Self::Failed(reason.clone()),
        }
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Judged(exit, _) => *exit,
            Self::Refused(..) => Exit::Usage,
            Self::Failed(_) | Self::NotStarted(_) => Exit::Inconclusive,
        }
    }

    fn cells(&self) -> (&'static str, &str) {
        match self {
            Self::Judged(Exit::Conformant, clauses) => ("judged: passed", clauses),
            Self::Judged(Exit::NotConformant, clauses) => ("failed", clauses),
            Self::Judged(Exit::Inconclusive | Exit::Usage, clauses) => ("judged: inconclusive", clauses),
            Self::Refused(what, reason) => (what, reason),
            Self::Failed(reason) => ("error", reason),
            Self::NotStarted(reason) => ("not run", reason),
        }
    }
}

/// Returns the worst exit code, or an error if the options are wrong for every manifest.
pub(crate) async fn judge(args: &WorkloadArgs, interruption: &Arc<Interruption>) -> Result<Exit, Failure> {
    let manifests = manifests(&args.path, args.nodes.nodes.as_deref())?;
    let folders = report_folders(&manifests);
    // The nodes of a cluster are read once, so all manifests are judged on the same ones.
    let nodes = WorkloadNodes::of(&args.nodes).await?;
    let (mut rows, mut ended_by) = (Vec::new(), None);
    for ((number, manifest), folder) in (1..).zip(&manifests).zip(&folders) {
        let name = manifest.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if interruption.is_requested() {
            ended_by = Some("the run was interrupted");
        }
        if let Some(reason) = ended_by {
            rows.push((name, Outcome::NotStarted(reason)));
            continue;
        }
        let title = format!("{name}: manifest {number} of {}", manifests.len());
        let args = WorkloadArgs { path: manifest.clone(), ..args.clone() };
        let judged = one(args, nodes.clone(), folder, &title, interruption).await;
        let (outcome, is_last) = judged.unwrap_or_else(|failure| (Outcome::of_failure(&failure), false));
        ended_by = is_last.then_some("an earlier manifest failed");
        rows.push((name, outcome));
    }
    if let Some(reason) = wrong_options(&rows) {
        return Err(Failure::Usage(reason.to_owned()));
    }
    output::data(&table(&rows));
    Ok(rows.iter().map(|(_, outcome)| outcome.exit()).max().unwrap_or(Exit::Inconclusive))
}

/// Judges one manifest. Also returns whether the manifests after it are not judged.
async fn one(
    args: WorkloadArgs,
    nodes: WorkloadNodes,
    folder: &OsStr,
    title: &str,
    interruption: &Arc<Interruption>,
) -> Result<(Outcome, bool), Failure> {
    let mut request = Request::of_workload(args, nodes)?;
    let of_one_report = [
        ("--baseline", request.output.baseline.is_some()),
        ("output.evidence", request.output.evidence.is_some()),
    ];
    if let Some((option, _)) = of_one_report.iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::Usage(format!(
            "{option} belongs to one report: pass one manifest, not a folder"
        )));
    }
    request.output.folder.push(folder);
    if !request.output.quiet {
        output::say(title);
    }
    let report = run::judge(&request, interruption).await?;
    let exit = run::finish(&request, &report).await?;
    let ends_early = request.execution.fail_fast || request.cluster.hold_on_failure;
    Ok((Outcome::Judged(exit, clauses(&report, exit)), ends_early && exit == Exit::NotConformant))
}

/// Returns the YAML files directly in a folder, sorted, without the file of Nodes that `--nodes` names.
fn manifests(folder: &Path, nodes: Option<&str>) -> Result<Vec<PathBuf>, Failure> {
    let nodes = nodes.and_then(|file| std::fs::canonicalize(file).ok());
    let is_nodes = |path: &Path| nodes.is_some() && std::fs::canonicalize(path).ok() == nodes;
    let usage = |reason: &str| Failure::Usage(format!("workload {}: {reason}", folder.display()));
    let entries = std::fs::read_dir(folder).map_err(|error| usage(&error.to_string()))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| usage(&error.to_string()))?.path();
        let is_yaml = path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
        if is_yaml && path.is_file() && !is_nodes(&path) {
            found.push(path);
        }
    }
    found.sort();
    if found.is_empty() {
        return Err(usage("the folder has no *.yaml or *.yml file: pass a manifest, or another folder"));
    }
    Ok(found)
}

/// Returns each manifest's report folder: the file name without extension, unless two would be equal.
fn report_folders(manifests: &[PathBuf]) -> Vec<&OsStr> {
    let mut folders = Vec::new();
    for path in manifests {
        let with_same_stem = manifests.iter().filter(|other| other.file_stem() == path.file_stem());
        let name = if with_same_stem.count() > 1 { path.file_name() } else { path.file_stem() };
        folders.push(name.unwrap_or_default());
    }
    folders
}

/// Lists the clauses that decided the exit code or, after a pass, those that were not judged.
fn clauses(report: &Report, exit: Exit) -> String {
    let mut found = Vec::new();
    for target in &report.targets {
        let counts = |clause: &&ClauseResult| match exit {
            Exit::Conformant => clause.outcome.verdict == Verdict::NotRun,
            _ => clause.exit(report.settings.strict) == exit,
        };
        let ids: Vec<_> = target.clauses.iter().filter(counts).map(|clause| clause.id.as_str()).collect();
        if !ids.is_empty() {
            let of_target =
                if report.targets.len() > 1 { format!(" on {}", target.title()) } else { String::new() };
            found.push(format!("{}{of_target}", ids.join(", ")));
        }
    }
    match (exit, found.is_empty()) {
        (Exit::Conformant, true) => String::new(),
        (Exit::Conformant, false) => format!("not judged: {}", found.join("; ")),
        (_, true) => "see the report".into(),
        (_, false) => found.join("; "),
    }
}

/// Returns the usage error that all manifests share, because such an error is about the options.
fn wrong_options(rows: &[(String, Outcome)]) -> Option<&str> {
    let first = usage_error(rows.first()?)?;
    rows.iter().all(|row| usage_error(row) == Some(first)).then_some(first)
}

fn usage_error((_, outcome): &(String, Outcome)) -> Option<&str> {
    match outcome {
        Outcome::Refused(USAGE_ERROR, reason) => Some(reason),
        _ => None,
    }
}

fn table(rows: &[(String, Outcome)]) -> String {
    let mut table = list::table(["MANIFEST", "OUTCOME", "CLAUSES OR REASON"]);
    for (name, outcome) in rows {
        let (what, detail) = outcome.cells();
        table.add_row([name, what, detail]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(reason: WorkloadError) -> Outcome {
        Outcome::of_failure(&Failure::of_workload(Path::new("w.yaml"), reason))
    }

    fn row(outcome: Outcome) -> (String, Outcome) {
        ("w.yaml".to_owned(), outcome)
    }

    #[rstest::rstest]
    #[case(Outcome::Judged(Exit::Conformant, String::new()), "judged: passed", 0)]
    #[case(Outcome::Judged(Exit::NotConformant, "AON-01".into()), "failed", 1)]
    #[case(Outcome::Judged(Exit::Inconclusive, "AON-01".into()), "judged: inconclusive", 3)]
    #[case(workload(WorkloadError::Rejected("no".into())), "refused by admission", 2)]
    #[case(workload(WorkloadError::DoesNotFit("no".into())), "not feasible", 2)]
    #[case(workload(WorkloadError::Taken("Queue q".into())), "not supported", 2)]
    #[case(workload(WorkloadError::NoAnswer("no".into())), "error", 3)]
    #[case(Outcome::of_failure(&Failure::Usage("no".into())), "usage error", 2)]
    #[case(Outcome::NotStarted("an earlier manifest failed"), "not run", 3)]
    fn each_outcome_has_a_word_and_an_exit_code(
        #[case] outcome: Outcome,
        #[case] word: &str,
        #[case] code: u8,
    ) {
        assert_eq!((outcome.cells().0, outcome.exit().code()), (word, code));
        assert!(table(&[row(outcome)]).contains(word));
    }

    #[test]
    fn options_are_wrong_if_every_manifest_was_refused_for_the_same_reason() {
        let usage = |reason: &str| row(Outcome::of_failure(&Failure::Usage(reason.into())));
        assert_eq!(wrong_options(&[usage("--scope X"), usage("--scope X")]), Some("--scope X"));
        assert_eq!(wrong_options(&[usage("--scope X"), usage("another")]), None);
        let passed = row(Outcome::Judged(Exit::Conformant, String::new()));
        assert_eq!(wrong_options(&[usage("--scope X"), passed]), None);
    }

    #[test]
    fn report_folders_are_unique() {
        let manifests = ["d/a.yaml", "d/b.yaml", "d/b.yml"].map(PathBuf::from);
        assert_eq!(report_folders(&manifests), ["a", "b.yaml", "b.yml"]);
    }

    #[test]
    fn a_folder_has_its_yaml_files_in_order_without_the_nodes() {
        let folder = tempfile::tempdir().unwrap();
        let message = manifests(folder.path(), Some("4x8")).unwrap_err().to_string();
        assert!(message.contains("has no *.yaml or *.yml file"), "{message}");
        for name in ["b.yml", "a.yaml", "nodes.yaml", "notes.md"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        std::fs::create_dir(folder.path().join("c.yaml")).unwrap();
        let nodes = folder.path().join("nodes.yaml").display().to_string();
        let found = manifests(folder.path(), Some(&nodes)).unwrap();
        let names: Vec<_> = found.iter().filter_map(|path| path.file_name()).collect();
        assert_eq!(names, ["a.yaml", "b.yml"]);
    }
}
