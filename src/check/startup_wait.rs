//! What PodCliques report about the PodCliques that their containers wait for (START-09).
//!
//! The operator chooses the condition and its wording. The message must contain the name of the PodClique,
//! the number of its Ready pods, and the number required.

use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::{Code, Violation};
use conformance_expect::startup::{Parent, parents};
use conformance_facts::health::{is_bound, is_live, is_ready};
use conformance_facts::startup::has_started;
use conformance_history::{History, Live, Pod, What, list, text};
use jiff::{SignedDuration, Timestamp};

use crate::{none, patience, violation};

const WAITS_SILENTLY: Code = Code::new("held-back-without-a-word");
const STILL_WAITS: Code = Code::new("said-to-be-held-back-still");

/// A PodClique with a bound pod that has not started, and one of its parents with too few Ready pods.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wait {
    /// The waiting PodClique.
    pub clique: String,
    /// The PodClique that it waits for.
    pub parent: String,
    ready: usize,
    needed: usize,
}

impl Wait {
    /// Whether a message reports this wait: it contains the name and both numbers as separate words, in any
    /// order.
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

/// The current waits of the cliques of a PodCliqueSet.
fn waits(live: &Live, parents: &BTreeMap<String, Vec<Parent>>) -> Vec<Wait> {
    let pods = |clique: &str, holds: fn(Pod<'_>) -> bool| {
        let its = live.pods().filter(|pod| !pod.is_canary() && pod.pod_clique() == Some(clique));
        its.filter(|pod| is_live(*pod) && holds(*pod)).count()
    };
    let is_held = |pod: Pod<'_>| is_bound(pod) && !is_ready(pod) && !has_started(pod);
    let waiting = parents.iter().filter(|(clique, parents)| !parents.is_empty() && pods(clique, is_held) > 0);
    let all = waiting.flat_map(|(clique, parents)| {
        parents.iter().map(|(parent, needed)| Wait {
            clique: clique.clone(),
            parent: parent.clone(),
            ready: pods(parent, is_ready),
            needed: *needed,
        })
    });
    all.filter(|wait| wait.ready < wait.needed).collect()
}

/// The messages of a PodClique's conditions.
fn messages<'a>(live: &'a Live, clique: &str) -> impl Iterator<Item = &'a str> {
    let conditions = live.get("PodClique", clique).map(|found| list(&found["status"]["conditions"]));
    conditions.into_iter().flatten().map(|condition| text(&condition["message"]))
}

/// The waits that PodCliques report, each with its message.
pub fn said(live: &Live, set: &str) -> Vec<(Wait, String)> {
    let all = waits(live, &live.get("PodCliqueSet", set).map(parents).unwrap_or_default()).into_iter();
    all.filter_map(|wait| {
        let message = messages(live, &wait.clique).find(|message| wait.is_in(message))?.to_owned();
        Some((wait, message))
    })
    .collect()
}

/// Whether every wait is reported, and no message of a finished wait in `before` is still reported.
pub fn is_true(live: &Live, set: &str, before: &[(Wait, String)]) -> bool {
    let waits = waits(live, &live.get("PodCliqueSet", set).map(parents).unwrap_or_default());
    let is_over = |wait: &Wait| !waits.iter().any(|now| now.pair() == wait.pair());
    said(live, set).len() == waits.len()
        && before
            .iter()
            .filter(|(wait, _)| is_over(wait))
            .all(|(wait, message)| messages(live, &wait.clique).all(|said| said != message))
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    Unsaid(Wait),
    StillSaid { clique: String, parent: String, message: String },
}

impl Fault {
    fn violation(self, patience: SignedDuration) -> Violation {
        let seconds = patience.as_secs();
        match self {
            Self::Unsaid(Wait { clique, parent, ready, needed }) => violation(
                WAITS_SILENTLY,
                format!(
                    "for {seconds} s no condition of PodClique {clique} reported that it waits for \
                     PodClique {parent}, which has {ready} of {needed} Ready pods"
                ),
            ),
            Self::StillSaid { clique, parent, message } => violation(
                STILL_WAITS,
                format!(
                    "PodClique {clique} no longer waits for PodClique {parent}, but {seconds} s later \
                     still reports {message:?}"
                ),
            ),
        }
    }
}

