//! Generates the tables of `results/README.md` and README.md from the compact reports in `results/`, under a
//! heading per operator. In a matrix, a row is an [`Area`] of the contract, and a column a target of one
//! report. A test compares both pages with the reports byte for byte.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use conformance_contract::clauses::{Level, VERSION, clause};
use conformance_contract::verdict::Verdict;
use jiff::Timestamp;

use super::areas::Area;
use super::compact::group_of;
use super::{CompactError, CompactReport, CompactTarget, Implementation, StoreError, read_compact};

/// A compact report in the folder of published results.
#[derive(Clone, Debug)]
pub struct Published {
    /// Name of the file.
    pub file: String,
    /// Its content.
    pub report: CompactReport,
}

/// The marks around the generated part of README.md.
const BEGIN: &str = "<!-- begin results: `grove-conformance report results` writes this part -->\n";
const END: &str = "<!-- end results -->\n";

const INTRODUCTION: &str = "\
<!-- `grove-conformance report results` writes this page. -->
# Results

What schedulers and operators do, by part of the [contract](../docs/contract/README.md).
[CONTRIBUTING.md](CONTRIBUTING.md) explains how to make, check and contribute a report.
";

/// A page with matrices: its areas, and the relative path of `results/`.
struct Page {
    areas: &'static [Area],
    results: &'static str,
}

const IN_RESULTS: Page = Page { areas: &Area::ALL, results: "" };
const IN_README: Page = Page { areas: &Area::IN_README, results: "results/" };

/// The verdicts that a cell counts after the passed clauses.
const SHOWN: [(Verdict, &str); 5] = [
    (Verdict::Fail, "fail"),
    (Verdict::Flaky, "flaky"),
    (Verdict::KnownDeviation, "deviate"),
    (Verdict::Error, "error"),
    (Verdict::NotRun, "not run"),
];

/// Reads and checks every `.json` file of a folder, in the order of their names.
pub fn read_published(folder: &Path) -> Result<Vec<Published>, CompactError> {
    let failed = |source: std::io::Error| StoreError::Io { path: folder.to_owned(), source };
    let mut files = BTreeSet::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            files.insert(path);
        }
    }
    let published = |path: &PathBuf| {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        read_compact(path).map(|report| Published { file, report })
    };
    files.iter().map(published).collect()
}

/// The text of `results/README.md`.
pub fn results_page(published: &[Published]) -> String {
    let mut text = INTRODUCTION.to_owned();
    if published.is_empty() {
        return text + "\nNo report is published yet.\n";
    }
    text += "\n";
    text += &legend();
    for (operator, reports) in by_operator(published) {
        let tables = [results(&reports), matrix(&reports, &IN_RESULTS), violations(&reports)];
        text += &format!("\n## {operator}\n\n{}", tables.join("\n"));
    }
    text += &format!("\n## Runs\n\n{}", runs(published));
    text
}

/// README.md with the tables between its two marks. `None` if a mark is missing.
pub fn with_results(readme: &str, published: &[Published]) -> Option<String> {
    let (before, rest) = readme.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{}{END}{after}", part_of_readme(published)))
}

fn part_of_readme(published: &[Published]) -> String {
    if published.is_empty() {
        return "No report is published yet: [how to contribute one](results/CONTRIBUTING.md).\n".to_owned();
    }
    let mut text = "\
[All results](results/README.md) explain the cells. They have the other clauses, the clauses that fail, and the machine, date and
command of each run. The last row counts recommended clauses.
"
    .to_owned();
    for (operator, reports) in by_operator(published) {
        text += &format!("\n### {operator}\n\n{}", matrix(&reports, &IN_README));
    }
    text
}

fn legend() -> String {
    [
        "`38/41, 2 fail, 1 not run`: 41 required clauses apply to the target, and 38 of them pass. The clauses",
        "of a feature that the operator does not declare do not apply.",
        "`deviate`: violated as a [known deviation](../docs/reading-a-report.md#known-deviations).",
        "The last row counts the recommended clauses of all parts.",
        &format!("The current version of the contract is {VERSION}.\n"),
    ]
    .join("\n")
}

