//! What a PodCliqueSet or its PodGangs report about why a gang waits (STAT-09, STAT-15, STAT-16), and about
//! failures (STAT-10, STAT-17).
//!
//! The operator chooses the condition and its wording. The message must contain the base PodGang that the
//! gang waits for, the scheduler's message, or the message of the refusal.

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

const WAITS_SILENTLY: Code = Code::new("waits-without-a-reason");
const STILL_WAITS: Code = Code::new("reason-outlives-the-wait");
const FAILS_SILENTLY: Code = Code::new("failure-not-told");
const STILL_FAILS: Code = Code::new("told-failure-outlives-success");
const PAUSES_DO_NOT_GROW: Code = Code::new("pauses-do-not-grow");

/// Messages shorter than this many bytes are too unspecific to compare.
const A_FEW_WORDS: usize = 12;

/// The reason to report.
#[derive(Debug, Clone)]
pub enum Why {
    /// This base PodGang is not bound.
    Base(String),
    /// The scheduler's messages about the gang, on its pods and gang resources.
    Scheduler,
    /// The API server's message when it refuses to create the pods.
    Refused(String),
    /// What some pods lack, in any of these terms of schedulers.
    Lack(&'static [&'static str]),
    /// This pod has a scheduling gate of someone else.
    Gate { pod: String, gate: &'static str },
    /// This pod waits for a volume for this claim, while another pod of its gang is bound.
    Claim { pod: String, claim: String },
}

/// The texts that a message must contain: all of one of these lists.
type Words = BTreeSet<Vec<String>>;

fn words(history: &History, gang: &Gang, why: &Why) -> Words {
    match why {
        Why::Base(words) | Why::Refused(words) => [vec![words.clone()]].into(),
        Why::Scheduler => said(history, gang).map(|(_, words)| vec![words.to_owned()]).collect(),
        Why::Lack(words) => words.iter().map(|words| vec![(*words).to_owned()]).collect(),
        Why::Gate { pod, gate } => [vec![pod.clone(), (*gate).to_owned()]].into(),
        Why::Claim { pod, claim } => [vec![pod.clone(), claim.clone()]].into(),
    }
}

/// The scheduler's messages about a gang's pods and gang resources, in order.
fn said<'a>(history: &'a History, gang: &Gang) -> impl Iterator<Item = (Version<'a>, &'a str)> {
    let all = refusals(history, gang).into_iter();
    let all = all.map(|(version, condition)| (version, text(&condition["message"]).trim()));
    all.filter(|(_, words)| words.len() >= A_FEW_WORDS)
}

/// Whether a message contains the text as whole words: a name does not match inside a longer name. A
/// truncated message matches too.
fn has(message: &str, words: &str) -> bool {
    let is_of_a_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let mut found = message.match_indices(words).filter(|(at, _)| {
        let (before, after) = (&message[..*at], &message[at + words.len()..]);
        !before.ends_with(is_of_a_word) && !after.starts_with(is_of_a_word)
    });
    found.next().is_some() || (message.len() >= A_FEW_WORDS && words.contains(message))
}

/// The conditions of a PodGang or its PodCliqueSet whose message contains these texts.
fn saying<'a>(object: &'a Value, gang: &Gang, words: &Words) -> Vec<&'a Value> {
    let name = text(&object["metadata"]["name"]);
    let is_its = match text(&object["kind"]) {
        "PodGang" => name == gang.name,
        "PodCliqueSet" => name == gang.set,
        _ => false,
    };
    let conditions = list(&object["status"]["conditions"]).iter().filter(|_| is_its);
    let says = |found: &&Value| {
        let message = text(&found["message"]);
        words.iter().any(|all| all.iter().all(|words| has(message, words)))
    };
    conditions.filter(says).collect()
}

/// How much longer an operator may repeat the scheduler's first message if that is not the cause. Schedulers
/// change their messages many times a second.
const FIRST_WORDS: SignedDuration = SignedDuration::from_secs(10);

