//! The compact report: the verdicts of one or more runs, small enough for `results/` in the repository. It
//! follows from full reports, and can be verified against them, except for the machine and the commit, which
//! the author states. Without the full reports, only accidental edits are found, by its digest and counts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use conformance_contract::clauses::{Level, VERSION, clause};
use conformance_contract::verdict::Verdict;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::evidence::digest;
use super::model::API_VERSION;
use super::{
    HandEdited, Implementation, MergeError, MergeInput, Provider, Report, Seconds, StoreError, TargetReport,
    merge, store, verify,
};

/// The `kind` of a compact report.
pub const COMPACT: &str = "CompactReport";

type Clauses = BTreeMap<Level, BTreeMap<String, Verdict>>;
type Counts = BTreeMap<String, BTreeMap<Level, BTreeMap<String, usize>>>;

/// The verdicts of one or more runs of the same operator, merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompactReport {
    /// Always `conformance.grove.io/v1alpha2`.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Always `CompactReport`.
    #[schemars(extend("const" = COMPACT))]
    pub kind: String,
    /// SHA-256 of this document as compact JSON with an empty digest, as `sha256:` and 64 hexadecimal digits.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub digest: String,
    /// Version of the contract.
    pub contract: String,
    /// Version of the suite.
    pub suite: String,
    /// Git commit of the suite, as stated by the author.
    #[schemars(regex(pattern = "^[0-9a-f]{40}$"))]
    pub commit: String,
    /// The machine of the runs, as stated by the author.
    pub machine: String,
    /// When the last run ended.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub date: Timestamp,
    /// The operator under test.
    pub operator: Implementation,
    /// The runs in the order of their dates.
    pub runs: Vec<CompactRun>,
    /// One entry per target.
    pub targets: Vec<CompactTarget>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompactRun {
    /// The command line of the run, without the folder of its report.
    pub command: String,
    /// `local`, `kind` or `existing`.
    pub provider: String,
    /// Version of the API server.
    pub kubernetes_version: String,
    /// When the run ended.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub date: Timestamp,
    /// Processor time of the suite and of all programs that it started. On kind, the cluster is not included.
    pub processor_seconds: Seconds,
    /// SHA-256 of the run's report as compact JSON, as in an evidence file.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub report: String,
}

/// The verdicts on one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompactTarget {
    /// Name of the backend as in the report.
    pub backend: String,
    /// Variant of the backend, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Version of the scheduler.
    pub version: String,
    /// The target's result in one line.
    pub result: String,
    /// Number of clauses by group, level and verdict.
    pub counts: Counts,
    /// The verdict on each clause, by level and id.
    pub clauses: Clauses,
}

/// What the author states: facts that the reports do not contain, and the backends to include.
#[derive(Clone, Debug, Default)]
pub struct Stated {
    /// The machine of the runs.
    pub machine: String,
    /// Git commit of the suite.
    pub commit: String,
    /// The backends to include. Empty for all.
    pub backends: Vec<String>,
}