/// Each wait is reported within five seconds with the current counts. After the wait ends, its message
/// disappears within five seconds. Returns `NotReached` if no pod ever waited.
pub fn told(history: &History, set: &str) -> Ruling {
    let parents = parents(history.submitted(set)?);
    let mut live = Live::default();
    let mut told: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    let mut since: BTreeMap<Fault, Timestamp> = BTreeMap::new();
    let mut late: BTreeSet<Fault> = BTreeSet::new();
    let mut ever = false;
    let patience = patience(history);
    for entry in &history.entries {
        late.extend(overdue(&since, entry.at, patience));
        let What::Object(recorded) = &entry.what else { continue };
        live.apply(recorded);
        if !["Pod", "PodClique"].iter().any(|kind| recorded.object["kind"] == *kind) {
            continue;
        }
        let waits = waits(&live, &parents);
        ever |= !waits.is_empty();
        let mut faults = BTreeSet::new();
        for wait in &waits {
            match messages(&live, &wait.clique).find(|message| wait.is_in(message)) {
                Some(message) => drop(told.entry(wait.pair()).or_default().insert(message.to_owned())),
                None => drop(faults.insert(Fault::Unsaid(wait.clone()))),
            }
        }
        for ((clique, parent), before) in &told {
            let is_over = !waits.iter().any(|wait| (&wait.clique, &wait.parent) == (clique, parent));
            let still = messages(&live, clique).filter(|message| is_over && before.contains(*message));
            faults.extend(still.map(|message| Fault::StillSaid {
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
    match ever {
        true => Ok(()),
        false => {
            Err(Broken::NotReached(format!("no pod of PodCliqueSet {set} had to wait for another clique")))
        }
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

    /// Clique `b` starts after two pods of `a`.
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

    fn says(message: &str) -> Value {
        let mut pclq = object("PodClique", "w-0-b");
        pclq["status"] = json!({"conditions": [{"type": "T", "status": "True", "message": message}]});
        pclq
    }

    /// One of the two required pods is Ready.
    fn held() -> Story {
        let story = Story::flat().submitted(pcs()).added(says("")).added(pod("p", "w-0-a", true));
        story.added(pod("q", "w-0-a", false)).added(pod("c", "w-0-b", false))
    }

    #[rstest::rstest]
    #[case::in_time("w-0-a: 1/2", 4, true)]
    #[case::in_a_sentence("It waits until 2 pods of w-0-a are Ready; 1 is.", 4, true)]
    #[case::late("w-0-a: 1/2", 6, false)]
    #[case::of_a_namesake("w-0-a-b: 1/2", 4, false)]
    #[case::without_a_name("1 of 2", 4, false)]
    #[case::without_numbers("waits for w-0-a", 4, false)]
    #[case::other_numbers("w-0-a: 0/2", 4, false)]
    fn a_wait_is_said(#[case] words: &str, #[case] after: i64, #[case] fine: bool) {
        let history = held().later(after).modified(says(words)).later(9).mark(END, Value::Null).end();
        assert_eq!(told(&history, "w").is_ok(), fine, "{:?}", told(&history, "w"));
        assert_eq!(is_true(&with_set(&history), "w", &[]), fine || after > 5);
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
    fn and_no_longer_than_it_is_so(#[case] end: Value) {
        let over = || held().modified(says("w-0-a: 1/2")).modified(end.clone());
        let watched = |story: Story| story.later(9).mark(END, Value::Null).end();
        assert!(message(told(&watched(over()), "w")).contains("no longer waits for PodClique w-0-a"));
        assert_eq!(told(&watched(over().later(4).modified(says("w-0-a: 2/2"))), "w"), Ok(()));
        assert!(told(&watched(over().later(6).modified(says(""))), "w").is_err());
        let before = said(&with_set(&held().modified(says("w-0-a: 1/2")).end()), "w");
        assert_eq!(before.len(), 1);
        assert!(!is_true(&with_set(&over().end()), "w", &before));
        assert!(is_true(&with_set(&over().modified(says("")).end()), "w", &before));
    }

    #[test]
    fn other_counts_are_another_wait() {
        let story = held().modified(says("w-0-a: 1/2")).modified(pod("p", "w-0-a", false));
        let history = story.later(9).mark(END, Value::Null).end();
        assert!(message(told(&history, "w")).contains("0 of 2 Ready pods"));
    }

    #[test]
    fn where_nothing_waits_nothing_is_judged() {
        let history = Story::flat().submitted(pcs()).added(pod("c", "w-0-b", true)).end();
        assert!(matches!(told(&history, "w"), Err(Broken::NotReached(_))));
    }
}
