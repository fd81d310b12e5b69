//! The page about several samples: scores, surviving mutations, and the violations that killed the others.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::score::{Score, Share, score};
use crate::trial::{Trial, TrialVerdict};

#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    pub seed: String,
    pub size: usize,
    pub trials: Vec<Trial>,
    pub not_executed: Share,
}

/// With more mutations that no case executes, or more equivalent ones, the score says little about the suite.
const MOST_NOT_EXECUTED: f64 = 0.1;
const MOST_EQUIVALENT: f64 = 0.05;

pub fn reservations(measured: &Measured, equivalents: &BTreeMap<String, String>) -> Vec<String> {
    let Measured { seed, size, trials, not_executed } = measured;
    let mut all = Vec::new();
    if trials.len() < *size {
        all.push(format!("sample {seed} is incomplete: {} of {size} mutations were tried", trials.len()));
    }
    let incomplete = trials.iter().filter(|trial| trial.is_incomplete(None)).count();
    if incomplete > 0 {
        all.push(format!(
            "sample {seed}: the share is a lower bound: not tried on all cases: {incomplete} survivors"
        ));
    }
    if not_executed.value() > MOST_NOT_EXECUTED {
        let (part, whole, percent) = (not_executed.part, not_executed.whole, 100.0 * not_executed.value());
        all.push(format!(
            "sample {seed}: no case executes {part} of {whole} mutations of the population, {percent:.1} %; \
             at most 10 % are allowed"
        ));
    }
    let equivalent = Share { part: score(trials, equivalents).equivalent, whole: trials.len() };
    if equivalent.value() > MOST_EQUIVALENT {
        let (part, percent) = (equivalent.part, 100.0 * equivalent.value());
        all.push(format!(
            "sample {seed}: {part} mutations are called equivalent, {percent:.1} %; at most 5 % are allowed"
        ));
    }
    all
}

pub fn page(samples: &[Measured], equivalents: &BTreeMap<String, String>) -> String {
    let mut page = String::from(
        "# Machine-made mutations\n\nA mutation that no case executes counts as survived. Trivial and \
         equivalent mutations do not count. The interval is\nWilson's, at 95 %.\n\n\
         | seed | drawn | tried | killed | share | interval | share of executed | not executed | equivalent \
         | trivial | median |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for sample in samples {
        row(&mut page, &sample.seed, sample.size, &sample.trials, equivalents);
    }
    if samples.len() > 1 {
        let size = samples.iter().map(|sample| sample.size).sum();
        let (trials, distinct) = together(samples);
        row(&mut page, "each mutation once", size, &distinct, equivalents);
        let _ = writeln!(page, "\nThe samples share {} mutations.", trials - distinct.len());
    }
    let reservations: Vec<_> = samples.iter().flat_map(|one| reservations(one, equivalents)).collect();
    section(&mut page, "Reservations", &reservations);
    let mut survivors = Vec::new();
    for sample in samples {
        survivors.extend(sample.trials.iter().filter_map(|trial| survivor(sample, trial, equivalents)));
    }
    section(&mut page, "Not killed", &survivors);
    section(&mut page, "Codes that killed", &codes(samples));
    page
}

fn row(page: &mut String, seed: &str, size: usize, trials: &[Trial], equivalents: &BTreeMap<String, String>) {
    let Score { killed, killed_of_executed, trivial, equivalent, not_executed, median_seconds } =
        score(trials, equivalents);
    let (low, high) = killed.interval();
    let _ = writeln!(
        page,
        "| {seed} | {size} | {} | {} of {} | {:.1} % | {:.1} to {:.1} % | {:.1} % | {not_executed}, {:.1} % \
         | {equivalent} | {trivial} | {median_seconds:.1} s |",
        trials.len(),
        killed.part,
        killed.whole,
        100.0 * killed.value(),
        100.0 * low,
        100.0 * high,
        100.0 * killed_of_executed.value(),
        100.0 * Share { part: not_executed, whole: trials.len() }.value(),
    );
}

fn together(samples: &[Measured]) -> (usize, Vec<Trial>) {
    let all: Vec<&Trial> = samples.iter().flat_map(|sample| &sample.trials).collect();
    let by_id: BTreeMap<&str, &Trial> = all.iter().map(|trial| (trial.id.as_str(), *trial)).collect();
    (all.len(), by_id.into_values().cloned().collect())
}

fn section(page: &mut String, title: &str, lines: &[String]) {
    let _ = writeln!(page, "\n## {title}\n");
    for line in lines {
        let _ = writeln!(page, "- {line}");
    }
    if lines.is_empty() {
        page.push_str("None.\n");
    }
}

fn survivor(sample: &Measured, trial: &Trial, equivalents: &BTreeMap<String, String>) -> Option<String> {
    let how = match (trial.verdict, equivalents.get(&trial.id)) {
        (TrialVerdict::Killed | TrialVerdict::Trivial, _) => return None,
        (_, Some(reason)) => format!("equivalent: {reason}"),
        (TrialVerdict::Survived, None) if trial.left_out > 0 => {
            format!("survived {} cases, {} left out", trial.cases, trial.left_out)
        }
        (TrialVerdict::Survived, None) => format!("survived {} cases", trial.cases),
        (TrialVerdict::NotExecuted, None) => "not executed".to_owned(),
    };
    Some(format!("{}: `{}`, {} ({how})", sample.seed, trial.id, trial.change))
}

