//! Compares two reports: verdicts, features, deviations, durations.
//!
//! - A clause regresses if it passed or was a known deviation, and is now violated.
//! - A feature regresses if it was shown, and is now not declared or not shown.
//! - A clause that the newer run did not select is not a regression. If the newer run selected it but could
//!   not decide it, the comparison is inconclusive.
//!
//! Targets are matched by backend and variant, clauses and cases by id, so the versions may differ. A renamed
//! case is matched by its current id. A clause that was split from an older clause is compared with the older
//! clause, but only if the older clause passed: then all its parts passed.

use std::time::Duration;

use conformance_contract::clauses::{Feature, clause};
use conformance_contract::verdict::Verdict;

use super::change_kind::ChangeKind;
use super::compare_figures::{ChangedFigure, DEFAULT_PERCENT, case_before, changed_figures};
use super::reasons::ranges;
use super::{ClauseResult, Exit, Report, Seconds, Standing, TargetReport};

/// A clause whose verdict changed.
#[derive(Clone, Debug)]
pub struct ChangedClause<'a> {
    /// How the clause changed.
    pub kind: ChangeKind,
    /// The target's title.
    pub target: String,
    /// Id of the clause, such as `AON-02`.
    pub id: &'a str,
    /// `None` if the older report does not list the clause.
    pub old: Option<&'a ClauseResult>,
    /// `None` if the newer report does not list the clause.
    pub new: Option<&'a ClauseResult>,
}

impl ChangedClause<'_> {
    /// The reason of the newer result, or of the older one if the clause now passes or is not listed.
    pub fn reason(&self) -> String {
        let now = self.new.filter(|new| new.outcome.verdict != Verdict::Pass).or(self.old);
        now.and_then(|clause| clause.outcome.reason()).unwrap_or_default()
    }
}

/// A feature whose standing changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFeature {
    /// The target's title.
    pub target: String,
    /// The feature whose standing differs.
    pub name: Feature,
    /// The older standing. `None` if the feature was neither declared nor shown.
    pub old: Option<Standing>,
    /// The newer standing. `None` if the feature is neither declared nor shown.
    pub new: Option<Standing>,
    /// The clauses that decide the newer standing, or the older one if there is no newer one.
    pub clauses: Vec<String>,
}

impl ChangedFeature {
    /// Whether the feature was declared and shown, and no longer is.
    pub fn is_regression(&self) -> bool {
        self.old == Some(Standing::DeclaredAndShown)
            && matches!(self.new, None | Some(Standing::DeclaredAndNotShown | Standing::ShownAndNotDeclared))
    }
}

/// A case whose duration changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedDuration {
    /// The target's title.
    pub target: String,
    /// The case's label: its id, with its provider if the report has several.
    pub case: String,
    /// The older duration.
    pub old: Seconds,
    /// The newer duration.
    pub new: Seconds,
}

/// A fact about the runs that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFact {
    /// Name of the fact.
    pub what: String,
    /// The older value.
    pub old: String,
    /// The newer value.
    pub new: String,
}

/// Everything that changed between two reports.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// The older report.
    pub old: &'a Report,
    /// The newer report.
    pub new: &'a Report,
    /// Differences in operator, suite, provider and program versions.
    pub facts: Vec<ChangedFact>,
    /// Clauses whose verdict changed, worst first.
    pub clauses: Vec<ChangedClause<'a>>,
    /// Features whose standing changed.
    pub features: Vec<ChangedFeature>,
    /// Cases whose duration changed by more than chance, greatest change first.
    pub durations: Vec<ChangedDuration>,
    /// Figures of load tests that changed by more than a threshold.
    pub figures: Vec<ChangedFigure>,
    /// Number of clauses that both reports check, over all targets.
    pub checked_by_both: usize,
    /// Number of clauses that are violated in both reports.
    pub still_broken: usize,
}

