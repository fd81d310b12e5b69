//! What changed from one report to another: verdicts, features, deviations, durations.
//!
//! A regression is a clause that a target kept or deviated from as documented, and that it breaks now, or a feature that
//! was shown and is no longer declared. What is merely not looked at any more is no regression; where the newer run meant
//! to look and could not say, nothing is known, and the comparison is inconclusive. Targets are matched by backend and
//! variant, clauses and cases by their ids: the reports may be of different versions of anything. A clause that an older
//! contract has as a part of another is compared with that one, if it passed: then its parts did.

use std::time::Duration;

use conformance_contract::clauses::{Feature, clause};
use conformance_contract::verdict::{Outcome, Verdict};

use super::reasons::ranges;
use super::{ClauseResult, Exit, HandEdited, Report, Seconds, Standing, TargetReport, verify};

/// What changed about a clause on a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Turn {
    /// It was kept, or deviated from as documented, and is broken.
    Regression,
    /// It was judged, and the newer run could not tell.
    Undecided,
    /// It is broken, and the older report does not judge it.
    BrokenAnew,
    /// It is deviated from as documented, and was not.
    DeviationBegan,
    /// It was deviated from, and is kept.
    DeviationEnded,
    /// It was promised, and is not.
    Withdrawn,
    /// It was broken, and is kept or a documented deviation.
    Mended,
    /// It is broken in another way than before.
    BrokenOtherwise,
    /// It was judged, and nobody was asked to.
    LeftOut,
    /// It is judged for the first time, and not broken.
    New,
}

impl Turn {
    /// All of them, the worst first.
    pub const ALL: [Turn; 10] = [
        Turn::Regression,
        Turn::Undecided,
        Turn::BrokenAnew,
        Turn::DeviationBegan,
        Turn::Withdrawn,
        Turn::BrokenOtherwise,
        Turn::LeftOut,
        Turn::Mended,
        Turn::DeviationEnded,
        Turn::New,
    ];

    /// As a heading.
    pub fn title(self) -> &'static str {
        match self {
            Turn::Regression => "Regressions",
            Turn::Undecided => "No longer decided",
            Turn::BrokenAnew => "Broken, and not judged before",
            Turn::DeviationBegan => "Known deviations that began",
            Turn::Withdrawn => "No longer promised",
            Turn::BrokenOtherwise => "Broken in another way",
            Turn::LeftOut => "Judged before, left out now",
            Turn::Mended => "Mended",
            Turn::DeviationEnded => "Known deviations that ended",
            Turn::New => "Judged for the first time",
        }
    }

    /// Whether its clauses are counted, not told one by one.
    fn is_counted(self) -> bool {
        matches!(self, Turn::LeftOut | Turn::New)
    }

    /// Between two outcomes, `None` where a target does not have the clause; nothing of what stayed as it was.
    fn of(old: Option<&ClauseResult>, new: Option<&ClauseResult>) -> Option<Self> {
        let broken = |outcome: &Outcome| matches!(outcome.verdict, Verdict::Fail | Verdict::Flaky);
        let judged = |outcome: &Outcome| {
            broken(outcome) || matches!(outcome.verdict, Verdict::Pass | Verdict::KnownDeviation)
        };
        let was_judged = old.is_some_and(|old| judged(&old.outcome));
        let was_broken = old.is_some_and(|old| broken(&old.outcome));
        let was = |verdict| old.is_some_and(|old| old.outcome.verdict == verdict);
        let Some(new) = new else { return was_judged.then_some(Self::LeftOut) };
        match new.outcome.verdict {
            Verdict::Fail | Verdict::Flaky if was_broken => {
                let codes = |clause: &ClauseResult| {
                    let mut codes: Vec<_> = clause.violations.iter().map(|of| of.code.clone()).collect();
                    codes.sort();
                    codes.dedup();
                    codes
                };
                (old.map(codes) != Some(codes(new))).then_some(Self::BrokenOtherwise)
            }
            Verdict::Fail | Verdict::Flaky if was_judged => Some(Self::Regression),
            Verdict::Fail | Verdict::Flaky => Some(Self::BrokenAnew),
            Verdict::Error => was_judged.then_some(Self::Undecided),
            Verdict::NotRun if new.outcome.announced => was_judged.then_some(Self::LeftOut),
            Verdict::NotRun => was_judged.then_some(Self::Undecided),
            Verdict::Unsupported => was_judged.then_some(Self::Withdrawn),
            Verdict::KnownDeviation | Verdict::Pass if was_broken => Some(Self::Mended),
            Verdict::KnownDeviation => (!was(Verdict::KnownDeviation)).then_some(Self::DeviationBegan),
            Verdict::Pass if was(Verdict::KnownDeviation) => Some(Self::DeviationEnded),
            Verdict::Pass => (!was_judged).then_some(Self::New),
        }
    }
}