/// Why there is no valid compact report.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message describes its variant")]
pub enum CompactError {
    #[error("{}: a merged report does not contain its commands: give the reports of the runs", .0.display())]
    Merged(PathBuf),
    #[error("{}: {edited}", .file.display())]
    HandEdited { file: PathBuf, edited: HandEdited },
    #[error(
        "an incomplete report is not published ({0}): run the suite again, or add a report with the remaining cases"
    )]
    Incomplete(String),
    #[error("the reports have no contract version: run the suite again")]
    NoContract,
    #[error("the reports have no target of the backend {0}")]
    NoTarget(String),
    #[error(transparent)]
    Merge(#[from] MergeError),
    #[error("{} is not a valid compact report:{}", .path.display(), lines(.problems))]
    Invalid { path: PathBuf, problems: Vec<String> },
    #[error("the compact report does not follow from these reports: {} differ", .0.join(", "))]
    Differs(Vec<String>),
    #[error(transparent)]
    File(#[from] StoreError),
}

fn lines(problems: &[String]) -> String {
    problems.iter().map(|problem| format!("\n  {problem}")).collect()
}

impl CompactReport {
    /// Builds the compact report of these runs, whose reports must be complete, unedited and mergeable.
    pub fn of(mut sources: Vec<MergeInput>, stated: &Stated) -> Result<Self, CompactError> {
        sources.sort_by_key(|source| source.report.date);
        for source in &sources {
            if is_merged(&source.report) {
                return Err(CompactError::Merged(source.file.clone()));
            }
            verify(&source.report)
                .map_err(|edited| CompactError::HandEdited { file: source.file.clone(), edited })?;
        }
        let merged = merge(&sources, String::new())?;
        if let Some(reason) = merged.incompleteness() {
            return Err(CompactError::Incomplete(reason));
        }
        let Some(contract) = merged.suite.contract.clone() else { return Err(CompactError::NoContract) };
        let has_target = |name: &&String| merged.targets.iter().any(|target| target.backend == **name);
        if let Some(missing) = stated.backends.iter().find(|name| !has_target(name)) {
            return Err(CompactError::NoTarget(missing.clone()));
        }
        let is_selected =
            |target: &&TargetReport| stated.backends.is_empty() || stated.backends.contains(&target.backend);
        let providers = merged.providers();
        let selected = merged.targets.iter().filter(is_selected);
        let mut compact = Self {
            api_version: API_VERSION.to_owned(),
            kind: COMPACT.to_owned(),
            digest: String::new(),
            contract,
            suite: merged.suite.version.clone(),
            commit: stated.commit.clone(),
            machine: stated.machine.clone(),
            date: merged.date,
            operator: merged.operator.clone(),
            runs: sources
                .iter()
                .map(|source| CompactRun::of(&source.report))
                .collect::<Result<Vec<_>, StoreError>>()?,
            targets: selected.map(|target| CompactTarget::of(target, &providers)).collect(),
        };
        compact.digest = compact.own_digest()?;
        Ok(compact)
    }

    /// Returns the contradictions that can be found without the full reports, one per line.
    pub fn problems(&self) -> Vec<String> {
        let mut found = Vec::new();
        match self.own_digest() {
            Ok(wanted) if wanted != self.digest => {
                found
                    .push(format!("digest: found {}, want {wanted}, the digest of the content", self.digest));
            }
            Ok(_) => {}
            Err(error) => found.push(error.to_string()),
        }
        if !is_hexadecimal(&self.commit, 40) {
            found.push(format!("commit {:?}: want 40 hexadecimal digits", self.commit));
        }
        if self.machine.trim().is_empty() {
            found.push("machine: state the processors and the memory".to_owned());
        }
        if self.targets.is_empty() {
            found.push("targets: the report has no target".to_owned());
        }
        if self.runs.iter().map(|run| run.date).max() != Some(self.date) {
            found.push(format!("date {}: want the end of the last run", self.date));
        }
        for run in &self.runs {
            let digits = run.report.strip_prefix("sha256:").unwrap_or_default();
            if !is_hexadecimal(digits, 64) {
                found.push(format!("runs: {:?} is not the digest of a report", run.report));
            }
        }
        found.extend(self.targets.iter().flat_map(|target| target.problems(self.contract == VERSION)));
        found
    }

    /// Checks that the document is exactly what the full reports give.
    pub fn verify(&self, sources: Vec<MergeInput>) -> Result<(), CompactError> {
        let backends: BTreeSet<String> = self.targets.iter().map(|target| target.backend.clone()).collect();
        let stated = Stated {
            machine: self.machine.clone(),
            commit: self.commit.clone(),
            backends: backends.into_iter().collect(),
        };
        let mut wanted = Self::of(sources, &stated)?;
        // Compare the headline only if the contract is the same: it depends on the contract of the program.
        if self.contract != VERSION {
            for (target, own) in wanted.targets.iter_mut().zip(&self.targets) {
                target.result.clone_from(&own.result);
            }
            wanted.digest = wanted.own_digest()?;
        }
        if *self == wanted {
            return Ok(());
        }
        let [own, wanted] =
            [self, &wanted].map(|document| serde_json::to_value(document).unwrap_or_default());
        let fields = wanted.as_object().into_iter().flatten();
        let differing = fields.filter(|(name, value)| own[name.as_str()] != **value);
        Err(CompactError::Differs(differing.map(|(name, _)| name.clone()).collect()))
    }

    fn own_digest(&self) -> Result<String, StoreError> {
        digest(&Self { digest: String::new(), ..self.clone() })
    }

    fn text(&self) -> Result<String, StoreError> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| StoreError::Render { file: "the compact report", message: error.to_string() })?;
        Ok(text + "\n")
    }
}

