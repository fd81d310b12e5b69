//! Lists why clauses are undecided, unsupported or known deviations: each reason once, with all its clauses.

use conformance_contract::verdict::{Outcome, Verdict};

use super::{Report, TargetReport};

/// An outcome that several clauses share.
pub struct Reason<'a> {
    /// The outcome with its reason.
    pub outcome: &'a Outcome,
    /// Ids of the clauses in the order of the contract, with the targets on which they have this outcome.
    pub places: Vec<(Vec<&'a str>, Vec<&'a TargetReport>)>,
}

/// Every distinct outcome with one of the verdicts, in the order of `verdicts`.
pub fn reasons<'a>(report: &'a Report, verdicts: &[Verdict]) -> Vec<Reason<'a>> {
    let mut reasons: Vec<Reason<'a>> = Vec::new();
    for target in &report.targets {
        for (outcome, ids) in by_outcome(target, verdicts) {
            let index = match reasons.iter().position(|reason| reason.outcome == outcome) {
                Some(index) => index,
                None => {
                    reasons.push(Reason { outcome, places: Vec::new() });
                    reasons.len() - 1
                }
            };
            let places = &mut reasons[index].places;
            match places.iter_mut().find(|(same, _)| *same == ids) {
                Some((_, targets)) => targets.push(target),
                None => places.push((ids, vec![target])),
            }
        }
    }
    reasons.sort_by_key(|reason| verdicts.iter().position(|verdict| *verdict == reason.outcome.verdict));
    reasons
}

fn by_outcome<'a>(target: &'a TargetReport, verdicts: &[Verdict]) -> Vec<(&'a Outcome, Vec<&'a str>)> {
    let mut found: Vec<(&Outcome, Vec<&str>)> = Vec::new();
    for clause in target.clauses.iter().filter(|clause| verdicts.contains(&clause.outcome.verdict)) {
        match found.iter_mut().find(|(outcome, _)| **outcome == clause.outcome) {
            Some((_, ids)) => ids.push(&clause.id),
            None => found.push((&clause.outcome, vec![&clause.id])),
        }
    }
    found
}

impl Reason<'_> {
    /// One line per place, such as `TOPO-05, TOPO-07..09 on volcano, kai-scheduler`.
    pub fn lines(&self, report: &Report) -> Vec<String> {
        let has_several = report.targets.len() > 1;
        let lines = self.places.iter().map(|(ids, targets)| {
            let titles: Vec<String> = targets.iter().map(|target| target.title()).collect();
            let on = match has_several && titles.len() == report.targets.len() {
                true => "every target".to_owned(),
                false => titles.join(", "),
            };
            format!("{} on {on}", ranges(ids).join(", "))
        });
        lines.collect()
    }
}

/// `AON-01..03` for AON-01, AON-02, AON-03.
pub(super) fn ranges(ids: &[&str]) -> Vec<String> {
    let follows = |last: &str, next: &str| match (last.split_once('-'), next.split_once('-')) {
        (Some((a, last)), Some((b, next))) => {
            a == b && last.parse::<u32>().is_ok_and(|last| next.parse() == Ok(last + 1))
        }
        _ => false,
    };
    let runs = ids.chunk_by(|last, next| follows(last, next));
    runs.map(|run| match run {
        [first, .., last] if run.len() > 2 => {
            format!("{first}..{}", last.rsplit('-').next().unwrap_or_default())
        }
        _ => run.join(", "),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_shared_reason_is_listed_once() {
        let report = fixture::all_backends();
        let reasons = reasons(&report, &[Verdict::Unsupported]);
        let shared = reasons.iter().find(|reason| reason.places.iter().any(|(_, on)| on.len() > 1)).unwrap();
        assert_eq!(shared.outcome.reasons, ["TopologyPreferred is not declared"]);
        let lines = shared.lines(&report);
        let on = "default-scheduler (PodGang scope), koord-scheduler, kai-scheduler, external:my-scheduler";
        assert_eq!(lines, [format!("TOPO-08 on {on}")]);
    }

    #[rstest::rstest]
    #[case(&["AON-01"], "AON-01")]
    #[case(&["AON-01", "AON-02"], "AON-01, AON-02")]
    #[case(&["AON-01", "AON-02", "AON-03", "AON-05"], "AON-01..03, AON-05")]
    #[case(&["DEL-08", "DEL-09", "COEX-10", "COEX-11", "COEX-12"], "DEL-08, DEL-09, COEX-10..12")]
    #[case(&["KAI-05", "KAI-06", "KAI-08", "KAI-07", "odd"], "KAI-05, KAI-06, KAI-08, KAI-07, odd")]
    fn consecutive_ids_are_joined_to_ranges(#[case] ids: &[&str], #[case] joined: &str) {
        assert_eq!(ranges(ids).join(", "), joined);
    }
}
