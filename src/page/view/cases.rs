use conformance_contract::clauses::group;
use conformance_report::{CaseResult, Report, Seconds, TargetReport};

use super::filters::Facts;

const SLOWEST: usize = 15;

pub(super) struct Case<'a> {
    pub(super) number: usize,
    pub(super) address: String,
    pub(super) label: String,
    pub(super) target: String,
    pub(super) head: String,
    pub(super) target_number: usize,
    pub(super) result: &'a CaseResult,
    pub(super) facts: Facts,
    pub(super) word: String,
    pub(super) reason: Option<String>,
    pub(super) sheet: String,
}

pub(super) struct Slow {
    pub(super) address: String,
    pub(super) case: String,
    pub(super) head: String,
    pub(super) seconds: Seconds,
    pub(super) overhead: Option<Seconds>,
    pub(super) negative: Option<Seconds>,
    pub(super) width: f64,
}

pub(super) struct Negatives {
    pub(super) count: usize,
    pub(super) median: Seconds,
    pub(super) most: Seconds,
}

pub(super) fn group_of(case: &str) -> String {
    let id = case.split_once('/').map_or(case, |(group, _)| group).to_uppercase();
    let title = group(&format!("{id}-01")).map(|group| format!(": {}", group.title)).unwrap_or_default();
    format!("{id}{title}")
}

/// Addresses of cases, by target. If an edited report has two targets of one title, the first is used.
pub(super) struct Addresses(Vec<String>);

impl Addresses {
    pub(super) fn of(report: &Report) -> Self {
        Self(report.targets.iter().map(|target| slug(&target.title())).collect())
    }

    pub(super) fn of_case(&self, target: usize, label: &str) -> String {
        format!("case:{}/{}", self.0[target], label.replace(' ', "-"))
    }
}

pub(super) fn slug(title: &str) -> String {
    let words = title.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

pub(super) fn slowest(cases: &[(usize, &TargetReport, &CaseResult)], addresses: &Addresses) -> Vec<Slow> {
    let mut ran: Vec<_> = cases.iter().filter(|(_, _, case)| case.attempts > 0).collect();
    ran.sort_by_key(|(_, _, case)| std::cmp::Reverse(case.duration_seconds));
    let most = ran.first().map_or(1.0, |(_, _, case)| f64::from(case.duration_seconds)).max(0.001);
    let slow = ran.into_iter().take(SLOWEST).map(|(number, target, case)| Slow {
        address: addresses.of_case(*number, &case.label()),
        case: case.label(),
        head: target.head().join(" "),
        seconds: case.duration_seconds,
        overhead: case.overhead_seconds,
        negative: case.negative_verdict_seconds,
        width: 100.0 * f64::from(case.duration_seconds) / most,
    });
    slow.collect()
}

pub(super) fn negatives(cases: &[(usize, &TargetReport, &CaseResult)]) -> Option<Negatives> {
    let mut times: Vec<Seconds> =
        cases.iter().filter_map(|(_, _, case)| case.negative_verdict_seconds).collect();
    times.sort();
    Some(Negatives { count: times.len(), median: *times.get(times.len() / 2)?, most: *times.last()? })
}