/// A changed duration is listed from this factor and difference on. Load alone can cause a factor of 1.5.
const NOTABLE: (f64, Duration) = (1.5, Duration::from_secs(1));

const DURATIONS: usize = 20;

/// Compares two reports.
pub fn compare<'a>(old: &'a Report, new: &'a Report) -> Comparison<'a> {
    let targets = pairs(&old.targets, &new.targets, TargetReport::title);
    let (mut clauses, mut features, mut durations) = (Vec::new(), Vec::new(), Vec::new());
    let (mut checked_by_both, mut still_broken) = (0, 0);
    let is_other_contract = old.suite.contract != new.suite.contract;
    for (title, old, new) in targets {
        let clauses_of = |target: Option<&'a TargetReport>| {
            target.map(|target| target.clauses.as_slice()).unwrap_or_default()
        };
        for (_, same, new) in pairs(clauses_of(old), clauses_of(new), |clause| clause.id.clone()) {
            let old = same.or_else(|| whole(clauses_of(old), new?).filter(|_| is_other_contract));
            let verdicts = [old, new].map(|clause| clause.map(|clause| clause.outcome.verdict));
            let is_one_of = |verdict: Option<Verdict>, list: &[Verdict]| {
                verdict.is_some_and(|verdict| list.contains(&verdict))
            };
            const BROKEN: [Verdict; 2] = [Verdict::Fail, Verdict::Flaky];
            const CHECKED: [Verdict; 4] =
                [Verdict::Fail, Verdict::Flaky, Verdict::Pass, Verdict::KnownDeviation];
            checked_by_both += usize::from(verdicts.iter().all(|verdict| is_one_of(*verdict, &CHECKED)));
            still_broken += usize::from(verdicts.iter().all(|verdict| is_one_of(*verdict, &BROKEN)));
            let id = new.or(old).map(|clause| clause.id.as_str()).unwrap_or_default();
            if let Some(kind) = ChangeKind::of(old, new) {
                clauses.push(ChangedClause { kind, target: title.clone(), id, old, new });
            }
        }
        if let (Some(old), Some(new)) = (old, new) {
            features.extend(changed_features(&title, old, new));
            durations.extend(changed_durations(&title, old, new));
        }
    }
    let rank = |kind: ChangeKind| ChangeKind::ALL.iter().position(|other| *other == kind);
    clauses.sort_by_key(|changed| rank(changed.kind));
    durations.sort_by(|a, b| factor(b).total_cmp(&factor(a)));
    durations.truncate(DURATIONS);
    Comparison {
        old,
        new,
        facts: facts(old, new),
        clauses,
        features,
        durations,
        figures: Vec::new(),
        checked_by_both,
        still_broken,
    }
    .with_threshold(DEFAULT_PERCENT)
}

