//! Checks of what PodCliques report about the PodCliques that their containers wait for (START-09). The
//! operator chooses the condition. Its message must contain the name of the awaited PodClique, the number of
//! its Ready pods, and the required number.

use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::{Code, Violation};
use conformance_expect::startup::{Parent, parents};
use conformance_facts::health::{is_bound, is_live, is_ready};
use conformance_facts::startup::has_started;
use conformance_history::{History, Live, Pod, What, list, text};
use jiff::{SignedDuration, Timestamp};

use crate::{none, patience, violation};

const WAIT_NOT_REPORTED: Code = Code::new("startup-wait-not-reported");
const WAIT_STILL_REPORTED: Code = Code::new("startup-wait-still-reported");

/// A PodClique with a bound pod that has not started, and a parent PodClique with too few Ready pods.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wait {
    pub clique: String,
    pub parent: String,
    ready: usize,
    needed: usize,
}

impl Wait {
    fn is_in(&self, message: &str) -> bool {
        let is_of_a_word = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
        let words: BTreeSet<_> =
            message.split(|c| !is_of_a_word(c)).map(|word| word.trim_matches('.')).collect();
        let [ready, needed] = [self.ready, self.needed].map(|count| count.to_string());
        [&self.parent, &ready, &needed].into_iter().all(|word| words.contains(word.as_str()))
    }

    fn pair(&self) -> (String, String) {
        (self.clique.clone(), self.parent.clone())
    }
}

fn waits(live: &Live, parents: &BTreeMap<String, Vec<Parent>>) -> Vec<Wait> {
    let count = |clique: &str, predicate: fn(Pod<'_>) -> bool| {
        let of_clique = live.pods().filter(|pod| !pod.is_canary() && pod.pod_clique() == Some(clique));
        of_clique.filter(|pod| is_live(*pod) && predicate(*pod)).count()
    };
    let is_waiting = |pod: Pod<'_>| is_bound(pod) && !is_ready(pod) && !has_started(pod);
    let waiting =
        parents.iter().filter(|(clique, parents)| !parents.is_empty() && count(clique, is_waiting) > 0);
    let all = waiting.flat_map(|(clique, parents)| {
        parents.iter().map(|(parent, needed)| Wait {
            clique: clique.clone(),
            parent: parent.clone(),
            ready: count(parent, is_ready),
            needed: *needed,
        })
    });
    all.filter(|wait| wait.ready < wait.needed).collect()
}

fn messages<'a>(live: &'a Live, clique: &str) -> impl Iterator<Item = &'a str> {
    let conditions = live.get("PodClique", clique).map(|found| list(&found["status"]["conditions"]));
    conditions.into_iter().flatten().map(|condition| text(&condition["message"]))
}

pub fn reported(live: &Live, set: &str) -> Vec<(Wait, String)> {
    let all = waits(live, &live.get("PodCliqueSet", set).map(parents).unwrap_or_default()).into_iter();
    all.filter_map(|wait| {
        let message = messages(live, &wait.clique).find(|message| wait.is_in(message))?.to_owned();
        Some((wait, message))
    })
    .collect()
}

pub fn reports_are_current(live: &Live, set: &str, before: &[(Wait, String)]) -> bool {
    let waits = waits(live, &live.get("PodCliqueSet", set).map(parents).unwrap_or_default());
    let is_over = |wait: &Wait| !waits.iter().any(|now| now.pair() == wait.pair());
    reported(live, set).len() == waits.len()
        && before
            .iter()
            .filter(|(wait, _)| is_over(wait))
            .all(|(wait, message)| messages(live, &wait.clique).all(|reported| reported != message))
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    NotReported(Wait),
    StillReported { clique: String, parent: String, message: String },
}

