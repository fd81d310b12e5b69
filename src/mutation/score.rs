use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::mutation::{Kind, Mutation};
use crate::trial::{Trial, TrialVerdict};

/// 95 %, of the normal distribution.
const Z: f64 = 1.959_964;

/// A share with the limits of its Wilson interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    pub part: usize,
    pub whole: usize,
}

impl Share {
    pub fn value(self) -> f64 {
        if self.whole == 0 { 0.0 } else { self.part as f64 / self.whole as f64 }
    }

    pub fn interval(self) -> (f64, f64) {
        if self.whole == 0 {
            return (0.0, 1.0);
        }
        let (count, share) = (self.whole as f64, self.value());
        let denominator = 1.0 + Z * Z / count;
        let centre = (share + Z * Z / (2.0 * count)) / denominator;
        let spread = Z / denominator * (share * (1.0 - share) / count + Z * Z / (4.0 * count * count)).sqrt();
        ((centre - spread).max(0.0), (centre + spread).min(1.0))
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (low, high) = self.interval();
        write!(
            f,
            "{} of {}, {:.1} % (95 %: {:.1} to {:.1} %)",
            self.part,
            self.whole,
            self.value() * 100.0,
            low * 100.0,
            high * 100.0
        )
    }
}

/// The mutations that change nothing that a clause promises: lines of an id, a space, and the reason.
pub fn equivalents(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let entries = lines.filter_map(|line| line.split_once(' '));
    entries.map(|(id, reason)| (id.to_owned(), reason.trim().to_owned())).collect()
}

#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// A mutation that is not executed counts as survived. Trivial and equivalent ones do not count.
    pub killed: Share,
    /// The same without those that are not executed.
    pub killed_of_executed: Share,
    pub trivial: usize,
    pub equivalent: usize,
    pub not_executed: usize,
    pub median_seconds: f64,
}

pub fn score(trials: &[Trial], equivalents: &BTreeMap<String, String>) -> Score {
    let is_equivalent = |trial: &&Trial| {
        // A mutation that a case kills is not equivalent, even if it is listed.
        equivalents.contains_key(&trial.id)
            && !matches!(trial.verdict, TrialVerdict::Killed | TrialVerdict::Trivial)
    };
    let count = |verdict: TrialVerdict| {
        trials.iter().filter(|trial| trial.verdict == verdict && !is_equivalent(trial)).count()
    };
    let (killed, survived) = (count(TrialVerdict::Killed), count(TrialVerdict::Survived));
    let not_executed = count(TrialVerdict::NotExecuted);
    let mut seconds: Vec<_> = trials
        .iter()
        .filter(|trial| trial.verdict != TrialVerdict::NotExecuted)
        .map(|trial| trial.seconds)
        .collect();
    seconds.sort_by(f64::total_cmp);
    Score {
        killed: Share { part: killed, whole: killed + survived + not_executed },
        killed_of_executed: Share { part: killed, whole: killed + survived },
        trivial: count(TrialVerdict::Trivial),
        equivalent: trials.iter().filter(is_equivalent).count(),
        not_executed,
        median_seconds: seconds.get(seconds.len() / 2).copied().unwrap_or_default(),
    }
}

fn not_executed_by_folder<'a>(
    population: &'a [Mutation],
    executed: &BTreeSet<u32>,
) -> BTreeMap<&'a str, Share> {
    let mut folders = BTreeMap::new();
    for mutation in population {
        let share = folders.entry(mutation.folder()).or_insert(Share { part: 0, whole: 0 });
        share.part += usize::from(!executed.contains(&mutation.number));
        share.whole += 1;
    }
    folders.retain(|_, share| share.part > 0);
    folders
}