/// Groups the reports by operator: the reference operator first, then the others by name.
fn by_operator(published: &[Published]) -> Vec<(String, Vec<&Published>)> {
    let mut operators: BTreeMap<(bool, String), Vec<&Published>> = BTreeMap::new();
    for one in published {
        let operator = &one.report.operator;
        operators.entry((!operator.reference, heading(operator))).or_default().push(one);
    }
    operators.into_iter().map(|((_, heading), reports)| (heading, reports)).collect()
}

fn heading(operator: &Implementation) -> String {
    let name = &operator.name;
    match &operator.organization {
        _ if operator.reference => format!("Reference operator ({name})"),
        Some(organization) => format!("Operator {name} of {organization}"),
        None => format!("Operator {name}"),
    }
}

/// Returns the targets in the order of their schedulers, each with its report.
fn targets<'a>(reports: &[&'a Published]) -> Vec<(&'a Published, &'a CompactTarget)> {
    let mut found: Vec<(&'a Published, &'a CompactTarget)> = Vec::new();
    for &one in reports {
        found.extend(one.report.targets.iter().map(|target| (one, target)));
    }
    found.sort_by_key(|(one, target)| (target.title(), one.report.date, one.file.clone()));
    found
}

/// Each target with its result and the conditions of its runs.
fn results(reports: &[&Published]) -> String {
    let head = ["scheduler", "operator", "result", "machine", "suite", "date", "contract"];
    let mut text = head_row(Vec::from(head.map(str::to_owned)));
    for (one, target) in targets(reports) {
        let report = &one.report;
        text += &row(vec![
            format!("[{}]({})", target.title(), one.file),
            version(&report.operator),
            target.result.clone(),
            report.machine.clone(),
            suite(report),
            day(report.date),
            contract(&report.contract),
        ]);
    }
    text
}

/// One column per target. The first rows name the report's operator and contract.
fn matrix(reports: &[&Published], page: &Page) -> String {
    let targets = targets(reports);
    let mut text = head_row(line("scheduler", &targets, |one, target| {
        format!("[{}]({}{})", target.title(), page.results, one.file)
    }));
    text += &row(line("operator", &targets, |one, _| version(&one.report.operator)));
    text += &row(line("contract", &targets, |one, _| contract(&one.report.contract)));
    for area in page.areas {
        text += &row(line(area.title(), &targets, |_, target| {
            let required = verdicts(target, Level::Required);
            let of_area = required.iter().filter(|(id, _)| Area::of(id) == *area);
            tally(&of_area.map(|(_, verdict)| *verdict).collect::<Vec<_>>())
        }));
    }
    text += &row(line("recommended", &targets, |_, target| {
        let recommended = verdicts(target, Level::Recommended);
        tally(&recommended.iter().map(|(_, verdict)| *verdict).collect::<Vec<_>>())
    }));
    text
}

/// A title, and a cell for each target.
fn line(
    title: &str,
    targets: &[(&Published, &CompactTarget)],
    cell: impl Fn(&Published, &CompactTarget) -> String,
) -> Vec<String> {
    let cells = targets.iter().map(|&(one, target)| cell(one, target));
    std::iter::once(title.to_owned()).chain(cells).collect()
}

/// Each target with its required clauses that are violated or undecided.
fn violations(reports: &[&Published]) -> String {
    let head = ["scheduler", "operator", "fail or flaky", "deviate", "error"];
    let mut text = head_row(Vec::from(head.map(str::to_owned)));
    for (one, target) in targets(reports) {
        let required = verdicts(target, Level::Required);
        let listed = |wanted: &[Verdict]| {
            let found = required.iter().filter(|(_, verdict)| wanted.contains(verdict));
            let links: Vec<String> = found.map(|(id, _)| clause_link(id)).collect();
            if links.is_empty() { "–".to_owned() } else { links.join(", ") }
        };
        text += &row(vec![
            target.title(),
            version(&one.report.operator),
            listed(&[Verdict::Fail, Verdict::Flaky]),
            listed(&[Verdict::KnownDeviation]),
            listed(&[Verdict::Error]),
        ]);
    }
    text
}