impl Comparison<'_> {
    /// Lists the figures that changed by more than this percentage.
    #[must_use]
    pub fn with_threshold(self, percent: u32) -> Self {
        let targets = pairs(&self.old.targets, &self.new.targets, TargetReport::title);
        let both = targets.into_iter().filter_map(|(title, old, new)| Some((title, old?, new?)));
        let figures = both.flat_map(|(title, old, new)| changed_figures(&title, old, new, percent)).collect();
        Self { figures, ..self }
    }

    /// Whether a listed figure got worse. Figures decide no clause, so [`Comparison::exit`] ignores them.
    pub fn has_worse_figures(&self) -> bool {
        self.figures.iter().any(ChangedFigure::is_worse)
    }

    /// The exit code of the comparison:
    ///
    /// - 1 after a regression;
    /// - 3 if the newer report is incomplete or does not decide a clause that the older one decides, or if no
    ///   clause is checked by both;
    /// - 0 otherwise.
    pub fn exit(&self) -> Exit {
        let any = |kind| self.clauses.iter().any(|changed| changed.kind == kind);
        if any(ChangeKind::Regression) || self.features.iter().any(ChangedFeature::is_regression) {
            Exit::NotConformant
        } else if any(ChangeKind::Undecided) || self.checked_by_both == 0 || self.new.incomplete {
            Exit::Inconclusive
        } else {
            Exit::Conformant
        }
    }

    /// Whether no verdict changed, except known deviations that started or ended: some are intermittent.
    pub fn is_same(&self) -> bool {
        let is_intermittent =
            |kind| matches!(kind, ChangeKind::DeviationStarted | ChangeKind::DeviationEnded);
        self.clauses.iter().all(|changed| is_intermittent(changed.kind))
    }

    /// The result as a sentence without a final period.
    pub fn result(&self) -> String {
        let count = |kind| self.clauses.iter().filter(|changed| changed.kind == kind).count();
        let regressed = self.features.iter().filter(|feature| feature.is_regression()).count();
        match self.exit() {
            Exit::NotConformant => {
                let clauses = counted(count(ChangeKind::Regression), "clause", "clauses");
                format!("Regressed: {clauses}, {}", counted(regressed, "feature", "features"))
            }
            Exit::Conformant => "No regression".to_owned(),
            _ if self.checked_by_both == 0 => "Inconclusive: no clause is judged by both reports".to_owned(),
            _ if self.new.incomplete => "Inconclusive: the newer report is incomplete".to_owned(),
            _ => format!(
                "Inconclusive: {} no longer decided",
                counted(count(ChangeKind::Undecided), "clause is", "clauses are")
            ),
        }
    }

    /// The changed clauses by kind of change, worst first, without the [counted](Self::counted) kinds.
    pub fn listed(&self) -> Vec<(ChangeKind, Vec<&ChangedClause<'_>>)> {
        let listed =
            ChangeKind::ALL.into_iter().filter(|kind| !kind.is_counted()).map(|kind| (kind, self.of(kind)));
        listed.filter(|(_, changed)| !changed.is_empty()).collect()
    }

    /// The clauses that only one report checks, by target. Consecutive ids are joined to ranges.
    pub fn counted(&self) -> Vec<(ChangeKind, Vec<(String, String)>)> {
        let counted = ChangeKind::ALL.into_iter().filter(|kind| kind.is_counted());
        let counted = counted.map(|kind| (kind, by_target(&self.of(kind))));
        counted.filter(|(_, targets)| !targets.is_empty()).collect()
    }

    fn of(&self, kind: ChangeKind) -> Vec<&ChangedClause<'_>> {
        self.clauses.iter().filter(|changed| changed.kind == kind).collect()
    }
}

fn by_target(changed: &[&ChangedClause<'_>]) -> Vec<(String, String)> {
    let mut targets: Vec<(String, Vec<&str>)> = Vec::new();
    for clause in changed {
        match targets.iter_mut().find(|(target, _)| *target == clause.target) {
            Some((_, ids)) => ids.push(clause.id),
            None => targets.push((clause.target.clone(), vec![clause.id])),
        }
    }
    targets.into_iter().map(|(target, ids)| (target, ranges(&ids).join(", "))).collect()
}

fn counted(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// Pairs the items of two lists by key: the newer list in its order, then what only the older list has.
fn pairs<'a, T>(
    old: &'a [T],
    new: &'a [T],
    key: impl Fn(&T) -> String,
) -> Vec<(String, Option<&'a T>, Option<&'a T>)> {
    let find = |list: &'a [T], wanted: &str| list.iter().find(|one| key(one) == wanted);
    let both = new.iter().map(|new| (key(new), find(old, &key(new)), Some(new)));
    let only_old =
        old.iter().filter(|old| find(new, &key(old)).is_none()).map(|old| (key(old), Some(old), None));
    both.chain(only_old).collect()
}

/// Returns the older result of the clause from which `part` was split, if that clause passed. A failed clause
/// does not show which part failed.
fn whole<'a>(old: &'a [ClauseResult], part: &ClauseResult) -> Option<&'a ClauseResult> {
    let parent = |id: &str| clause(id).and_then(|known| known.split_from);
    let mut parents = std::iter::successors(parent(&part.id), |id| parent(id));
    let whole = parents.find_map(|id| old.iter().find(|known| known.id == id))?;
    (whole.outcome.verdict == Verdict::Pass).then_some(whole)
}

