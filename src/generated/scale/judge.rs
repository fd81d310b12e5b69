//! What is judged at scale: when everything has converged each set is what the arithmetic says, and when all is deleted
//! nothing is left. That the invariants hold is judged in every case.

use std::collections::BTreeMap;

use conformance_contract::ruling::{Broken, Finding, Ruling, finding};
use conformance_expect::{Gang, scaling};
use conformance_history::{History, Live, SharedMark, What};
use conformance_judge::{binding, cleanup, gang_resources, gangs};

use super::shapes;

/// What is judged of each set when it has converged.
const OF_A_SET: [&str; 6] = ["GANG-01", "GANG-02", "GANG-03", "GANG-06", "GANG-08", "AON-01"];
/// What the case judges.
pub(super) const CLAUSES: &[&str] =
    &["GANG-01", "GANG-02", "GANG-03", "GANG-06", "GANG-08", "AON-01", "DEL-01"];

pub(super) fn judge(history: &History) -> Vec<Finding> {
    let sets = sets(history);
    let of_sets = OF_A_SET.into_iter().map(|clause| finding(clause, || of_all(history, &sets, clause)));
    let left = finding("DEL-01", || cleanup::nothing_left(history));
    of_sets.chain([left]).collect()
}

/// A set's part of the history until it had converged.
struct Set {
    name: String,
    part: History,
    end: Live,
    gangs: Vec<Gang>,
}

fn of_all(history: &History, sets: &[Set], clause: &str) -> Ruling {
    sets.iter().try_for_each(|set| set.ruling(clause))?;
    // What is missing by then is a breach; without one, the judge has to know that it was the time to look.
    history.reached(SharedMark::Converged).map(drop)
}

impl Set {
    fn ruling(&self, clause: &str) -> Ruling {
        let Self { name, part, end, gangs } = self;
        match clause {
            "GANG-01" => gangs::base(end, name, gangs),
            "GANG-02" => gangs::podgroups(part, gangs),
            "GANG-03" if gangs.iter().all(|gang| gang.is_base) => Ok(()),
            "GANG-03" => gangs::scaled(part, end, gangs),
            "GANG-06" => gangs::references_are_the_pods(end, gangs),
            "GANG-08" => {
                gang_resources::owned(part, end, gangs)?;
                gang_resources::as_the_pod_gangs_say(part, end, gangs)
            }
            "AON-01" => binding::all(end, gangs),
            other => Err(Broken::NotReached(format!("nothing is said of {other}"))),
        }
    }
}

/// Each set by itself, until everything had converged, or the wait for it ran out.
fn sets(history: &History) -> Vec<Set> {
    let until = history.waited_for(SharedMark::Converged).unwrap_or(history.entries.len());
    let mut parts: BTreeMap<&str, History> = BTreeMap::new();
    for (name, pcs) in &history.header.submitted {
        let mut header = history.header.clone();
        header.submitted = [(name.clone(), pcs.clone())].into();
        parts.insert(name, History { header, entries: Vec::new() });
    }
    for entry in &history.entries[..until] {
        let What::Object(recorded) = &entry.what else { continue };
        let part = shapes::set_of(&recorded.object).and_then(|set| parts.get_mut(set));
        part.into_iter().for_each(|part| part.entries.push(entry.clone()));
    }
    let set = |(name, part): (&str, History)| {
        let gangs = scaling::gangs(&part, &part.header.submitted[name], part.entries.len());
        Set { name: name.to_owned(), end: part.end(), part, gangs }
    };
    parts.into_iter().map(set).collect()
}

#[cfg(test)]
mod tests {
    use conformance_contract::clauses::clause;
    use conformance_history::testing::{Story, object};

    use super::*;

    fn submitted(pods: u32) -> Story {
        let sets = grove_yaml::documents(&shapes::manifest(pods)).unwrap();
        sets.into_iter().fold(Story::flat(), Story::submitted)
    }

    #[test]
    fn every_clause_is_judged() {
        for found in judge(&submitted(300).end()) {
            assert!(clause(found.clause).is_some() && CLAUSES.contains(&found.clause), "{}", found.clause);
            assert!(found.ruling.is_err(), "{} of sets of which nothing became anything", found.clause);
        }
        assert_eq!(OF_A_SET.len() + 1, CLAUSES.len());
    }

    #[test]
    fn a_set_is_judged_by_its_own_objects_until_all_had_converged() {
        let story = submitted(60).added(object("PodGang", "s0-0")).added(object("PodGang", "s1-0"));
        let story = story.mark(SharedMark::Converged, serde_json::Value::Null);
        let history = story.added(object("Pod", "s0-0-worker-x")).end();
        let sets = sets(&history);
        let names =
            |set: &Set| set.end.all().map(|object| object["metadata"]["name"].clone()).collect::<Vec<_>>();
        assert_eq!(sets.iter().map(|set| set.name.as_str()).collect::<Vec<_>>(), ["s0", "s1", "s2"]);
        assert_eq!((names(&sets[0]), names(&sets[1])), (vec!["s0-0".into()], vec!["s1-0".into()]));
        assert_eq!(sets[0].gangs.len(), 5);
    }
}