impl Fault {
    fn violation(self, patience: SignedDuration) -> Violation {
        let seconds = patience.as_secs();
        match self {
            Self::NotReported(Wait { clique, parent, ready, needed }) => violation(
                WAIT_NOT_REPORTED,
                format!(
                    "for {seconds} s no condition of PodClique {clique} reported that it waits for \
                     PodClique {parent}, which has {ready} of {needed} Ready pods"
                ),
            ),
            Self::StillReported { clique, parent, message } => violation(
                WAIT_STILL_REPORTED,
                format!(
                    "PodClique {clique} no longer waits for PodClique {parent}, but {seconds} s later \
                     still reports {message:?}"
                ),
            ),
        }
    }
}

/// Requires that PodCliques report waits in time (START-09). Returns `NotReached` if no pod ever waited.
pub fn waits_are_reported(history: &History, set: &str) -> Ruling {
    let parents = parents(history.submitted(set)?);
    let mut live = Live::default();
    let mut reported: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    let mut since: BTreeMap<Fault, Timestamp> = BTreeMap::new();
    let mut late: BTreeSet<Fault> = BTreeSet::new();
    let mut has_waited = false;
    let patience = patience(history);
    for entry in &history.entries {
        late.extend(overdue(&since, entry.at, patience));
        let What::Object(recorded) = &entry.what else { continue };
        live.apply(recorded);
        if !["Pod", "PodClique"].iter().any(|kind| recorded.object["kind"] == *kind) {
            continue;
        }
        let waits = waits(&live, &parents);
        has_waited |= !waits.is_empty();
        let mut faults = BTreeSet::new();
        for wait in &waits {
            match messages(&live, &wait.clique).find(|message| wait.is_in(message)) {
                Some(message) => drop(reported.entry(wait.pair()).or_default().insert(message.to_owned())),
                None => drop(faults.insert(Fault::NotReported(wait.clone()))),
            }
        }
        for ((clique, parent), before) in &reported {
            let is_over = !waits.iter().any(|wait| (&wait.clique, &wait.parent) == (clique, parent));
            let still = messages(&live, clique).filter(|message| is_over && before.contains(*message));
            faults.extend(still.map(|message| Fault::StillReported {
                clique: clique.clone(),
                parent: parent.clone(),
                message: message.to_owned(),
            }));
        }
        since.retain(|fault, _| faults.contains(fault));
        for fault in faults {
            since.entry(fault).or_insert(entry.at);
        }
    }
    late.extend(overdue(&since, history.last_at(), patience));
    none(late.into_iter().map(|fault| fault.violation(patience)))?;
    if has_waited {
        Ok(())
    } else {
        Err(Broken::NotReached(format!("no pod of PodCliqueSet {set} had to wait for another clique")))
    }
}

fn overdue(
    since: &BTreeMap<Fault, Timestamp>,
    now: Timestamp,
    patience: SignedDuration,
) -> impl Iterator<Item = Fault> {
    let overdue = since.iter().filter(move |(_, since)| now.duration_since(**since) > patience);
    overdue.map(|(fault, _)| fault.clone())
}

#[cfg(test)]
mod tests {
    use conformance_contract::names;
    use conformance_history::MarkName;
    use conformance_history::testing::{Story, object};
    use serde_json::{Value, json};

    use super::*;
    use crate::message;

    const END: MarkName = MarkName::of_case("end");