fn changed_features(title: &str, old: &TargetReport, new: &TargetReport) -> Vec<ChangedFeature> {
    let (before, now) = (old.evidence(), new.evidence());
    let changed = Feature::ALL.into_iter().filter_map(|name| {
        let old = before.iter().find(|of| of.name == name);
        let new = now.iter().find(|of| of.name == name);
        let standing = |of: Option<&super::FeatureEvidence>| of.map(|of| of.standing);
        (standing(old) != standing(new)).then(|| ChangedFeature {
            target: title.to_owned(),
            name,
            old: standing(old),
            new: standing(new),
            clauses: new.or(old).map(|of| of.clauses.clone()).unwrap_or_default(),
        })
    });
    changed.collect()
}

fn changed_durations(title: &str, old: &TargetReport, new: &TargetReport) -> Vec<ChangedDuration> {
    let changed = new.cases.iter().filter_map(|case| {
        let before = case_before(old, case)?;
        let changed = ChangedDuration {
            target: title.to_owned(),
            case: case.label(),
            old: before.duration_seconds,
            new: case.duration_seconds,
        };
        let difference = Duration::from(changed.old).abs_diff(changed.new.into());
        let both_ran = before.attempts > 0 && case.attempts > 0;
        (both_ran && factor(&changed) >= NOTABLE.0 && difference >= NOTABLE.1).then_some(changed)
    });
    changed.collect()
}

fn factor(changed: &ChangedDuration) -> f64 {
    let (old, new) = (f64::from(changed.old).max(0.001), f64::from(changed.new).max(0.001));
    (old / new).max(new / old)
}

fn facts(old: &Report, new: &Report) -> Vec<ChangedFact> {
    let mut facts = Vec::new();
    let mut add = |what: &str, old: Option<String>, new: Option<String>| {
        if old != new {
            let text = |fact: Option<String>| fact.unwrap_or_else(|| "none".to_owned());
            facts.push(ChangedFact { what: what.to_owned(), old: text(old), new: text(new) });
        }
    };
    let operator = |report: &Report| {
        let of = &report.operator;
        let commit = of.commit.as_ref().map(|commit| format!(" ({commit})")).unwrap_or_default();
        Some(format!("{} {}{commit}", of.name, of.version))
    };
    add("operator", operator(old), operator(new));
    add("suite", Some(old.suite.version.clone()), Some(new.suite.version.clone()));
    let provider = |report: &Report| {
        let words = report
            .providers()
            .into_iter()
            .map(|of| format!("{}, Kubernetes {}", of.name, of.kubernetes_version));
        Some(words.collect::<Vec<_>>().join("; "))
    };
    add("provider", provider(old), provider(new));
    for (title, old, new) in pairs(&old.targets, &new.targets, TargetReport::title) {
        let version = |target: Option<&TargetReport>| target.map(|target| target.version.clone());
        add(&format!("scheduler of {title}"), version(old), version(new));
    }
    for (name, old, new) in pairs(&old.components, &new.components, |component| component.name.clone()) {
        let identity = |component: Option<&super::Component>| {
            component.map(|of| (of.version.clone(), of.digest.chars().take(19).collect::<String>()))
        };
        let (old, new) = (identity(old), identity(new));
        let words = |identity: Option<(String, String)>, with_digest: bool| {
            identity
                .map(|(version, digest)| if with_digest { format!("{version} ({digest}…)") } else { version })
        };
        let same_version =
            old.as_ref().map(|(version, _)| version) == new.as_ref().map(|(version, _)| version);
        add(&name, words(old, same_version), words(new, same_version));
    }
    facts
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