/// A waiting gang reports the reason in time. The limit is 5 s, or 15 s for what a pod lacks and for a claim.
/// It starts when the reason is known:
///
/// - `Base`: the gang is Initialized
/// - `Scheduler`, `Lack`: the scheduler has reported the reason
/// - `Refused`: the gang has a PodClique
/// - `Gate`: the pod exists
/// - `Claim`: the first pod of the gang is bound
///
/// Returns `NotReached` if that never happened or the history ends before the limit.
pub fn told(history: &History, gang: &Gang, why: &Why) -> Ruling {
    let since = match why {
        Why::Scheduler => said(history, gang).next().map(|(version, _)| version),
        Why::Base(_) => history.named("PodGang", &gang.name).find(|version| {
            condition(version.object, "Initialized").is_some_and(|found| found["status"] == "True")
        }),
        Why::Refused(_) => history
            .of("PodClique")
            .find(|version| gang.groups.iter().any(|group| group.clique == version.name())),
        Why::Lack(words) => said(history, gang)
            .find(|(_, message)| words.iter().any(|words| has(message, words)))
            .map(|(version, _)| version),
        Why::Gate { pod, .. } => history.named("Pod", pod).next(),
        Why::Claim { .. } => history.pods().find(|version| {
            let pod = version.pod();
            pod.node().is_some() && gang.groups.iter().any(|group| pod.pod_clique() == Some(&group.clique))
        }),
    };
    let nothing = || {
        Broken::NotReached(format!(
            "PodGang {} never reached the state that its status must report",
            gang.name
        ))
    };
    let since = since.ok_or_else(nothing)?;
    let words = words(history, gang, why);
    let patience = match why {
        Why::Lack(_) | Why::Claim { .. } => patience(history).saturating_add(FIRST_WORDS),
        _ => patience(history),
    };
    let in_time = |version: &Version<'_>| version.at.duration_since(since.at) <= patience;
    let is_told = history
        .versions()
        .filter(in_time)
        .any(|version| version.change != Change::Deleted && !saying(version.object, gang, &words).is_empty());
    if !is_told && history.last_at().duration_since(since.at) <= patience {
        return Err(Broken::NotReached(format!("the PodGang was not observed for {} s", patience.as_secs())));
    }
    ensure(is_told, || {
        let what = match why {
            Why::Base(base) => format!("that it waits for its base PodGang {base}"),
            Why::Scheduler => "the scheduler's message about it".to_owned(),
            Why::Refused(words) => format!("that its pods are refused: {words:?}"),
            Why::Lack(words) => format!("what its pods lack: {}", words.join(" or ")),
            Why::Gate { pod, gate } => format!("that Pod {pod} has the scheduling gate {gate}"),
            Why::Claim { pod, claim } => format!("that Pod {pod} waits for a volume for its claim {claim}"),
        };
        let message = format!(
            "within {} s no condition of PodGang {} or its PodCliqueSet reported {what}",
            patience.as_secs(),
            gang.name
        );
        violation(WAITS_SILENTLY, message).shown_by("since", since)
    })
}

/// Five seconds after a wait ended at the entry `ended`, no condition reports it.
pub fn over(history: &History, gang: &Gang, why: &Why, ended: usize) -> Ruling {
    still(history, gang, &words(history, gang, why), ended, &STILL_WAITS)
}

fn still(history: &History, gang: &Gang, words: &Words, ended: usize, code: &Code) -> Ruling {
    let Some(since) = history.entries.get(ended.saturating_sub(1)).map(|entry| entry.at) else {
        return Ok(());
    };
    let patience = patience(history);
    let at = history.entries.iter().position(|entry| entry.at.duration_since(since) > patience);
    let live = at.map_or_else(|| history.end(), |place| history.before(place));
    let left: Vec<_> = live
        .all()
        .flat_map(|object| saying(object, gang, words).into_iter().map(move |found| (object, found)))
        .collect();
    if !left.is_empty() && at.is_none() {
        return Err(Broken::NotReached(format!("the PodGang was not observed for {} s", patience.as_secs())));
    }
    crate::none(left.into_iter().map(|(object, found)| {
        let of = format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]));
        let message =
            format!("condition {} of {of} still reports {}", text(&found["type"]), found["message"]);
        violation(code.clone(), message).shown_by_object("its status", object)
    }))
}

/// Whether an object reports why a gang waits.
pub fn is_told(live: &Live, history: &History, gang: &Gang, why: &Why) -> bool {
    let words = words(history, gang, why);
    live.all().any(|object| !saying(object, gang, &words).is_empty())
}

/// A refused write is reported with its message in two places: a Warning event about the PodCliqueSet or its
/// objects, and a condition of the PodGang or the PodCliqueSet.
pub fn failure_told(history: &History, gang: &Gang, refused: &str) -> Ruling {
    let words: Words = [vec![refused.to_owned()]].into();
    let is_said = history.versions().any(|version| !saying(version.object, gang, &words).is_empty());
    let condition = (!is_said).then_some("condition of its PodGang or PodCliqueSet");
    let event = (!history.of("Event").any(|version| is_warning(version.object, gang, refused)))
        .then_some("Warning event");
    crate::none([condition, event].into_iter().flatten().map(|what| {
        let message = format!(
            "no {what} reports that gang resources of PodCliqueSet {} are refused: {refused:?}",
            gang.set
        );
        violation(FAILS_SILENTLY, message)
    }))
}

