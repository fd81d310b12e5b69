//! One report from several: from the shards of a run, or from runs of the same operator on other backends, with other
//! providers, or with an upgrade.
//!
//! Each document must [verify](super::verify()), and all must agree on the suite, the contract and the operator. Targets are
//! matched by backend and variant. Documents that share a target must agree on its scheduler's version and its features; if
//! they share the provider as well, also on Kubernetes, its feature gates and the programs.
//!
//! Of a case that several documents have, the one that held it is taken. If no document held it, one that names what it lacked
//! is taken before one that was interrupted, and that before one that was not asked. A case that runs with two providers held
//! is in the report twice, each time with its provider. Two runs with one provider that both held a case do not merge: their
//! verdicts may differ, and a verdict is not to be chosen. A merged report is incomplete as long as a case that was
//! interrupted is in no other.
//!
//! The contract is not needed: a document lists every clause with its promise. The documents' verdicts of clauses
//! are not read; they are concluded from the merged cases by [`TargetReport::concluded`], as for a run, so the
//! merged document verifies as they do. The proofs of a violation come along with their case.
//!
//! Facts about a whole run are combined as far as that makes sense: building and total times are summed over the
//! machines, the time to a ready cluster and the settings are the maximum, the date is the latest. Nothing is
//! copied: artifact folders are named where they are, relative to the merged report.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use conformance_contract::clauses::CLAUSES;
use conformance_contract::verdict::{Outcome, Verdict};

use super::left_out::is_left_out;
use super::{
    CaseResult, ClauseResult, Component, Features, HandEdited, PeakMemory, Provider, Report, Seconds,
    Settings, TargetReport, Timings, verify,
};

/// A document to merge.
#[derive(Clone, Debug)]
pub struct MergeInput {
    /// Its file, for messages.
    pub file: PathBuf,
    /// Its folder as seen from the merged report's, such as `../shard-1`.
    pub folder: PathBuf,
    /// What it says.
    pub report: Report,
}

/// Why documents do not merge.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// None was given.
    #[error("there is nothing to merge")]
    Nothing,
    /// One was edited by hand.
    #[error("{}: {reason}", .file.display())]
    HandEdited {
        /// Its file.
        file: PathBuf,
        /// Where it does not agree with itself.
        reason: HandEdited,
    },
    /// Two are about different things.
    #[error("{files} are not about the same {what}: {found}")]
    Differ {
        /// The files.
        files: Pair,
        /// What differs.
        what: String,
        /// What they say, in the order of the files.
        found: String,
    },
    /// Two have run the same case with the same provider.
    #[error("{files} both hold {case} on {target}, and a verdict is not to be chosen")]
    HeldTwice {
        /// The files.
        files: Pair,
        /// The case's id.
        case: String,
        /// The target's title.
        target: String,
    },
}

/// Two files that do not go together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair(pub PathBuf, pub PathBuf);

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} and {}", self.0.display(), self.1.display())
    }
}

/// The documents as one, in their order; `command` is the one that merges them.
///
/// # Errors
/// [`MergeError`], naming the files.
pub fn merge(sources: &[MergeInput], command: String) -> Result<Report, MergeError> {
    let [first, rest @ ..] = sources else { return Err(MergeError::Nothing) };
    for MergeInput { file, report, .. } in sources {
        verify(report).map_err(|reason| MergeError::HandEdited { file: file.clone(), reason })?;
    }
    for other in rest {
        same(first, other)?;
    }
    let report = first.report.clone();
    let date = sources.iter().map(|source| source.report.date).max().unwrap_or(report.date);
    let (settings, timings) = (settings(sources), timings(sources));
    let (components, targets) = (components(sources), targets(sources)?);
    let other_providers = other_providers(sources);
    let merged = Report {
        date,
        command,
        incomplete: false,
        incomplete_reason: None,
        other_providers,
        components,
        settings,
        targets,
        timings,
        ..report
    };
    Ok(match incomplete_reason(sources, &merged) {
        Some(reason) => merged.incomplete(reason),
        None => merged,
    })
}

/// Why the merged report is incomplete: a case that was interrupted is in no other report, or a document is incomplete
/// for another reason than its cases.
fn incomplete_reason(sources: &[MergeInput], merged: &Report) -> Option<String> {
    let mut incomplete = sources.iter().filter(|source| source.report.incomplete);
    let is_left = !merged.interrupted().is_empty();
    let decisive = incomplete.find(|source| is_left || source.report.interrupted().is_empty())?;
    let reason = decisive.report.incomplete_reason.as_deref().unwrap_or("no reason is given");
    Some(format!("{}: {reason}", decisive.file.display()))
}

/// Something of a whole document that must be the same in all.
type Said = fn(&Report) -> String;

/// What must be the same: its name, and what a document says of it.
const SAME: [(&str, Said); 3] = [
    ("version of the suite", |report| report.suite.version.clone()),
    ("version of the contract", |report| report.suite.contract.clone().unwrap_or_default()),
    ("operator", |report| format!("{} {}", report.operator.name, report.operator.version)),
];