fn codes(samples: &[Measured]) -> Vec<String> {
    let mut codes: BTreeMap<&str, (BTreeSet<&str>, BTreeSet<&str>)> = BTreeMap::new();
    for trial in samples.iter().flat_map(|sample| &sample.trials) {
        if let Some(kill) = &trial.kill {
            let (clauses, mutations) = codes.entry(&kill.code).or_default();
            clauses.insert(&kill.clause);
            mutations.insert(&trial.id);
        }
    }
    let line = |(code, (clauses, mutations)): (&str, (BTreeSet<&str>, BTreeSet<&str>))| {
        let clauses: Vec<_> = clauses.into_iter().collect();
        format!("`{code}` ({}): {}", clauses.join(", "), mutations.len())
    };
    codes.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::mutation;
    use crate::trial::Kill;

    fn trial(id: &str, verdict: TrialVerdict) -> Trial {
        let kill = (verdict == TrialVerdict::Killed).then(|| Kill {
            case: "aon/pod-lost".into(),
            clause: "AON-11".into(),
            code: "bound-in-part".into(),
        });
        let change = "&& instead of ||".into();
        let unfinished = Trial::of(&mutation(1, "plan/a.rs"), verdict);
        Trial { id: id.into(), change, kill, cases: 9, seconds: 8.0, ..unfinished }
    }

    fn measured(seed: &str, killed: usize, others: &[(&str, TrialVerdict)]) -> Measured {
        let mut trials: Vec<_> =
            (0..killed).map(|number| trial(&format!("k{number}"), TrialVerdict::Killed)).collect();
        trials.extend(others.iter().map(|(id, verdict)| trial(id, *verdict)));
        let size = trials.len();
        Measured { seed: seed.into(), size, trials, not_executed: Share { part: 5, whole: 100 } }
    }

    const OTHERS: [(&str, TrialVerdict); 3] =
        [("s", TrialVerdict::Survived), ("n", TrialVerdict::NotExecuted), ("t", TrialVerdict::Trivial)];

    #[test]
    fn a_sample_has_its_seed_its_interval_and_its_survivors() {
        let page = page(&[measured("abc", 18, &OTHERS)], &BTreeMap::new());
        let row =
            "| abc | 21 | 21 | 18 of 20 | 90.0 % | 69.9 to 97.2 % | 94.7 % | 1, 4.8 % | 0 | 1 | 8.0 s |\n";
        assert!(page.contains(row), "{page}");
        let survivors = "## Not killed\n\n- abc: `s`, && instead of || (survived 9 cases)\n\
                         - abc: `n`, && instead of || (not executed)\n\n";
        assert!(page.contains(survivors), "{page}");
        assert!(page.contains("- `bound-in-part` (AON-11): 18\n"), "{page}");
        assert!(page.contains("## Reservations\n\nNone.\n"), "{page}");
        assert!(!page.contains("each mutation once"), "{page}");
    }

    #[test]
    fn a_mutation_in_two_samples_counts_once() {
        let samples = [measured("a", 3, &OTHERS[..1]), measured("b", 2, &[("u", TrialVerdict::Survived)])];
        let page = page(&samples, &BTreeMap::new());
        assert!(page.contains("The samples share 2 mutations.\n"), "{page}");
        assert!(page.contains("| each mutation once | 7 | 5 | 3 of 5 | 60.0 % |"), "{page}");
        assert!(page.contains("- `bound-in-part` (AON-11): 3\n"), "{page}");
    }

    #[test]
    fn a_score_that_says_little_has_a_reservation() {
        let nothing = BTreeMap::new();
        let good = measured("a", 18, &OTHERS);
        assert_eq!(reservations(&good, &nothing), Vec::<String>::new());
        let incomplete = Measured { size: 30, ..good.clone() };
        assert_eq!(
            reservations(&incomplete, &nothing),
            ["sample a is incomplete: 21 of 30 mutations were tried"]
        );
        let mut limited = good.clone();
        limited.trials[18].left_out = 7;
        assert_eq!(
            reservations(&limited, &nothing),
            ["sample a: the share is a lower bound: not tried on all cases: 1 survivors"]
        );
        assert!(page(&[limited], &nothing).contains("(survived 9 cases, 7 left out)"));
        let unreached = Measured { not_executed: Share { part: 11, whole: 100 }, ..good.clone() };
        assert!(reservations(&unreached, &nothing)[0].contains("no case executes 11 of 100"));
        let excused: BTreeMap<String, String> =
            ["s", "n"].map(|id| (id.to_owned(), "a reason".to_owned())).into();
        let found = reservations(&good, &excused);
        assert_eq!(found, ["sample a: 2 mutations are called equivalent, 9.5 %; at most 5 % are allowed"]);
        assert!(page(&[good], &excused).contains("`s`, && instead of || (equivalent: a reason)"));
    }
}