pub fn is_warning(event: &Value, gang: &Gang, refused: &str) -> bool {
    let about = text(&event_about(event)["name"]);
    event["type"] == "Warning"
        && event_note(event).contains(refused)
        && (about == gang.name || about.starts_with(&gang.set))
        && event["metadata"]["labels"][names::CANARY].is_null()
}

/// Five seconds after a failure ended, no condition reports it.
pub fn failure_over(history: &History, gang: &Gang, refused: &str, ended: usize) -> Ruling {
    still(history, gang, &[vec![refused.to_owned()]].into(), ended, &STILL_FAILS)
}

/// The pauses between attempts grow: the longest pause of the later half is at least twice the longest of the
/// earlier half. Returns `NotReached` for fewer than five attempts.
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
            "a failing request was retried after pauses of {} s, want growing pauses",
            seconds.join(", ")
        );
        violation(PAUSES_DO_NOT_GROW, message)
    })
}

#[cfg(test)]
mod tests {
    use conformance_history::name;
    use conformance_history::testing::{Story, its_gang, object, one_clique, worker};
    use serde_json::json;

    use super::*;
    use crate::message;

    const GPUS: &str = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.";
    const NO_ROOM: &str = "0/3 nodes are available: 3 Insufficient GPUs.";

    fn gang() -> Gang {
        let mut gang = conformance_expect::gangs(&one_clique("w", 2)).remove(0);
        gang.name = "w-0".into();
        gang
    }

    fn saying_pod_gang(message: &str) -> Value {
        let mut gang = its_gang("w", 2);
        let initialized = json!({"type": "Initialized", "status": "True", "message": "all there"});
        let scheduled = json!({"type": "Any", "status": "False", "message": message});
        gang["status"]["conditions"] = json!([initialized, scheduled]);
        gang
    }

    fn refused(words: &str) -> Value {
        let mut pod = worker("w", 0, None);
        let scheduled =
            json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": words});
        pod["status"]["conditions"] = json!([scheduled]);
        pod
    }

    #[rstest::rstest]
    #[case::in_time(3, &format!("no place for it: {NO_ROOM}"), true)]
    #[case::cut_short(3, "0/3 nodes are available", true)]
    #[case::late(6, NO_ROOM, false)]
    #[case::in_its_own_words_alone(3, "it waits", false)]
    fn the_schedulers_words(#[case] after: i64, #[case] said: &str, #[case] right: bool) {
        let story = Story::flat().added(saying_pod_gang("")).added(refused(NO_ROOM)).later(after);
        let history = story.modified(saying_pod_gang(said)).later(20).mark_end().end();
        let found = told(&history, &gang(), &Why::Scheduler);
        assert_eq!(found.is_ok(), right, "{found:?}");
        if !right {
            assert!(message(found).contains("reported the scheduler's message about it"));
        }
    }

    #[test]
    fn the_base_by_its_name() {
        let why = Why::Base("w-base".into());
        let silent = Story::flat().added(saying_pod_gang("it waits")).later(9).mark_end().end();
        assert!(message(told(&silent, &gang(), &why)).contains("waits for its base PodGang w-base"));
        let told_so = Story::flat().added(saying_pod_gang("w-base is not bound")).later(9).mark_end().end();
        assert_eq!(told(&told_so, &gang(), &why), Ok(()));
        let itself = Story::flat().added(saying_pod_gang("w-base-1 waits")).later(9).mark_end().end();
        assert!(told(&itself, &gang(), &why).is_err(), "another name");
        let early = Story::flat().added(saying_pod_gang("it waits")).end();
        assert!(matches!(told(&early, &gang(), &why), Err(Broken::NotReached(_))));
    }

    #[rstest::rstest]
    #[case::in_time(3, "no pod: maximum cpu usage per Container is 1", true)]
    #[case::late(6, "no pod: maximum cpu usage per Container is 1", false)]
    #[case::in_its_own_words_alone(3, "no pod", false)]
    fn a_refusal_of_pods(#[case] after: i64, #[case] said: &str, #[case] right: bool) {
        let story = Story::flat().added(saying_pod_gang("")).added(object("PodClique", "w-0-worker"));
        let history = story.later(after).modified(saying_pod_gang(said)).later(20).mark_end().end();
        let found = told(&history, &gang(), &Why::Refused("maximum cpu usage per Container".into()));
        assert_eq!(found.is_ok(), right, "{found:?}");
        if !right {
            assert!(message(found).contains("reported that its pods are refused"));
        }
    }

