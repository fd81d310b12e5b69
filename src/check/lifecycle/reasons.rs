//! Checks of what statuses report about failures and about why a gang waits. The operator chooses the
//! condition and its wording, but the message must contain the reason.

use std::collections::BTreeSet;

use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_expect::Gang;
use conformance_history::{Change, History, Live, Version, condition, event_about, event_note, list, text};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::refusals::refusals;
use crate::{Shown, ensure, patience, violation};

const WAITING_REASON_NOT_REPORTED: Code = Code::new("waiting-reason-not-reported");
const WAITING_REASON_STILL_REPORTED: Code = Code::new("waiting-reason-still-reported");
const FAILURE_NOT_REPORTED: Code = Code::new("failure-not-reported");
const FAILURE_STILL_REPORTED: Code = Code::new("failure-still-reported");
const PAUSES_DO_NOT_GROW: Code = Code::new("pauses-do-not-grow");

/// Messages of fewer bytes are too unspecific to compare.
const SHORTEST_MESSAGE: usize = 12;

#[derive(Debug, Clone)]
pub enum Why {
    /// This base PodGang is not bound yet.
    Base(String),
    /// The scheduler's messages in conditions of the gang's pods and gang resources.
    Scheduler,
    /// The API server refuses to create the pods, with this message.
    Refused(String),
    /// Some pods lack this, in any of these terms of schedulers.
    Lack(&'static [&'static str]),
    /// This pod has a scheduling gate of a third party.
    Gate { pod: String, gate: String },
    /// This pod waits for a volume for this claim, while another pod of its gang is bound.
    Claim { pod: String, claim: String },
    /// An object with this name must be created, but an object of this owner already has the name.
    Taken { name: String, owner: &'static str },
}

/// Lists of strings. A message must contain every string of at least one list.
type Words = BTreeSet<Vec<String>>;

fn words(history: &History, gang: &Gang, why: &Why) -> Words {
    match why {
        Why::Base(words) | Why::Refused(words) => [vec![words.clone()]].into(),
        Why::Scheduler => {
            scheduler_messages(history, gang).map(|(_, words)| vec![words.to_owned()]).collect()
        }
        Why::Lack(words) => words.iter().map(|words| vec![(*words).to_owned()]).collect(),
        Why::Gate { pod, gate: other } | Why::Claim { pod, claim: other } => {
            [vec![pod.clone(), other.clone()]].into()
        }
        Why::Taken { name, owner } => [vec![name.clone(), (*owner).to_owned()]].into(),
    }
}

fn scheduler_messages<'a>(history: &'a History, gang: &Gang) -> impl Iterator<Item = (Version<'a>, &'a str)> {
    let all = refusals(history, gang).into_iter();
    let all = all.map(|(version, condition)| (version, text(&condition["message"]).trim()));
    all.filter(|(_, words)| words.len() >= SHORTEST_MESSAGE)
}

/// Returns the scheduler's first message about a lack. An operator cannot know what no scheduler reports.
pub fn lack_reported<'a>(history: &'a History, gang: &Gang, terms: &[&str]) -> Option<Version<'a>> {
    let contains = |message: &str| terms.iter().any(|words| contains_words(message, words));
    scheduler_messages(history, gang).find(|(_, message)| contains(message)).map(|(version, _)| version)
}

/// A name does not match inside a longer name. A truncated message also matches.
fn contains_words(message: &str, words: &str) -> bool {
    let is_of_a_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let mut found = message.match_indices(words).filter(|(at, _)| {
        let (before, after) = (&message[..*at], &message[at + words.len()..]);
        !before.ends_with(is_of_a_word) && !after.starts_with(is_of_a_word)
    });
    found.next().is_some() || (message.len() >= SHORTEST_MESSAGE && words.contains(message))
}