    fn pcs() -> Value {
        let clique = |name: &str, pods: usize| json!({"name": name, "spec": {"replicas": pods}});
        json!({"kind": "PodCliqueSet", "metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {
            "cliqueStartupType": "CliqueStartupTypeInOrder", "cliques": [clique("a", 2), clique("b", 1)],
        }}})
    }

    fn pod(name: &str, clique: &str, ready: bool) -> Value {
        let mut pod = object("Pod", name);
        pod["metadata"]["labels"] = json!({names::PART_OF: "w", names::POD_CLIQUE: clique});
        pod["spec"]["nodeName"] = json!("n");
        pod["status"] =
            json!({"conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}]});
        pod
    }

    fn clique_reporting(message: &str) -> Value {
        let mut pclq = object("PodClique", "w-0-b");
        pclq["status"] = json!({"conditions": [{"type": "T", "status": "True", "message": message}]});
        pclq
    }

    fn one_of_two_ready() -> Story {
        let story = Story::flat().submitted(pcs()).added(clique_reporting("")).added(pod("p", "w-0-a", true));
        story.added(pod("q", "w-0-a", false)).added(pod("c", "w-0-b", false))
    }

    #[rstest::rstest]
    #[case::in_time("w-0-a: 1/2", 4, true)]
    #[case::in_a_sentence("It waits until 2 pods of w-0-a are Ready; 1 is.", 4, true)]
    #[case::late("w-0-a: 1/2", 6, false)]
    #[case::of_a_similar_name("w-0-a-b: 1/2", 4, false)]
    #[case::without_a_name("1 of 2", 4, false)]
    #[case::without_numbers("waits for w-0-a", 4, false)]
    #[case::other_numbers("w-0-a: 0/2", 4, false)]
    fn a_wait_that_is_not_reported_in_time_is_a_violation(
        #[case] words: &str,
        #[case] after: i64,
        #[case] fine: bool,
    ) {
        let history = one_of_two_ready()
            .later(after)
            .modified(clique_reporting(words))
            .later(9)
            .mark(END, Value::Null)
            .end();
        assert_eq!(
            waits_are_reported(&history, "w").is_ok(),
            fine,
            "{:?}",
            waits_are_reported(&history, "w")
        );
        assert_eq!(reports_are_current(&with_set(&history), "w", &[]), fine || after > 5);
    }

    fn with_set(history: &History) -> Live {
        let set = Story::flat().added(pcs()).end();
        let mut live = history.end();
        let What::Object(set) = &set.entries[0].what else { unreachable!("it is an object") };
        live.apply(set);
        live
    }

    #[rstest::rstest]
    #[case::the_parents_are_ready(pod("q", "w-0-a", true))]
    #[case::it_has_started({
        let mut pod = pod("c", "w-0-b", false);
        pod["status"]["containerStatuses"] = json!([{"state": {"terminated": {"exitCode": 1}}}]);
        pod
    })]
    fn a_wait_that_is_reported_after_its_end_is_a_violation(#[case] end: Value) {
        let over = || one_of_two_ready().modified(clique_reporting("w-0-a: 1/2")).modified(end.clone());
        let watched = |story: Story| story.later(9).mark(END, Value::Null).end();
        assert!(
            message(waits_are_reported(&watched(over()), "w"))
                .contains("no longer waits for PodClique w-0-a")
        );
        assert_eq!(
            waits_are_reported(&watched(over().later(4).modified(clique_reporting("w-0-a: 2/2"))), "w"),
            Ok(())
        );
        assert!(waits_are_reported(&watched(over().later(6).modified(clique_reporting(""))), "w").is_err());
        let before =
            reported(&with_set(&one_of_two_ready().modified(clique_reporting("w-0-a: 1/2")).end()), "w");
        assert_eq!(before.len(), 1);
        assert!(!reports_are_current(&with_set(&over().end()), "w", &before));
        assert!(reports_are_current(&with_set(&over().modified(clique_reporting("")).end()), "w", &before));
    }

    #[test]
    fn a_wait_reported_with_outdated_counts_is_a_violation() {
        let story =
            one_of_two_ready().modified(clique_reporting("w-0-a: 1/2")).modified(pod("p", "w-0-a", false));
        let history = story.later(9).mark(END, Value::Null).end();
        assert!(message(waits_are_reported(&history, "w")).contains("0 of 2 Ready pods"));
    }

    #[test]
    fn without_a_wait_the_ruling_is_undecided() {
        let history = Story::flat().submitted(pcs()).added(pod("c", "w-0-b", true)).end();
        assert!(matches!(waits_are_reported(&history, "w"), Err(Broken::NotReached(_))));
    }
}