/// A clause whose verdict changed.
#[derive(Clone, Debug)]
pub struct ChangedClause<'a> {
    /// In which way.
    pub turn: Turn,
    /// The target's title.
    pub target: String,
    /// The clause's id.
    pub id: &'a str,
    /// The older report's result.
    pub old: Option<&'a ClauseResult>,
    /// The newer report's.
    pub new: Option<&'a ClauseResult>,
}

impl ChangedClause<'_> {
    /// Why it is as it is now.
    pub fn reason(&self) -> String {
        let now = self.new.filter(|new| new.outcome.verdict != Verdict::Pass).or(self.old);
        now.and_then(|clause| clause.outcome.reason()).unwrap_or_default()
    }
}

/// A feature of which something else became.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFeature {
    /// The target's title.
    pub target: String,
    /// The feature.
    pub name: Feature,
    /// What had become of it; `None` of one that was neither declared nor shown.
    pub old: Option<Standing>,
    /// What has now.
    pub new: Option<Standing>,
    /// The clauses that decide it now.
    pub clauses: Vec<String>,
}

impl ChangedFeature {
    /// Whether a feature that was shown is not promised any more, or does not hold.
    pub fn is_regression(&self) -> bool {
        self.old == Some(Standing::DeclaredAndShown)
            && matches!(self.new, None | Some(Standing::DeclaredAndNotShown | Standing::ShownAndNotDeclared))
    }
}

/// A case that takes another time than before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedDuration {
    /// The target's title.
    pub target: String,
    /// The case: its id, and its provider if it has one.
    pub case: String,
    /// How long it took.
    pub old: Seconds,
    /// How long it takes.
    pub new: Seconds,
}

/// A fact about the runs that is not the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFact {
    /// Which.
    pub what: String,
    /// What it was.
    pub old: String,
    /// What it is.
    pub new: String,
}

/// Everything that changed.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// The older report.
    pub old: &'a Report,
    /// The newer one.
    pub new: &'a Report,
    /// What was tested, and with what, where that differs.
    pub facts: Vec<ChangedFact>,
    /// Clauses whose verdict changed, the worst first.
    pub clauses: Vec<ChangedClause<'a>>,
    /// Features of which something else became.
    pub features: Vec<ChangedFeature>,
    /// Cases that became slower or faster by more than chance, the greatest change first.
    pub durations: Vec<ChangedDuration>,
    /// Clauses that both reports judge, over all targets.
    pub judged_by_both: usize,
    /// Of those, how many are broken in both.
    pub still_broken: usize,
}

/// Beside other load a case may take half as long again; less says nothing.
const NOTABLE: (f64, Duration) = (1.5, Duration::from_secs(1));

/// So many of the durations are of interest.
const DURATIONS: usize = 20;

/// One of the two reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The older one.
    Old,
    /// The newer one.
    New,
}

/// Compares two reports.
///
/// # Errors
/// [`HandEdited`] if one of them does not agree with itself, and which.
pub fn compare<'a>(old: &'a Report, new: &'a Report) -> Result<Comparison<'a>, (Which, HandEdited)> {
    verify(old).map_err(|error| (Which::Old, error))?;
    verify(new).map_err(|error| (Which::New, error))?;
    let targets = pairs(&old.targets, &new.targets, TargetReport::title);
    let (mut clauses, mut features, mut durations) = (Vec::new(), Vec::new(), Vec::new());
    let (mut judged_by_both, mut still_broken) = (0, 0);
    let is_other_contract = old.suite.contract != new.suite.contract;
    for (title, old, new) in targets {
        let of = |target: Option<&'a TargetReport>| {
            target.map(|target| target.clauses.as_slice()).unwrap_or_default()
        };
        for (_, own, new) in pairs(of(old), of(new), |clause| clause.id.clone()) {
            let old = own.or_else(|| whole(of(old), new?).filter(|_| is_other_contract));
            let verdicts = [old, new].map(|clause| clause.map(|clause| clause.outcome.verdict));
            let is = |verdict: Option<Verdict>, any: &[Verdict]| {
                verdict.is_some_and(|verdict| any.contains(&verdict))
            };
            const BROKEN: [Verdict; 2] = [Verdict::Fail, Verdict::Flaky];
            const JUDGED: [Verdict; 4] =
                [Verdict::Fail, Verdict::Flaky, Verdict::Pass, Verdict::KnownDeviation];
            judged_by_both += usize::from(verdicts.iter().all(|verdict| is(*verdict, &JUDGED)));
            still_broken += usize::from(verdicts.iter().all(|verdict| is(*verdict, &BROKEN)));
            let id = new.or(old).map(|clause| clause.id.as_str()).unwrap_or_default();
            if let Some(turn) = Turn::of(old, new) {
                clauses.push(ChangedClause { turn, target: title.clone(), id, old, new });
            }
        }
        if let (Some(old), Some(new)) = (old, new) {
            features.extend(changed_features(&title, old, new));
            durations.extend(changed_durations(&title, old, new));
        }
    }
    let place = |turn: Turn| Turn::ALL.iter().position(|other| *other == turn);
    clauses.sort_by_key(|changed| place(changed.turn));
    durations.sort_by(|a, b| factor(b).total_cmp(&factor(a)));
    durations.truncate(DURATIONS);
    Ok(Comparison {
        old,
        new,
        facts: facts(old, new),
        clauses,
        features,
        durations,
        judged_by_both,
        still_broken,
    })
}

