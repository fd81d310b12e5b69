//! Merges reports: the shards of a run, or runs of one operator with other backends, providers or upgrades.
//!
//! - Documents must have the same suite, contract and operator. Targets are matched by backend and variant.
//!   Documents that share a target must have the same scheduler version and features for it. If they also
//!   share the provider, they must have the same Kubernetes version, feature gates and programs.
//! - If several documents have a case, the result comes from the document that ran it. If none ran it, the
//!   order of preference is: a document that gives a reason why the case could not run, a document in which
//!   the case was interrupted, a document that did not select the case.
//! - A case that ran with two providers is in the report twice. Two runs of a case with the same provider are
//!   an error, because their verdicts may differ. A merged report is incomplete as long as an interrupted
//!   case has no other result.
//! - Verdicts of clauses are concluded again from the merged cases, so the merged document verifies. This
//!   does not need the contract, because a document lists every clause with its requirement.
//! - Build, total and processor times are sums over the machines. The time to a ready cluster, peak memory,
//!   timeout scale and concurrency are maxima, and the date is the latest. Artifacts are not copied: their
//!   paths become relative to the merged report.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use conformance_contract::clauses::CLAUSES;
use conformance_contract::verdict::{Outcome, Verdict};

use super::left_out::is_left_out;
use super::{
    CaseResult, ClauseResult, Component, CriticalPath, Features, PeakMemory, Provider, Report, Seconds,
    Settings, TargetReport, Timings,
};

/// A document to merge.
#[derive(Clone, Debug)]
pub struct MergeInput {
    /// File of the document, for messages.
    pub file: PathBuf,
    /// Folder of the document relative to the merged report, such as `../shard-1`.
    pub folder: PathBuf,
    /// Content of the document.
    pub report: Report,
}

/// Why documents do not merge.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message describes its variant")]
pub enum MergeError {
    #[error("no report is given: pass at least one")]
    Nothing,
    #[error("{files} are not about the same {what}: {found}")]
    Differ { files: FilePair, what: String, found: String },
    #[error(
        "{files} both ran {case} on {target} with the same provider, so their verdicts may differ: merge only one of them"
    )]
    RanTwice { files: FilePair, case: String, target: String },
}

/// Two files that cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePair(pub PathBuf, pub PathBuf);

impl fmt::Display for FilePair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} and {}", self.0.display(), self.1.display())
    }
}

