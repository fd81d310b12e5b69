//! Cases that a run leaves out on request are *not run* and *announced*: filtered, skipped, in another shard,
//! or after the first failure. `merge` recognizes them by their reasons. An interrupted case was to be
//! executed, so it is not announced. For both, `merge` prefers a report with more information.

use std::fmt;
use std::str::FromStr;

use conformance_contract::verdict::Outcome;

use super::CaseResult;

const NOT_SELECTED: &str = "not selected";
const SKIPPED: &str = "skipped by --skip ";
const AFTER_FIRST_FAILURE: &str = "after the first failure (--fail-fast)";
const INTERRUPTED: &str = "interrupted";
const ELSEWHERE: &str = "does not hold it";

/// The share of a run's cases: shard `number` of `count`, written `2/3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    count: usize,
}

impl Shard {
    /// Whether the shard contains the case at an index, from 0. Every index is in exactly one shard.
    pub fn contains(self, index: usize) -> bool {
        index % self.count == self.number - 1
    }

    /// The shard at an index, from 0, of `count` shards.
    pub fn at(index: usize, count: usize) -> Option<Self> {
        (index < count).then_some(Self { number: index + 1, count })
    }

    /// The outcome of a case that is not in this shard.
    pub fn elsewhere(self) -> Outcome {
        Outcome::not_run_announced(format!("shard {self} {ELSEWHERE}"))
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

impl FromStr for Shard {
    type Err = InvalidShard;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (number, count) = text.split_once('/').ok_or(InvalidShard)?;
        match (number.parse::<usize>(), count.parse::<usize>()) {
            (Ok(number), Ok(count)) if (1..=count).contains(&number) => Ok(Self { number, count }),
            _ => Err(InvalidShard),
        }
    }
}

/// A text that does not name a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected I/N, the Ith of N shards, counted from 1, e.g. 2/3")]
pub struct InvalidShard;

/// The outcome of a case that a filter excludes.
pub fn not_selected() -> Outcome {
    Outcome::not_run_announced(NOT_SELECTED)
}

/// The outcome of a case that this word of `--skip` excludes.
pub fn skipped(word: &str) -> Outcome {
    Outcome::not_run_announced(format!("{SKIPPED}{word}"))
}

/// The outcome of a case that had not started when a required clause failed, in a run with `--fail-fast`.
pub fn after_first_failure() -> Outcome {
    Outcome::not_run_announced(AFTER_FIRST_FAILURE)
}

/// The outcome of a case that had not ended, or not started, when the run was interrupted.
pub fn interrupted() -> Outcome {
    Outcome::not_run(INTERRUPTED)
}

impl CaseResult {
    /// Whether the run was interrupted before the case ended.
    pub fn is_interrupted(&self) -> bool {
        self.clauses.iter().any(|judgement| judgement.outcome == interrupted())
    }

    /// Whether the case was not run because a required clause had failed before.
    pub fn is_after_first_failure(&self) -> bool {
        self.clauses.iter().any(|judgement| judgement.outcome == after_first_failure())
    }
}

pub(super) fn is_left_out(outcome: &Outcome) -> bool {
    is_announced(outcome, |reason| {
        [NOT_SELECTED, AFTER_FIRST_FAILURE].contains(&reason)
            || reason.starts_with(SKIPPED)
            || reason.ends_with(ELSEWHERE)
    })
}

pub(super) fn is_elsewhere(outcome: &Outcome) -> bool {
    is_announced(outcome, |reason| reason.ends_with(ELSEWHERE))
}

/// Whether the outcome was announced, for reasons that all meet the condition.
fn is_announced(outcome: &Outcome, condition: impl Fn(&str) -> bool) -> bool {
    outcome.announced && !outcome.reasons.is_empty() && outcome.reasons.iter().all(|reason| condition(reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("1/1")]
    #[case("2/3")]
    #[case("3/3")]
    fn a_shard_is_printed_as_it_is_parsed(#[case] text: &str) {
        assert_eq!(text.parse::<Shard>().map(|shard| shard.to_string()), Ok(text.to_owned()));
    }

    #[rstest::rstest]
    #[case(0, 2, Some("1/2"))]
    #[case(1, 2, Some("2/2"))]
    #[case(2, 2, None)]
    fn an_index_selects_its_shard(#[case] index: usize, #[case] count: usize, #[case] wanted: Option<&str>) {
        assert_eq!(Shard::at(index, count).map(|shard| shard.to_string()).as_deref(), wanted);
    }

    #[rstest::rstest]
    #[case("0/3")]
    #[case("4/3")]
    #[case("0/0")]
    #[case("-1/3")]
    #[case("1/")]
    #[case("/3")]
    #[case("2")]
    #[case("x")]
    fn an_invalid_shard_is_refused(#[case] text: &str) {
        assert_eq!(text.parse::<Shard>(), Err(InvalidShard));
    }

    #[rstest::rstest]
    #[case(1)]
    #[case(2)]
    #[case(3)]
    #[case(7)]
    fn every_index_is_in_one_shard_and_shards_are_even(#[case] count: usize) {
        let shards: Vec<Shard> = (1..=count).map(|number| Shard { number, count }).collect();
        for index in 0..20 {
            assert_eq!(shards.iter().filter(|shard| shard.contains(index)).count(), 1, "{index} of {count}");
        }
        let sizes = shards.iter().map(|shard| (0..20).filter(|index| shard.contains(*index)).count());
        let (least, most) = (sizes.clone().min(), sizes.max());
        assert!(most <= least.map(|least| least + 1), "{least:?} to {most:?}");
    }

    #[test]
    fn only_cases_that_the_run_was_not_asked_to_check_are_left_out() {
        let shard = Shard { number: 2, count: 3 };
        assert_eq!(shard.elsewhere().reasons, ["shard 2/3 does not hold it"]);
        assert_eq!(skipped("AON-*").reasons, ["skipped by --skip AON-*"]);
        for outcome in [shard.elsewhere(), not_selected(), skipped("aon"), after_first_failure()] {
            assert!(is_left_out(&outcome), "{outcome:?}");
        }
        assert!(!is_left_out(&Outcome::not_run_announced("KAI binaries not found")));
        assert!(!is_left_out(&Outcome::not_run("not selected")));
    }
}