pub fn summary(
    trials: &[Trial],
    equivalents: &BTreeMap<String, String>,
    population: &[Mutation],
    executed: &BTreeSet<u32>,
) -> String {
    let score = score(trials, equivalents);
    let not_executed = population.iter().filter(|one| !executed.contains(&one.number)).count();
    let mut text = String::new();
    let _ = writeln!(text, "killed: {}", score.killed);
    let _ = writeln!(text, "killed of executed: {}", score.killed_of_executed);
    let _ = writeln!(
        text,
        "trivial {}, equivalent {}, not executed {}; median {:.1} s",
        score.trivial, score.equivalent, score.not_executed, score.median_seconds
    );
    let _ = writeln!(
        text,
        "population: no case executes {}",
        Share { part: not_executed, whole: population.len() }
    );
    for (folder, share) in not_executed_by_folder(population, executed) {
        let _ = writeln!(text, "  {folder}: {} of {}", share.part, share.whole);
    }
    for kind in Kind::ALL {
        let of_kind: Vec<_> = trials.iter().filter(|trial| trial.kind == kind).cloned().collect();
        let share = self::score(&of_kind, equivalents).killed;
        let _ = writeln!(text, "{}: {} of {} killed", kind.name(), share.part, share.whole);
    }
    for trial in trials {
        let name = match trial.verdict {
            TrialVerdict::Survived => "survived",
            TrialVerdict::NotExecuted => "not executed",
            TrialVerdict::Killed | TrialVerdict::Trivial => continue,
        };
        let reason = equivalents.get(&trial.id).map(|reason| format!(" (equivalent: {reason})"));
        let reason = reason.unwrap_or_default();
        let _ = writeln!(text, "{name}: {} {}{reason}", trial.id, trial.change);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::mutation;

    #[test]
    fn the_interval_is_wilsons() {
        let (low, high) = Share { part: 180, whole: 200 }.interval();
        assert!((low - 0.8506).abs() < 0.0005 && (high - 0.9343).abs() < 0.0005, "{low} {high}");
        let (low, high) = Share { part: 0, whole: 10 }.interval();
        assert!(low.abs() < f64::EPSILON && (high - 0.2775).abs() < 0.0005, "{low} {high}");
        assert_eq!(Share { part: 0, whole: 0 }.interval(), (0.0, 1.0));
    }

    #[test]
    fn folders_with_mutations_that_no_case_executes_are_counted() {
        let population = [mutation(1, "plan/a.rs"), mutation(2, "plan/b.rs"), mutation(3, "update/a.rs")];
        let counted = not_executed_by_folder(&population, &[1, 3].into());
        assert_eq!(counted, [("plan", Share { part: 1, whole: 2 })].into());
    }

    fn trial(id: &str, verdict: TrialVerdict, seconds: f64) -> Trial {
        let change = "!(a) instead of a".into();
        Trial { id: id.into(), change, cases: 1, seconds, ..Trial::of(&mutation(1, "plan/a.rs"), verdict) }
    }

    #[test]
    fn what_is_not_executed_counts_as_survived() {
        let trials = [
            trial("a", TrialVerdict::Killed, 4.0),
            trial("b", TrialVerdict::Killed, 2.0),
            trial("c", TrialVerdict::Survived, 60.0),
            trial("d", TrialVerdict::NotExecuted, 0.0),
            trial("e", TrialVerdict::Trivial, 3.0),
            trial("f", TrialVerdict::Survived, 70.0),
        ];
        let excused = equivalents("# id reason\nf the value is never read\na it is killed all the same\n");
        let score = score(&trials, &excused);
        assert_eq!(score.killed, Share { part: 2, whole: 4 });
        assert_eq!(score.killed_of_executed, Share { part: 2, whole: 3 });
        assert_eq!((score.trivial, score.equivalent, score.not_executed), (1, 1, 1));
        assert!((score.median_seconds - 4.0).abs() < f64::EPSILON);
        let text = summary(&trials, &excused, &[], &BTreeSet::new());
        assert!(text.contains("survived: c !(a) instead of a\n"), "{text}");
        assert!(text.contains("(equivalent: the value is never read)"), "{text}");
        assert!(!text.contains(": a "), "{text}");
    }
}