fn conditions_with<'a>(object: &'a Value, gang: &Gang, words: &Words) -> Vec<&'a Value> {
    let name = text(&object["metadata"]["name"]);
    let is_of_gang = match text(&object["kind"]) {
        "PodGang" => name == gang.name,
        "PodCliqueSet" => name == gang.set,
        _ => false,
    };
    let conditions = list(&object["status"]["conditions"]).iter().filter(|_| is_of_gang);
    let contains = |found: &&Value| {
        let message = text(&found["message"]);
        words.iter().any(|all| all.iter().all(|words| contains_words(message, words)))
    };
    conditions.filter(contains).collect()
}

/// How much longer an operator may report the scheduler's first message. Schedulers change their messages
/// many times per second, and the first one may not name the cause.
const FIRST_MESSAGE_LASTS: SignedDuration = SignedDuration::from_secs(10);

/// Requires that the reason is reported within 5 s after it is known ([`Why`]), or 15 s for a lack or a
/// claim. Returns `NotReached` if it was never known, or if the history ends before the limit.
pub fn reason_reported(history: &History, gang: &Gang, why: &Why) -> Ruling {
    let since = match why {
        Why::Scheduler => scheduler_messages(history, gang).next().map(|(version, _)| version),
        Why::Base(_) => history.named("PodGang", &gang.name).find(|version| {
            condition(version.object, "Initialized").is_some_and(|found| found["status"] == "True")
        }),
        Why::Refused(_) => history
            .of("PodClique")
            .find(|version| gang.groups.iter().any(|group| group.clique == version.name())),
        Why::Lack(terms) => lack_reported(history, gang, terms),
        Why::Gate { pod, .. } => history.named("Pod", pod).next(),
        Why::Claim { .. } => history.pods().find(|version| {
            let pod = version.pod();
            pod.node().is_some() && gang.groups.iter().any(|group| pod.pod_clique() == Some(&group.clique))
        }),
        Why::Taken { .. } => history.named("PodCliqueSet", &gang.set).next(),
    };
    let not_reached = || {
        Broken::NotReached(format!(
            "PodGang {} never reached the state that its status must report",
            gang.name
        ))
    };
    let since = since.ok_or_else(not_reached)?;
    let words = words(history, gang, why);
    let patience = match why {
        Why::Lack(_) | Why::Claim { .. } => patience(history).saturating_add(FIRST_MESSAGE_LASTS),
        _ => patience(history),
    };
    let in_time = |version: &Version<'_>| version.at.duration_since(since.at) <= patience;
    let is_reported = history.versions().filter(in_time).any(|version| {
        version.change != Change::Deleted && !conditions_with(version.object, gang, &words).is_empty()
    });
    if !is_reported && history.last_at().duration_since(since.at) <= patience {
        return Err(Broken::NotReached(format!(
            "PodGang {} was not observed for {} s",
            gang.name,
            patience.as_secs()
        )));
    }
    ensure(is_reported, || {
        let what = match why {
            Why::Base(base) => format!("that the PodGang waits for its base PodGang {base}"),
            Why::Scheduler => "the scheduler's message about the PodGang".to_owned(),
            Why::Refused(words) => format!("that its pods are refused: {words:?}"),
            Why::Lack(words) => format!("what its pods lack: {}", words.join(" or ")),
            Why::Gate { pod, gate } => format!("that Pod {pod} has the scheduling gate {gate}"),
            Why::Claim { pod, claim } => format!("that Pod {pod} waits for a volume for its claim {claim}"),
            Why::Taken { name, owner } => format!("that the name {name} is taken by an object of {owner}"),
        };
        let message = format!(
            "within {} s no condition of PodGang {} or its PodCliqueSet reported {what}",
            patience.as_secs(),
            gang.name
        );
        violation(WAITING_REASON_NOT_REPORTED, message).shown_by("since", since)
    })
}

pub fn reason_no_longer_reported(history: &History, gang: &Gang, why: &Why, ended: usize) -> Ruling {
    no_longer_reported(history, gang, &words(history, gang, why), ended, &WAITING_REASON_STILL_REPORTED)
}