fn runs(published: &[Published]) -> String {
    let head = [
        "report",
        "operator",
        "contract",
        "suite",
        "machine",
        "run",
        "Kubernetes",
        "date",
        "processor time",
        "command",
    ];
    let mut text = head_row(Vec::from(head.map(str::to_owned)));
    for Published { file, report } in published {
        for run in &report.runs {
            text += &row(vec![
                format!("[{file}]({file})"),
                format!("{} {}", report.operator.name, report.operator.version),
                contract(&report.contract),
                suite(report),
                report.machine.clone(),
                run.provider.clone(),
                run.kubernetes_version.clone(),
                day(run.date),
                run.processor_seconds.to_string(),
                format!("`{}`", run.command),
            ]);
        }
    }
    text
}

fn verdicts(target: &CompactTarget, level: Level) -> Vec<(&str, Verdict)> {
    let of_level = target.clauses.get(&level).into_iter().flatten();
    of_level.map(|(id, verdict)| (id.as_str(), *verdict)).collect()
}

/// The content of a cell, such as `38/41, 2 fail, 1 not run`. `–` if no clause applies.
fn tally(verdicts: &[Verdict]) -> String {
    let count = |verdict: Verdict| verdicts.iter().filter(|found| **found == verdict).count();
    let applicable = verdicts.len() - count(Verdict::Unsupported);
    if applicable == 0 {
        return "–".to_owned();
    }
    let mut text = format!("{}/{applicable}", count(Verdict::Pass));
    for (verdict, word) in SHOWN {
        let number = count(verdict);
        if number > 0 {
            text += &format!(", {number} {word}");
        }
    }
    text
}

/// The contract's version, marked if it is not the current one.
fn contract(version: &str) -> String {
    let parsed = |text: &str| -> Vec<u64> { text.split('.').map_while(|part| part.parse().ok()).collect() };
    match parsed(version).cmp(&parsed(VERSION)) {
        std::cmp::Ordering::Less => format!("{version} (older)"),
        std::cmp::Ordering::Equal => version.to_owned(),
        std::cmp::Ordering::Greater => format!("{version} (newer)"),
    }
}

/// The operator's commit, with a link if its project is on GitHub, or its version.
fn version(operator: &Implementation) -> String {
    let Some(commit) = &operator.commit else { return operator.version.clone() };
    match operator.url.as_deref().filter(|url| url.starts_with("https://github.com/")) {
        Some(url) => format!("[{}]({}/commit/{commit})", short(commit), url.trim_end_matches('/')),
        None => short(commit).to_owned(),
    }
}

/// The suite's version and commit.
fn suite(report: &CompactReport) -> String {
    format!("{} at {}", report.suite, short(&report.commit))
}

fn day(date: Timestamp) -> String {
    date.strftime("%Y-%m-%d").to_string()
}

fn short(commit: &str) -> &str {
    commit.get(..8).unwrap_or(commit)
}

/// A link to the clause's page. A clause that the current contract does not have has no page.
fn clause_link(id: &str) -> String {
    if clause(id).is_none() {
        return id.to_owned();
    }
    let (group, anchor) = (group_of(id).to_lowercase(), id.to_lowercase());
    format!("[{id}](../docs/contract/{group}.md#{anchor})")
}

fn head_row(cells: Vec<String>) -> String {
    let line = format!("{}|\n", "|---".repeat(cells.len()));
    row(cells) + &line
}

fn row(cells: Vec<String>) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', r"\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
#[path = "published_tests.rs"]
mod tests;
