use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::baseline::{Baseline, BaselineCase};
use crate::mutation::{Mutation, file_of};

/// The number of cases that go first because they killed other mutations of the same file.
const KILLERS: usize = 4;

/// How often each case killed a mutation of each file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Killers(BTreeMap<String, BTreeMap<String, usize>>);

impl Killers {
    pub(crate) fn add(&mut self, mutation: &str, case: &str) {
        let of_file = self.0.entry(file_of(mutation).to_owned()).or_default();
        *of_file.entry(case.to_owned()).or_default() += 1;
    }

    fn count(&self, mutation: &Mutation, case: &BaselineCase) -> usize {
        self.0.get(&mutation.file).and_then(|of_file| of_file.get(&case.id)).copied().unwrap_or_default()
    }
}

#[derive(Debug, PartialEq)]
pub(crate) struct Tries<'a> {
    pub cases: Vec<&'a BaselineCase>,
    /// The number of cases that execute the mutation and exceed `most`.
    pub left_out: usize,
}

/// Cases that killed mutations of the same file, then the shortest case of each group, then the second of
/// each, and so on. A case on a second target follows all cases on a first one. `most` limits the cases that
/// execute the mutation; `None` adds those that do not.
pub(crate) fn tries<'a>(
    baseline: &'a Baseline,
    mutation: &Mutation,
    killers: &Killers,
    most: Option<usize>,
) -> Tries<'a> {
    let (mut executing, mut others): (Vec<_>, Vec<_>) =
        baseline.passed().partition(|case| case.executed.contains(&mutation.number));
    let shortest_first = |one: &&BaselineCase, other: &&BaselineCase| one.seconds.total_cmp(&other.seconds);
    executing.sort_by(shortest_first);
    others.sort_by(shortest_first);
    let (mut names, mut rounds) = (BTreeSet::new(), BTreeMap::<_, usize>::new());
    let mut keyed = Vec::new();
    for case in executing {
        let name = case.id.split(' ').next().unwrap_or_default();
        let is_again = !names.insert(name);
        let round = rounds.entry((is_again, name.split('/').next())).or_default();
        keyed.push(((is_again, *round), case));
        *round += 1;
    }
    // Stable, so that the shortest stays first in a round.
    keyed.sort_by_key(|(key, _)| *key);
    let mut cases: Vec<_> = keyed.into_iter().map(|(_, case)| case).collect();
    let mut killing: Vec<_> =
        cases.iter().copied().filter(|case| killers.count(mutation, case) > 0).collect();
    killing.sort_by_key(|case| Reverse(killers.count(mutation, case)));
    killing.truncate(KILLERS);
    cases.retain(|case| !killing.iter().any(|killing| killing.id == case.id));
    cases.splice(0..0, killing);
    let left_out = most.map_or(0, |most| cases.len().saturating_sub(most));
    match most {
        Some(most) => cases.truncate(most),
        None => cases.extend(others),
    }
    Tries { cases, left_out }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::mutation;

    fn case(id: &str, seconds: f64, executed: &[u32]) -> BaselineCase {
        let executed = executed.iter().copied().collect();
        BaselineCase { id: id.into(), operator: String::new(), seconds, passed: true, executed }
    }

    fn baseline() -> Baseline {
        let mut cases = vec![
            case("upd/long on a", 9.0, &[1]),
            case("upd/short on a", 3.0, &[1]),
            case("aon/longest on a", 20.0, &[1]),
            case("aon/short on a", 2.0, &[1]),
            case("aon/short on b", 1.0, &[1]),
            case("aon/elsewhere on a", 0.1, &[2]),
            case("aon/failed on a", 0.1, &[1]),
        ];
        cases[6].passed = false;
        Baseline { cases }
    }

    fn order<'a>(baseline: &'a Baseline, killers: &Killers, most: Option<usize>) -> (Vec<&'a str>, usize) {
        let Tries { cases, left_out } = tries(baseline, &mutation(1, "a.rs"), killers, most);
        (cases.into_iter().map(|case| case.id.as_str()).collect(), left_out)
    }

    #[test]
    fn every_group_is_covered_before_a_group_repeats_and_every_case_before_another_target() {
        let baseline = baseline();
        let executing =
            ["aon/short on b", "upd/short on a", "upd/long on a", "aon/longest on a", "aon/short on a"];
        let all: Vec<_> = executing.into_iter().chain(["aon/elsewhere on a"]).collect();
        assert_eq!(order(&baseline, &Killers::default(), None), (all, 0));
        assert_eq!(order(&baseline, &Killers::default(), Some(5)), (executing.to_vec(), 0));
        assert_eq!(order(&baseline, &Killers::default(), Some(2)), (executing[..2].to_vec(), 3));
    }

    #[test]
    fn cases_that_killed_mutations_of_the_same_file_go_first() {
        let mut killers = Killers::default();
        for (file, case) in [
            ("a.rs", "upd/long on a"),
            ("a.rs", "aon/longest on a"),
            ("a.rs", "aon/longest on a"),
            ("b.rs", "aon/short on a"),
        ] {
            killers.add(&mutation(1, file).id, case);
        }
        let baseline = baseline();
        let (first, left_out) = order(&baseline, &killers, Some(3));
        assert_eq!((first, left_out), (vec!["aon/longest on a", "upd/long on a", "aon/short on b"], 2));
    }
}