fn no_longer_reported(history: &History, gang: &Gang, words: &Words, ended: usize, code: &Code) -> Ruling {
    let Some(since) = history.entries.get(ended.saturating_sub(1)).map(|entry| entry.at) else {
        return Ok(());
    };
    let patience = patience(history);
    let at = history.entries.iter().position(|entry| entry.at.duration_since(since) > patience);
    let live = at.map_or_else(|| history.end(), |index| history.before(index));
    let left: Vec<_> = live
        .all()
        .flat_map(|object| conditions_with(object, gang, words).into_iter().map(move |found| (object, found)))
        .collect();
    if !left.is_empty() && at.is_none() {
        return Err(Broken::NotReached(format!(
            "PodGang {} was not observed for {} s",
            gang.name,
            patience.as_secs()
        )));
    }
    crate::none(left.into_iter().map(|(object, found)| {
        let reporter = format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]));
        let message =
            format!("condition {} of {reporter} still reports {}", text(&found["type"]), found["message"]);
        violation(code.clone(), message).shown_by_object("its status", object)
    }))
}

pub fn is_reported(live: &Live, history: &History, gang: &Gang, why: &Why) -> bool {
    let words = words(history, gang, why);
    live.all().any(|object| !conditions_with(object, gang, &words).is_empty())
}

/// Requires that a Warning event reports the failure, and a condition of the PodGang or the PodCliqueSet.
pub fn failure_reported(history: &History, gang: &Gang, refused: &str) -> Ruling {
    let words: Words = [vec![refused.to_owned()]].into();
    let has_condition =
        history.versions().any(|version| !conditions_with(version.object, gang, &words).is_empty());
    let condition = (!has_condition).then_some("condition of its PodGang or PodCliqueSet");
    let event = (!history.of("Event").any(|version| is_warning(version.object, gang, refused)))
        .then_some("Warning event");
    crate::none([condition, event].into_iter().flatten().map(|what| {
        let message = format!(
            "no {what} reports that gang resources of PodCliqueSet {} are refused: {refused:?}",
            gang.set
        );
        violation(FAILURE_NOT_REPORTED, message)
    }))
}

pub fn is_warning(event: &Value, gang: &Gang, refused: &str) -> bool {
    let about = text(&event_about(event)["name"]);
    event["type"] == "Warning"
        && event_note(event).contains(refused)
        && (about == gang.name || about.starts_with(&gang.set))
        && event["metadata"]["labels"][names::CANARY].is_null()
}

pub fn failure_no_longer_reported(history: &History, gang: &Gang, refused: &str, ended: usize) -> Ruling {
    no_longer_reported(history, gang, &[vec![refused.to_owned()]].into(), ended, &FAILURE_STILL_REPORTED)
}

/// Requires that the longest pause at least doubles between the halves. `NotReached` below five attempts.
pub fn pauses_grow(attempts: &[Timestamp]) -> Ruling {
    let pauses: Vec<_> = attempts.windows(2).map(|pair| pair[1].duration_since(pair[0])).collect();
    if pauses.len() < 4 {
        return Err(Broken::NotReached(format!(
            "the operator made {} attempts, too few to compare the pauses",
            attempts.len()
        )));
    }
    let (earlier, later) = pauses.split_at(pauses.len() / 2);
    let longest = |pauses: &[SignedDuration]| pauses.iter().max().copied().unwrap_or_default();
    ensure(longest(later) >= longest(earlier) * 2, || {
        let seconds: Vec<_> = pauses.iter().map(|pause| format!("{:.2}", pause.as_secs_f64())).collect();
        let message = format!(
            "the operator retried a failing request after pauses of {} s, want growing pauses",
            seconds.join(", ")
        );
        violation(PAUSES_DO_NOT_GROW, message)
    })
}

#[cfg(test)]
#[path = "reasons_tests.rs"]
mod tests;