    #[rstest::rstest]
    #[case::the_resource("0/2 nodes are available: 2 Insufficient nvidia.com/gpu.", 12, true)]
    #[case::late("0/2 nodes are available: 2 Insufficient nvidia.com/gpu.", 16, false)]
    #[case::another_pods_wait("waiting for minCount pods from a gang to be scheduled", 3, false)]
    fn what_a_pod_lacks(#[case] said: &str, #[case] after: i64, #[case] right: bool) {
        let story = Story::flat().added(saying_pod_gang("")).added(refused(GPUS)).later(after);
        let history = story.modified(saying_pod_gang(said)).later(20).mark_end().end();
        let found = told(&history, &gang(), &Why::Lack(&["nvidia.com/gpu"]));
        assert_eq!(found.is_ok(), right, "{found:?}");
        let unsaid =
            Story::flat().added(saying_pod_gang("")).added(refused(NO_ROOM)).later(20).mark_end().end();
        let nothing = told(&unsaid, &gang(), &Why::Lack(&["nvidia.com/gpu"]));
        assert!(matches!(nothing, Err(Broken::NotReached(_))), "the scheduler did not say so itself");
    }

    #[rstest::rstest]
    #[case::both("pod w-0-worker-0 has the scheduling gate example.com/quota", true)]
    #[case::the_gate_alone("a pod has the scheduling gate example.com/quota", false)]
    #[case::the_pod_alone("pod w-0-worker-0 waits", false)]
    fn a_gate_and_its_pod(#[case] said: &str, #[case] right: bool) {
        let pod = worker("w", 0, None);
        let gate = Why::Gate { pod: name(&pod).to_owned(), gate: "example.com/quota" };
        let said = said.replace("w-0-worker-0", name(&pod));
        let story = Story::flat().added(saying_pod_gang("")).added(pod);
        let history = story.modified(saying_pod_gang(&said)).later(20).mark_end().end();
        assert_eq!(told(&history, &gang(), &gate).is_ok(), right);
    }

    #[rstest::rstest]
    #[case::it_goes("bound", 3, true)]
    #[case::late("bound", 6, false)]
    #[case::it_stays(NO_ROOM, 3, false)]
    fn a_reason_goes(#[case] said: &str, #[case] after: i64, #[case] right: bool) {
        let waited = Story::flat().added(refused(NO_ROOM)).added(saying_pod_gang(NO_ROOM));
        let bound = waited.modified(worker("w", 0, Some("n"))).later(after);
        let history = bound.modified(saying_pod_gang(said)).later(9).mark_end().end();
        let found = over(&history, &gang(), &Why::Scheduler, 3);
        assert_eq!(found.is_ok(), right, "{found:?}");
        if !right {
            assert!(message(found).contains("condition Any of PodGang w-0 still reports"));
        }
    }

    #[test]
    fn a_failure_is_an_event_and_a_condition() {
        let event = |kind: &str| {
            let mut event = object("Event", "e");
            event["type"] = json!(kind);
            event["involvedObject"] = json!({"kind": "PodGang", "name": "w-0"});
            event["message"] = json!("cannot create: not today");
            event
        };
        let both = || Story::flat().added(saying_pod_gang("it fails: not today")).added(event("Warning"));
        assert_eq!(failure_told(&both().end(), &gang(), "not today"), Ok(()));
        let no_event = Story::flat().added(saying_pod_gang("not today")).added(event("Normal")).end();
        assert!(message(failure_told(&no_event, &gang(), "not today")).contains("no Warning event"));
        let no_condition = Story::flat().added(saying_pod_gang("")).added(event("Warning")).end();
        assert!(message(failure_told(&no_condition, &gang(), "not today")).contains("no condition"));
        let over_since = |said: &str| {
            let history = both().modified(saying_pod_gang(said)).later(9).mark_end().end();
            failure_over(&history, &gang(), "not today", 2)
        };
        assert_eq!(over_since("made"), Ok(()));
        assert!(message(over_since("not today")).contains("still reports"));
    }

    #[rstest::rstest]
    #[case::doubled(&[0, 50, 150, 350, 750, 1550], true)]
    #[case::always_the_same(&[0, 50, 100, 150, 200, 250], false)]
    #[case::five_seconds(&[0, 5000, 10_000, 15_000, 20_000, 25_000], false)]
    fn pauses(#[case] milliseconds: &[i64], #[case] grow: bool) {
        let at: Vec<_> = milliseconds.iter().map(|at| Timestamp::from_millisecond(*at).unwrap()).collect();
        assert_eq!(pauses_grow(&at).is_ok(), grow);
        assert!(matches!(pauses_grow(&at[..3]), Err(Broken::NotReached(_))));
    }

    trait Ended {
        fn mark_end(self) -> Story;
    }

    impl Ended for Story {
        /// Adds an object that is seen at the end.
        fn mark_end(self) -> Story {
            self.added(object("Node", "late"))
        }
    }
}