impl CompactRun {
    fn of(report: &Report) -> Result<Self, StoreError> {
        Ok(Self {
            command: without_output(&report.command),
            provider: report.provider.name.clone(),
            kubernetes_version: report.provider.kubernetes_version.clone(),
            date: report.date,
            processor_seconds: report.timings.processor_seconds.total(),
            report: digest(report)?,
        })
    }
}

impl CompactTarget {
    fn of(target: &TargetReport, providers: &[&Provider]) -> Self {
        let mut clauses = Clauses::new();
        for clause in &target.clauses {
            let of_level = clauses.entry(clause.level).or_default();
            of_level.insert(clause.id.clone(), clause.outcome.verdict);
        }
        Self {
            backend: target.backend.clone(),
            variant: target.variant.clone(),
            version: target.version.clone(),
            result: target.headline(providers).to_string(),
            counts: counts(&clauses),
            clauses,
        }
    }

    /// Backend, version and variant, such as `default-scheduler v1.36.5 (PodGang scope)`.
    pub fn title(&self) -> String {
        let variant = self.variant.as_ref().map(|variant| format!(" ({variant})")).unwrap_or_default();
        format!("{} {}{variant}", self.backend, self.version)
    }

    fn problems(&self, same_contract: bool) -> Vec<String> {
        let title = self.title();
        let mut found = Vec::new();
        if self.counts != counts(&self.clauses) {
            found.push(format!("{title}: the counts do not follow from the clauses"));
        }
        let mut seen = BTreeSet::new();
        for (level, id) in self.clauses.iter().flat_map(|(level, all)| all.keys().map(move |id| (level, id)))
        {
            if !seen.insert(id) {
                found.push(format!("{title}: clause {id} has two levels"));
            }
            let known = clause(id).filter(|known| known.level == *level);
            if same_contract && known.is_none() {
                found.push(format!("{title}: contract {VERSION} has no {level} clause {id}"));
            }
        }
        found
    }
}

fn counts(clauses: &Clauses) -> Counts {
    let mut counts = Counts::new();
    for (level, verdicts) in clauses {
        for (id, verdict) in verdicts {
            let of_level = counts.entry(group_of(id).to_owned()).or_default().entry(*level).or_default();
            *of_level.entry(verdict.as_str().to_owned()).or_default() += 1;
        }
    }
    counts
}

/// Returns the group of a clause, even if this version does not know the clause.
pub(super) fn group_of(clause: &str) -> &str {
    clause.split_once('-').map_or(clause, |(group, _)| group)
}

fn is_hexadecimal(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// `report merge` and `report fetch` write their own command into the report.
fn is_merged(report: &Report) -> bool {
    let mut words = report.command.split_whitespace().skip(1);
    words.find(|word| !word.starts_with('-')) == Some("report")
}

/// Removes the report's folder from a command, unless it is quoted: quoted folders may contain spaces.
fn without_output(command: &str) -> String {
    let mut words = command.split(' ');
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        if ["-o", "--output"].contains(&word) {
            match words.next() {
                Some(folder) if folder.starts_with('\'') => kept.extend([word, folder]),
                _ => {}
            }
        } else if !word.starts_with("--output=") || word.contains('\'') {
            kept.push(word);
        }
    }
    kept.join(" ")
}

/// Writes a compact report as JSON.
pub fn write_compact(path: &Path, report: &CompactReport) -> Result<(), CompactError> {
    let problems = report.problems();
    if !problems.is_empty() {
        return Err(CompactError::Invalid { path: path.to_owned(), problems });
    }
    Ok(store::write_text(path, &report.text()?)?)
}

/// Reads a compact report. Its text must be exactly what [`write_compact`] writes.
pub fn read_compact(path: &Path) -> Result<CompactReport, CompactError> {
    let found: CompactReport = store::read_document(path, COMPACT)?;
    let text =
        std::fs::read_to_string(path).map_err(|source| StoreError::Io { path: path.to_owned(), source })?;
    let mut problems = found.problems();
    if text != found.text()? {
        problems.push(
            "the text differs from what `report compact` writes: write the file with that command".to_owned(),
        );
    }
    if problems.is_empty() {
        Ok(found)
    } else {
        Err(CompactError::Invalid { path: path.to_owned(), problems })
    }
}

#[cfg(test)]
#[path = "compact_tests.rs"]
mod tests;