fn same(first: &MergeInput, other: &MergeInput) -> Result<(), MergeError> {
    for (what, said) in SAME {
        agree(first, other, what, &said(&first.report), &said(&other.report))?;
    }
    Ok(())
}

fn agree(
    first: &MergeInput,
    other: &MergeInput,
    what: &str,
    says: &str,
    says_other: &str,
) -> Result<(), MergeError> {
    if says == says_other {
        return Ok(());
    }
    let found = format!("{says:?} and {says_other:?}");
    Err(MergeError::Differ { files: pair(first, other), what: what.to_owned(), found })
}

fn pair(first: &MergeInput, other: &MergeInput) -> Pair {
    Pair(first.file.clone(), other.file.clone())
}

fn settings(sources: &[MergeInput]) -> Settings {
    let all = || sources.iter().map(|source| &source.report.settings);
    Settings {
        timeout_scale: all().map(|settings| settings.timeout_scale).fold(0.0, f64::max),
        concurrency: all().map(|settings| settings.concurrency).max().unwrap_or_default(),
        strict: all().any(|settings| settings.strict),
        seed: all().map(|settings| settings.seed).reduce(|one, other| one.filter(|_| one == other)).flatten(),
    }
}

fn timings(sources: &[MergeInput]) -> Timings {
    let all = |of: fn(&Timings) -> Seconds| sources.iter().map(move |source| of(&source.report.timings));
    Timings {
        build_seconds: all(|timings| timings.build_seconds).sum(),
        cluster_ready_seconds: all(|timings| timings.cluster_ready_seconds).max().unwrap_or_default(),
        total_seconds: all(|timings| timings.total_seconds).sum(),
        processor_seconds: sources.iter().map(|source| &source.report.timings.processor_seconds).sum(),
        peak_memory: sources.iter().fold(PeakMemory::default(), |mut most, source| {
            most.raise(&source.report.timings.peak_memory);
            most
        }),
    }
}

/// Every provider but the first document's, once.
fn other_providers(sources: &[MergeInput]) -> Vec<Provider> {
    let mut known: Vec<&Provider> = Vec::new();
    for provider in sources.iter().flat_map(|source| source.report.providers()) {
        if !known.contains(&provider) {
            known.push(provider);
        }
    }
    known.into_iter().skip(1).cloned().collect()
}

/// Every program once, in the order of the documents; clusters of several providers or versions have several of one name.
fn components(sources: &[MergeInput]) -> Vec<Component> {
    let mut known: Vec<&Component> = Vec::new();
    for component in sources.iter().flat_map(|source| &source.report.components) {
        if !known.contains(&component) {
            known.push(component);
        }
    }
    known.into_iter().cloned().collect()
}

/// Two documents about one target had the same cluster, of the same programs, as far as they share a provider.
fn same_cluster(first: &MergeInput, other: &MergeInput) -> Result<(), MergeError> {
    let shared = |of: &&Provider| first.report.provider_names().contains(&of.name.as_str());
    let providers: Vec<_> = other.report.providers().into_iter().filter(shared).collect();
    if providers.is_empty() {
        return Ok(());
    }
    let gates = |of: &Provider| {
        let gates = of.feature_gates.iter().map(|(name, on)| format!("{name}={on}"));
        gates.collect::<Vec<_>>().join(",")
    };
    for own in providers {
        let known: Vec<_> = first.report.providers().into_iter().filter(|of| of.name == own.name).collect();
        if let Some(one) = known.first().filter(|_| !known.contains(&own)) {
            agree(first, other, "Kubernetes", &one.kubernetes_version, &own.kubernetes_version)?;
            agree(first, other, "feature gates", &gates(one), &gates(own))?;
        }
    }
    for component in &other.report.components {
        let name = &component.name;
        let (known, own) = (digests(&first.report, name), digests(&other.report, name));
        // A run with an upgrade has two releases of the operator.
        if let Some(one) = known.first().filter(|_| !known.iter().any(|one| own.contains(one))) {
            agree(first, other, &format!("program {name}"), one, &component.digest)?;
        }
    }
    Ok(())
}

fn digests<'a>(report: &'a Report, program: &str) -> Vec<&'a str> {
    let its = report.components.iter().filter(|component| component.name == program);
    its.map(|component| component.digest.as_str()).collect()
}

/// One target as one document has it.
#[derive(Clone, Copy)]
struct TargetPart<'a> {
    source: &'a MergeInput,
    target: &'a TargetReport,
}

/// Every target once, in the order of the documents.
fn targets(sources: &[MergeInput]) -> Result<Vec<TargetReport>, MergeError> {
    let mut all: Vec<Vec<TargetPart<'_>>> = Vec::new();
    for source in sources {
        for target in &source.report.targets {
            let (part, title) = (TargetPart { source, target }, target.title());
            match all.iter_mut().find(|parts| parts.iter().any(|part| part.target.title() == title)) {
                Some(parts) => parts.push(part),
                None => all.push(vec![part]),
            }
        }
    }
    let names: BTreeSet<&str> = sources.iter().flat_map(|source| source.report.provider_names()).collect();
    all.iter().filter_map(|parts| target(parts, names.len() > 1).transpose()).collect()
}