/// Merges documents in their order. `command` is the command line of the merge.
pub fn merge(sources: &[MergeInput], command: String) -> Result<Report, MergeError> {
    let [first, rest @ ..] = sources else { return Err(MergeError::Nothing) };
    for other in rest {
        check_same(first, other)?;
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

fn incomplete_reason(sources: &[MergeInput], merged: &Report) -> Option<String> {
    let mut incomplete = sources.iter().filter(|source| source.report.incomplete);
    let is_unfinished = !merged.interrupted().is_empty();
    let decisive = incomplete.find(|source| is_unfinished || source.report.interrupted().is_empty())?;
    let reason = decisive.report.incomplete_reason.as_deref().unwrap_or("no reason is given");
    Some(format!("{}: {reason}", decisive.file.display()))
}

type Property = fn(&Report) -> String;

const SAME: [(&str, Property); 3] = [
    ("version of the suite", |report| report.suite.version.clone()),
    ("version of the contract", |report| report.suite.contract.clone().unwrap_or_default()),
    ("operator", |report| format!("{} {}", report.operator.name, report.operator.version)),
];

fn check_same(first: &MergeInput, other: &MergeInput) -> Result<(), MergeError> {
    for (what, property) in SAME {
        agree(first, other, what, &property(&first.report), &property(&other.report))?;
    }
    Ok(())
}

fn agree(
    first: &MergeInput,
    other: &MergeInput,
    what: &str,
    value: &str,
    other_value: &str,
) -> Result<(), MergeError> {
    if value == other_value {
        return Ok(());
    }
    let found = format!("{value:?} and {other_value:?}");
    Err(MergeError::Differ { files: files(first, other), what: what.to_owned(), found })
}

fn files(first: &MergeInput, other: &MergeInput) -> FilePair {
    FilePair(first.file.clone(), other.file.clone())
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
    let all =
        |field: fn(&Timings) -> Seconds| sources.iter().map(move |source| field(&source.report.timings));
    Timings {
        build_seconds: all(|timings| timings.build_seconds).sum(),
        cluster_ready_seconds: all(|timings| timings.cluster_ready_seconds).max().unwrap_or_default(),
        total_seconds: all(|timings| timings.total_seconds).sum(),
        processor_seconds: sources.iter().map(|source| &source.report.timings.processor_seconds).sum(),
        peak_memory: sources.iter().fold(PeakMemory::default(), |mut peak, source| {
            peak.raise(&source.report.timings.peak_memory);
            peak
        }),
        critical_path: CriticalPath::default(),
    }
}

/// Returns all distinct providers except that of the first document.
fn other_providers(sources: &[MergeInput]) -> Vec<Provider> {
    let mut known: Vec<&Provider> = Vec::new();
    for provider in sources.iter().flat_map(|source| source.report.providers()) {
        if !known.contains(&provider) {
            known.push(provider);
        }
    }
    known.into_iter().skip(1).cloned().collect()
}

/// Returns all distinct components: clusters can have several programs of one name.
fn components(sources: &[MergeInput]) -> Vec<Component> {
    let mut known: Vec<&Component> = Vec::new();
    for component in sources.iter().flat_map(|source| &source.report.components) {
        if !known.contains(&component) {
            known.push(component);
        }
    }
    known.into_iter().cloned().collect()
}

fn same_cluster(first: &MergeInput, other: &MergeInput) -> Result<(), MergeError> {
    let is_shared = |of: &&Provider| first.report.provider_names().contains(&of.name.as_str());
    let providers: Vec<_> = other.report.providers().into_iter().filter(is_shared).collect();
    if providers.is_empty() {
        return Ok(());
    }
    let gates = |of: &Provider| {
        let gates = of.feature_gates.iter().map(|(name, on)| format!("{name}={on}"));
        gates.collect::<Vec<_>>().join(",")
    };
    for provider in providers {
        let known: Vec<_> =
            first.report.providers().into_iter().filter(|of| of.name == provider.name).collect();
        if let Some(one) = known.first().filter(|_| !known.contains(&provider)) {
            agree(first, other, "Kubernetes", &one.kubernetes_version, &provider.kubernetes_version)?;
            agree(first, other, "feature gates", &gates(one), &gates(provider))?;
        }
    }
    for component in &other.report.components {
        let name = &component.name;
        let (known, digests_of_other) = (digests(&first.report, name), digests(&other.report, name));
        // A run with an upgrade has two releases of the operator.
        if let Some(one) = known.first().filter(|_| !known.iter().any(|one| digests_of_other.contains(one))) {
            agree(first, other, &format!("program {name}"), one, &component.digest)?;
        }
    }
    Ok(())
}

fn digests<'a>(report: &'a Report, program: &str) -> Vec<&'a str> {
    let components = report.components.iter().filter(|component| component.name == program);
    components.map(|component| component.digest.as_str()).collect()
}

#[derive(Clone, Copy)]
struct TargetPart<'a> {
    source: &'a MergeInput,
    target: &'a TargetReport,
}

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