impl Comparison<'_> {
    /// 1 on a regression; else 3 if the newer report could not decide what the older one did, or if no clause is judged by
    /// both; else 0.
    pub fn exit(&self) -> Exit {
        let any = |turn| self.clauses.iter().any(|changed| changed.turn == turn);
        if any(Turn::Regression) || self.features.iter().any(ChangedFeature::is_regression) {
            Exit::NotConformant
        } else if any(Turn::Undecided) || self.judged_by_both == 0 || self.new.incomplete {
            Exit::Inconclusive
        } else {
            Exit::Conformant
        }
    }

    /// Whether every verdict is as it was; one that is known to break now and then is as good kept as broken.
    pub fn is_same(&self) -> bool {
        let comes_and_goes = |turn| matches!(turn, Turn::DeviationBegan | Turn::DeviationEnded);
        self.clauses.iter().all(|changed| comes_and_goes(changed.turn))
    }

    /// The result in a sentence, without its full stop.
    pub fn result(&self) -> String {
        let of = |turn| self.clauses.iter().filter(|changed| changed.turn == turn).count();
        let lost = self.features.iter().filter(|feature| feature.is_regression()).count();
        match self.exit() {
            Exit::NotConformant => {
                let clauses = counted(of(Turn::Regression), "clause", "clauses");
                format!("Regressed: {clauses}, {}", counted(lost, "feature", "features"))
            }
            Exit::Conformant => "No regression".to_owned(),
            _ if self.judged_by_both == 0 => "Inconclusive: no clause is judged by both reports".to_owned(),
            _ if self.new.incomplete => "Inconclusive: the newer report is incomplete".to_owned(),
            _ => format!(
                "Inconclusive: {} no longer decided",
                counted(of(Turn::Undecided), "clause is", "clauses are")
            ),
        }
    }

    /// The changes by their turns, the worst first, but for those that are only [counted](Self::counted).
    pub fn turns(&self) -> Vec<(Turn, Vec<&ChangedClause<'_>>)> {
        let told = Turn::ALL.into_iter().filter(|turn| !turn.is_counted()).map(|turn| (turn, self.of(turn)));
        told.filter(|(_, changed)| !changed.is_empty()).collect()
    }

    /// Clauses that one of the reports does not judge, by target, neighbours joined: a backend that is new has many.
    pub fn counted(&self) -> Vec<(Turn, Vec<(String, String)>)> {
        let counted = Turn::ALL.into_iter().filter(|turn| turn.is_counted());
        let counted = counted.map(|turn| (turn, by_target(&self.of(turn))));
        counted.filter(|(_, targets)| !targets.is_empty()).collect()
    }

    fn of(&self, turn: Turn) -> Vec<&ChangedClause<'_>> {
        self.clauses.iter().filter(|changed| changed.turn == turn).collect()
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

/// What is in either list, by its key: first what is in the newer one, in its order.
fn pairs<'a, T>(
    old: &'a [T],
    new: &'a [T],
    key: impl Fn(&T) -> String,
) -> Vec<(String, Option<&'a T>, Option<&'a T>)> {
    let find = |list: &'a [T], wanted: &str| list.iter().find(|one| key(one) == wanted);
    let both = new.iter().map(|new| (key(new), find(old, &key(new)), Some(new)));
    let gone = old.iter().filter(|old| find(new, &key(old)).is_none()).map(|old| (key(old), Some(old), None));
    both.chain(gone).collect()
}

/// The clause of which an older contract has this one as a part, if it passed: one that failed tells nothing about its parts.
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
        let before = old.cases.iter().find(|before| before.label() == case.label())?;
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

/// How many times as long the longer of the two is.
fn factor(changed: &ChangedDuration) -> f64 {
    let (old, new) = (f64::from(changed.old).max(0.001), f64::from(changed.new).max(0.001));
    (old / new).max(new / old)
}

/// The facts of both that differ.
fn facts(old: &Report, new: &Report) -> Vec<ChangedFact> {
    let mut facts = Vec::new();
    let mut add = |what: &str, old: Option<String>, new: Option<String>| {
        if old != new {
            let said = |fact: Option<String>| fact.unwrap_or_else(|| "none".to_owned());
            facts.push(ChangedFact { what: what.to_owned(), old: said(old), new: said(new) });
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
        let said = |component: Option<&super::Component>| {
            component.map(|of| (of.version.clone(), of.digest.chars().take(19).collect::<String>()))
        };
        let (old, new) = (said(old), said(new));
        let words = |said: Option<(String, String)>, with_digest: bool| {
            said.map(|(version, digest)| if with_digest { format!("{version} ({digest}…)") } else { version })
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