/// The parts of one target as one; `None` of none. Where there are several providers, each case gets its own.
fn target(parts: &[TargetPart<'_>], of_several: bool) -> Result<Option<TargetReport>, MergeError> {
    let [first, rest @ ..] = parts else { return Ok(None) };
    let one = first.target;
    for (place, other) in parts.iter().enumerate() {
        for earlier in &parts[..place] {
            same_cluster(earlier.source, other.source)?;
        }
    }
    for other in rest {
        let about = |what: &str| format!("{what} of {}", one.title());
        let features = |target: &TargetReport| {
            target.features.supported.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        };
        agree(first.source, other.source, &about("scheduler"), &one.version, &other.target.version)?;
        let (says, says_other) = (features(one), features(other.target));
        agree(first.source, other.source, &about("features"), &says, &says_other)?;
    }
    let mut clauses: Vec<ClauseResult> = Vec::new();
    for clause in parts.iter().flat_map(|part| &part.target.clauses) {
        if clauses.iter().all(|known| known.id != clause.id) {
            clauses.push(ClauseResult { violations: Vec::new(), ..clause.clone() });
        }
    }
    let place = |clause: &ClauseResult| CLAUSES.iter().position(|known| known.id == clause.id);
    clauses.sort_by_key(|clause| place(clause).unwrap_or(CLAUSES.len()));
    let (backend, variant, version) = (one.backend.as_str(), one.variant.clone(), one.version.as_str());
    let merged = TargetReport::new(backend, variant, version, features(parts, one.features.clone()));
    Ok(Some(merged.concluded(clauses, cases(parts, of_several)?)))
}

/// What one document has shown need not be taken from the declaration.
fn features(parts: &[TargetPart<'_>], mut features: Features) -> Features {
    features.declared.retain(|gate| parts.iter().all(|part| part.target.features.declared.contains(gate)));
    features
}

/// Every case once for each provider that held it, else once, as whoever knows most of it has it.
fn cases(parts: &[TargetPart<'_>], of_several: bool) -> Result<Vec<CaseResult>, MergeError> {
    let mut chosen: Vec<(&TargetPart<'_>, &CaseResult)> = Vec::new();
    for part in parts {
        for case in &part.target.cases {
            let Some(place) = chosen.iter().rposition(|(_, known)| known.id == case.id) else {
                chosen.push((part, case));
                continue;
            };
            match (Knowledge::of(chosen[place].1), Knowledge::of(case)) {
                (Knowledge::Held, Knowledge::Held) => {
                    let provider = part.provider(case);
                    let is_same = |(other, known): &&(&TargetPart<'_>, &CaseResult)| {
                        known.id == case.id && other.provider(known) == provider
                    };
                    if let Some((other, _)) = chosen.iter().find(is_same) {
                        return Err(MergeError::HeldTwice {
                            files: pair(other.source, part.source),
                            case: case.id.clone(),
                            target: part.target.title(),
                        });
                    }
                    chosen.insert(place + 1, (part, case));
                }
                (before, now) if now > before => chosen[place] = (part, case),
                _ => {}
            }
        }
    }
    let taken = chosen.into_iter().map(|(part, case)| CaseResult {
        provider: of_several.then(|| part.provider(case).to_owned()),
        ..part.taken(case)
    });
    Ok(taken.collect())
}

/// How much a document knows of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Knowledge {
    /// Its run was not asked for it.
    LeftOut,
    /// Its run was interrupted before it ended.
    Interrupted,
    /// Its run was asked for it, and says why it did not begin: unsupported, or announced.
    NotBegun,
    /// It was run, or should have been.
    Held,
}

impl Knowledge {
    fn of(case: &CaseResult) -> Self {
        let all = |is: fn(&Outcome) -> bool| case.clauses.iter().all(|judgement| is(&judgement.outcome));
        match case.attempts {
            _ if case.is_interrupted() => Self::Interrupted,
            0 if all(is_left_out) => Self::LeftOut,
            0 if all(|outcome| outcome.announced || outcome.verdict == Verdict::Unsupported) => {
                Self::NotBegun
            }
            _ => Self::Held,
        }
    }
}

impl<'a> TargetPart<'a> {
    /// The provider with which a case of this document ran.
    fn provider(&self, case: &'a CaseResult) -> &'a str {
        case.provider.as_deref().unwrap_or(&self.source.report.provider.name)
    }

    /// A case of this document as it was before it was concluded, its folder as seen from the merged report.
    fn taken(&self, case: &CaseResult) -> CaseResult {
        let mut taken = self.target.observed(case);
        let folder = |inner: &String| self.source.folder.join(inner).display().to_string();
        taken.artifacts = case.artifacts.as_ref().map(folder);
        taken
    }
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