/// If there are several providers, each case gets the name of its provider.
fn target(parts: &[TargetPart<'_>], has_several_providers: bool) -> Result<Option<TargetReport>, MergeError> {
    let [first, rest @ ..] = parts else { return Ok(None) };
    let one = first.target;
    for (index, other) in parts.iter().enumerate() {
        for earlier in &parts[..index] {
            same_cluster(earlier.source, other.source)?;
        }
    }
    for other in rest {
        let about = |what: &str| format!("{what} of {}", one.title());
        let features = |target: &TargetReport| {
            target.features.supported.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        };
        agree(first.source, other.source, &about("scheduler"), &one.version, &other.target.version)?;
        agree(first.source, other.source, &about("features"), &features(one), &features(other.target))?;
    }
    let mut clauses: Vec<ClauseResult> = Vec::new();
    for clause in parts.iter().flat_map(|part| &part.target.clauses) {
        if clauses.iter().all(|known| known.id != clause.id) {
            clauses.push(ClauseResult { violations: Vec::new(), ..clause.clone() });
        }
    }
    let position = |clause: &ClauseResult| CLAUSES.iter().position(|known| known.id == clause.id);
    clauses.sort_by_key(|clause| position(clause).unwrap_or(CLAUSES.len()));
    let (backend, variant, version) = (one.backend.as_str(), one.variant.clone(), one.version.as_str());
    let merged = TargetReport::new(backend, variant, version, features(parts, one.features.clone()));
    Ok(Some(merged.conclude_clauses(clauses, cases(parts, has_several_providers)?)))
}

/// Keeps a feature gate in `declared` only if every document lists it: a passed clause proves a gate.
fn features(parts: &[TargetPart<'_>], mut features: Features) -> Features {
    features.declared.retain(|gate| parts.iter().all(|part| part.target.features.declared.contains(gate)));
    features
}

/// Each case once per provider that ran it, or from the document with the most [`Knowledge`] about it.
fn cases(parts: &[TargetPart<'_>], has_several_providers: bool) -> Result<Vec<CaseResult>, MergeError> {
    let mut chosen: Vec<(&TargetPart<'_>, &CaseResult)> = Vec::new();
    for part in parts {
        for case in &part.target.cases {
            let Some(index) = chosen.iter().rposition(|(_, known)| known.id == case.id) else {
                chosen.push((part, case));
                continue;
            };
            match (Knowledge::of(chosen[index].1), Knowledge::of(case)) {
                (Knowledge::Ran, Knowledge::Ran) => {
                    let provider = part.provider(case);
                    let is_same = |(other, known): &&(&TargetPart<'_>, &CaseResult)| {
                        known.id == case.id && other.provider(known) == provider
                    };
                    if let Some((other, _)) = chosen.iter().find(is_same) {
                        return Err(MergeError::RanTwice {
                            files: files(other.source, part.source),
                            case: case.id.clone(),
                            target: part.target.title(),
                        });
                    }
                    chosen.insert(index + 1, (part, case));
                }
                (before, now) if now > before => chosen[index] = (part, case),
                _ => {}
            }
        }
    }
    let taken = chosen.into_iter().map(|(part, case)| CaseResult {
        provider: has_several_providers.then(|| part.provider(case).to_owned()),
        ..part.taken(case)
    });
    Ok(taken.collect())
}

/// How much a document knows about a case, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Knowledge {
    LeftOut,
    Interrupted,
    /// The case did not start, for a reason: unsupported, or announced as not run.
    NotStarted,
    /// The case ran, or should have run.
    Ran,
}

impl Knowledge {
    fn of(case: &CaseResult) -> Self {
        let all = |test: fn(&Outcome) -> bool| case.clauses.iter().all(|judgement| test(&judgement.outcome));
        match case.attempts {
            _ if case.is_interrupted() => Self::Interrupted,
            0 if all(is_left_out) => Self::LeftOut,
            0 if all(|outcome| outcome.announced || outcome.verdict == Verdict::Unsupported) => {
                Self::NotStarted
            }
            _ => Self::Ran,
        }
    }
}

impl<'a> TargetPart<'a> {
    fn provider(&self, case: &'a CaseResult) -> &'a str {
        case.provider.as_deref().unwrap_or(&self.source.report.provider.name)
    }

    /// Returns the case with its violations, and with artifacts relative to the merged report.
    fn taken(&self, case: &CaseResult) -> CaseResult {
        let mut taken = self.target.with_violations(case);
        let folder = |inner: &String| self.source.folder.join(inner).display().to_string();
        taken.artifacts = case.artifacts.as_ref().map(folder);
        taken
    }
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
