//! What admission answered, and what its refusals left behind.
//!
//! A case states its attempts as data ([`Attempt`]): variations of a PodCliqueSet, each with the answer that the
//! contract requires. The driver sends them and records a mark with each [`Reply`]; the functions here compare the
//! marks with the same data. An attempt without a mark was not made, and nothing is concluded about it.

use std::collections::BTreeMap;

use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_history::{Change, History, Live, Mark, SharedMark, Version};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::gang_resources::is_gang_resource;
use super::{Shown, ensure, none, violation};

const ANSWERED_OTHERWISE: Code = Code::new("answered-otherwise");
const REMOVED_THOUGH_REFUSED: Code = Code::new("removed-though-refused");
const CHANGED_THOUGH_REFUSED: Code = Code::new("changed-though-refused");
const MADE_THOUGH_REFUSED: Code = Code::new("made-though-refused");
const RECREATED: Code = Code::new("recreated");
const STILL_THERE: Code = Code::new("still-there");
const LOOSE_POD_RELEASED: Code = Code::new("loose-pod-released");
const CONTROLLER_RESTARTED: Code = Code::new("controller-restarted");

/// The answer that the contract demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Admitted.
    Admitted,
    /// Refused by the rules: a 4xx, not a webhook that did not answer.
    Refused,
    /// Refused by the rules in any words, or admitted with a warning that contains what the attempt says: never admitted
    /// in silence.
    RefusedOrWarned,
    /// Refused because a webhook does not answer: a 5xx that names it.
    Unanswered,
    /// Any of the two; only the words count.
    Judged,
}

/// A variation of a PodCliqueSet, and what admission has to say to it.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    /// What is tried, in words; unique in its case.
    pub title: &'static str,
    /// Makes the variation.
    pub edit: Edit,
    /// The answer.
    pub wanted: Wanted,
    /// What the refusal, or else the warnings, must contain, in any case of letters: no more than the clause demands, for
    /// how it is put is the implementation's. `a|b` is either.
    pub says: &'static [&'static str],
    /// What neither may contain.
    pub silent: &'static [&'static str],
}

/// What makes a variation of a PodCliqueSet.
#[derive(Debug, Clone, Copy)]
pub enum Edit {
    /// A function.
    By(fn(&mut Value)),
    /// Values at JSON pointers, `null` to remove a field: what tables are made of.
    Set(&'static [(String, Value)]),
}

impl Edit {
    /// Makes the variation.
    pub fn apply(self, pcs: &mut Value) {
        match self {
            Self::By(edit) => edit(pcs),
            Self::Set(values) => values.iter().for_each(|(pointer, value)| set(pcs, pointer, value)),
        }
    }
}

fn set(object: &mut Value, pointer: &str, value: &Value) {
    let parent = pointer.rsplit_once('/').map(|(parent, field)| (object.pointer_mut(parent), field));
    match parent {
        Some((Some(Value::Object(fields)), field)) if value.is_null() => drop(fields.remove(field)),
        Some((Some(Value::Object(fields)), field)) => drop(fields.insert(field.into(), value.clone())),
        Some((Some(Value::Array(items)), index)) => {
            if let Some(item) = index.parse().ok().and_then(|index: usize| items.get_mut(index)) {
                *item = value.clone();
            }
        }
        _ => {}
    }
}

/// A row of a table of attempts, made by a program; its title is unique in its case.
#[derive(Debug, Clone)]
pub struct Row {
    /// What is tried, in words.
    pub title: String,
    /// What makes the variation.
    pub values: Vec<(String, Value)>,
    /// The answer, in any words.
    pub wanted: Wanted,
}

impl Row {
    /// The attempt that it stands for.
    pub fn attempt(&'static self) -> Attempt {
        let Self { title, values, wanted } = self;
        Attempt { title, edit: Edit::Set(values), wanted: *wanted, says: &[], silent: &[] }
    }
}

/// An attempt that has to be admitted.
pub const fn admitted(title: &'static str, edit: fn(&mut Value)) -> Attempt {
    Attempt { title, edit: Edit::By(edit), wanted: Wanted::Admitted, says: &[], silent: &[] }
}

/// An attempt that has to be refused, with a message that contains all of `says`.
pub const fn refused(title: &'static str, says: &'static [&'static str], edit: fn(&mut Value)) -> Attempt {
    Attempt { title, edit: Edit::By(edit), wanted: Wanted::Refused, says, silent: &[] }
}

/// An attempt at something that has no effect: it has to be refused, or admitted with a warning that contains all of
/// `says`.
pub const fn refused_or_warned(
    title: &'static str,
    says: &'static [&'static str],
    edit: fn(&mut Value),
) -> Attempt {
    Attempt { title, edit: Edit::By(edit), wanted: Wanted::RefusedOrWarned, says, silent: &[] }
}

/// An attempt that has to be refused because a webhook does not answer, with a message that contains all of `says`.
pub const fn unanswered(title: &'static str, says: &'static [&'static str], edit: fn(&mut Value)) -> Attempt {
    Attempt { title, edit: Edit::By(edit), wanted: Wanted::Unanswered, says, silent: &[] }
}

impl Attempt {
    /// Admitted, but with a warning that contains all of `says`.
    #[must_use]
    pub const fn with_warning(self, says: &'static [&'static str]) -> Self {
        Self { says, ..self }
    }

    /// None of these words may be in the answer: they belong to a rule that does not apply.
    #[must_use]
    pub const fn silent_about(self, silent: &'static [&'static str]) -> Self {
        Self { silent, ..self }
    }

    /// The answer as such: what its words have to be is another clause's.
    #[must_use]
    pub const fn in_any_words(self) -> Self {
        Self { says: &[], ..self }
    }

    /// Only the words of the answer count, not whether it admits.
    #[must_use]
    pub const fn whatever_the_answer(self) -> Self {
        Self { wanted: Wanted::Judged, ..self }
    }

    /// What is wrong with a reply, or `None`.
    pub fn wrong(&self, reply: &Reply) -> Option<String> {
        let said = reply.said().to_lowercase();
        let contains = |word: &&&str| word.split('|').any(|either| said.contains(&either.to_lowercase()));
        let fits = match self.wanted {
            Wanted::Admitted => reply.is_admitted(),
            Wanted::Refused => reply.is_refused(),
            Wanted::RefusedOrWarned | Wanted::Judged => reply.is_admitted() || reply.is_refused(),
            Wanted::Unanswered => reply.code >= 500,
        };
        if !fits {
            return Some(format!("was to be {}, but {reply}", self.wanted.in_words()));
        }
        if self.wanted == Wanted::RefusedOrWarned && reply.is_refused() {
            return None;
        }
        if let Some(missing) = self.says.iter().find(|word| !contains(word)) {
            return Some(format!("the answer does not say {missing:?}: {reply}"));
        }
        let word = self.silent.iter().find(contains)?;
        Some(format!("the answer says {word:?}, of a rule that does not apply: {reply}"))
    }
}

impl Wanted {
    fn in_words(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::Refused => "refused",
            Self::RefusedOrWarned => "refused, or admitted with a warning",
            Self::Unanswered => "refused because a webhook does not answer",
            Self::Judged => "admitted or refused",
        }
    }
}

/// What the API server answered to an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The object's name.
    pub name: String,
    /// `create`, `update` or `delete`.
    pub verb: String,
    /// HTTP status code.
    pub code: u16,
    /// The refusal's message.
    pub message: String,
    /// The `Warning` headers.
    pub warnings: Vec<String>,
}

impl Reply {
    /// Whether the object was admitted.
    pub fn is_admitted(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// Whether it was refused for what it says; a 5xx is a webhook that failed.
    pub fn is_refused(&self) -> bool {
        (400..500).contains(&self.code)
    }

    fn said(&self) -> String {
        if self.is_admitted() { self.warnings.join("\n") } else { self.message.clone() }
    }

    fn of(mark: &Mark) -> Result<Self, Broken> {
        serde_json::from_value(mark.detail["reply"].clone()).map_err(|error| {
            Broken::NotReached(format!("the mark of {} cannot be read: {error}", mark.detail["title"]))
        })
    }
}

impl std::fmt::Display for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.said().as_str() {
            "" => write!(f, "{} {} got {}", self.verb, self.name, self.code),
            said => write!(f, "{} {} got {}: {said}", self.verb, self.name, self.code),
        }
    }
}

/// Every attempt was answered as the contract demands.
///
/// # Errors
/// A violation per attempt that was not; [`Broken::NotReached`] if that is not so and one was not made.
pub fn answers(history: &History, attempts: &[Attempt]) -> Ruling {
    let mut violations = Vec::new();
    let mut not_made = None;
    for attempt in attempts {
        match reply_to(history, attempt) {
            Ok(reply) => violations.extend(
                attempt
                    .wrong(&reply)
                    .map(|wrong| violation(ANSWERED_OTHERWISE, format!("{}: {wrong}", attempt.title))),
            ),
            Err(why) => not_made = not_made.or(Some(why)),
        }
    }
    none(violations)?;
    not_made.map_or(Ok(()), Err)
}

/// Every refusal says what it has to. Whether an attempt is to be refused is another clause's.
///
/// # Errors
/// As [`answers`].
pub fn refusals_say(history: &History, attempts: &[Attempt]) -> Ruling {
    let is_refused = |attempt: &&Attempt| reply_to(history, attempt).map_or(true, |reply| reply.is_refused());
    let refused: Vec<_> = attempts.iter().filter(is_refused).copied().collect();
    answers(history, &refused.iter().map(|attempt| attempt.whatever_the_answer()).collect::<Vec<_>>())
}

/// Whether an attempt was made, and refused.
pub fn was_refused(history: &History, attempt: &Attempt) -> bool {
    reply_to(history, attempt).is_ok_and(|reply| reply.is_refused())
}

/// The last answer to an attempt.
fn reply_to(history: &History, attempt: &Attempt) -> Result<Reply, Broken> {
    let made =
        history.marks(SharedMark::Attempt).filter(|(_, mark)| mark.detail["title"] == attempt.title).last();
    let (_, mark) =
        made.ok_or_else(|| Broken::NotReached(format!("{:?} was not attempted", attempt.title)))?;
    Reply::of(mark)
}

/// Of what was made for the PodCliqueSet until `since` nothing was removed or made anew (ADM-03): Grove's objects, pods
/// and gang resources.
///
/// # Errors
/// A violation per object that is gone; [`Broken::NotReached`] if there was no pod.
pub fn nothing_recreated(history: &History, pcs: &str, since: usize) -> Ruling {
    let before = history.before(since);
    let was = objects(&before, pcs);
    let end = history.end();
    let is = objects(&end, pcs);
    let kind = |object: &Value| object["kind"].as_str().unwrap_or_default().to_owned();
    if !was.values().any(|object| kind(object) == "Pod") {
        return Err(Broken::NotReached(format!("PodCliqueSet {pcs} had no pod")));
    }
    let counts = |object: &Value| {
        matches!(kind(object).as_str(), "Pod" | "PodClique" | "PodCliqueScalingGroup" | "PodGang")
            || is_gang_resource(object)
    };
    let gone = was.iter().filter(|(uid, object)| counts(object) && !is.contains_key(*uid));
    none(gone.map(|(_, object)| {
        let message = format!("{} {} was removed", kind(object), object["metadata"]["name"]);
        violation(RECREATED, message).shown_by_object("was there", object)
    }))
}

/// Whether an object is the PodCliqueSet, or was made for it. Objects of the backend carry no label of Grove's, but
/// all names begin with the PodCliqueSet's.
fn belongs(object: &Value, pcs: &str) -> bool {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let kind = object["kind"].as_str().unwrap_or_default();
    !matches!(kind, "Event" | "Node" | "Namespace" | "ClusterTopologyBinding")
        && (name == pcs
            || name.strip_prefix(pcs).is_some_and(|rest| rest.starts_with('-'))
            || object["metadata"]["labels"][names::PART_OF] == pcs)
}

/// A refused create left no object of any kind (ADM-05).
///
/// # Errors
/// A violation per object that was ever there; [`Broken::NotReached`] if one of the attempts was not made.
pub fn left_nothing(history: &History, attempts: &[Attempt]) -> Ruling {
    let mut violations = Vec::new();
    for attempt in attempts {
        let reply = reply_to(history, attempt)?;
        if reply.is_admitted() {
            continue;
        }
        let left = history.versions().filter(|version| belongs(version.object, &reply.name));
        violations.extend(left.filter(|version| version.change == Change::Added).map(|version| {
            violation(
                MADE_THOUGH_REFUSED,
                format!("{}: refused, and yet there is {} {}", attempt.title, version.kind(), version.name()),
            )
            .shown_by("left behind", version)
        }));
    }
    none(violations)
}

/// From `since` to the end, the PodCliqueSet and all that was made for it stayed what they were: the same objects with
/// the same spec, and the PodCliqueSet with the same labels and annotations (ADM-05). Status is the controllers'.
///
/// # Errors
/// A violation per object that changed, came or went; [`Broken::NotReached`] if it was not there.
pub fn unchanged(history: &History, pcs: &str, since: usize) -> Ruling {
    let before = history.before(since);
    let Some(stored) = before.get("PodCliqueSet", pcs) else {
        return Err(Broken::NotReached(format!("PodCliqueSet {pcs} was not there")));
    };
    let later = history.named("PodCliqueSet", pcs).filter(|version| version.index >= since);
    none(later.filter(|version| asked(version.object) != asked(stored)).map(|version| {
        violation(CHANGED_THOUGH_REFUSED, format!("a refused update changed PodCliqueSet {pcs}"))
            .shown_by_object("before", stored)
            .shown_by("after", version)
    }))?;
    let end = history.end();
    let (was, is) = (objects(&before, pcs), objects(&end, pcs));
    let gone_or_changed = was.iter().filter_map(|(uid, object)| match is.get(uid) {
        None => Some(
            violation(REMOVED_THOUGH_REFUSED, "a refused update removed an object")
                .shown_by_object("was there", object),
        ),
        Some(now) if now["spec"] != object["spec"] => Some(
            violation(CHANGED_THOUGH_REFUSED, "a refused update changed an object")
                .shown_by_object("before", object)
                .shown_by_object("after", now),
        ),
        Some(_) => None,
    });
    let new = is.iter().filter(|(uid, _)| !was.contains_key(*uid));
    let new = new.map(|(_, object)| {
        violation(MADE_THOUGH_REFUSED, "a refused update made an object").shown_by_object("new", object)
    });
    none(gone_or_changed.chain(new))
}

/// What of an object is its user's.
fn asked(object: &Value) -> [&Value; 4] {
    let metadata = &object["metadata"];
    [&object["spec"], &metadata["generation"], &metadata["labels"], &metadata["annotations"]]
}

/// What was made for a PodCliqueSet, by uid.
fn objects<'a>(live: &'a Live, pcs: &str) -> BTreeMap<&'a str, &'a Value> {
    live.all()
        .filter(|object| belongs(object, pcs))
        .map(|object| (Version::of(object).uid(), object))
        .collect()
}

/// The object is gone, and not just about to go.
///
/// # Errors
/// A violation if it is still there; [`Broken::NotReached`] if it never was.
pub fn deleted(history: &History, kind: &str, name: &str) -> Ruling {
    if history.named(kind, name).next().is_none() {
        return Err(Broken::NotReached(format!("{kind} {name} was never there")));
    }
    let end = history.end();
    none(end.get(kind, name).map(|object| {
        violation(STILL_THERE, format!("{kind} {name} was to be deleted and is still there"))
            .shown_by_object("at the end", object)
    }))
}

/// No pod of the target's scheduler was ever without both a scheduling gate and a scheduling group, nor bound without a
/// group: for a workload whose pods all belong to the hard gang, none ran as a loose pod (KUBE-16).
///
/// A pod's group never changes, so one that came while a watch was away is seen when it lists again.
///
/// # Errors
/// A violation per pod; [`Broken::NotReached`] if there never was a pod.
pub fn no_loose_pods(history: &History) -> Ruling {
    let scheduler = history.header.target.backend();
    let of_target = |version: &Version<'_>| version.object["spec"]["schedulerName"] == scheduler;
    if !history.pods().any(|version| of_target(&version)) {
        return Err(Broken::NotReached("there never was a pod".into()));
    }
    let mut loose: BTreeMap<&str, Version<'_>> = BTreeMap::new();
    for version in history.pods().filter(of_target) {
        let pod = version.pod();
        let group = &version.object["spec"]["schedulingGroup"]["podGroupName"];
        if !group.is_string() && (pod.gates().is_empty() || pod.node().is_some()) {
            loose.entry(pod.uid()).or_insert(version);
        }
    }
    none(loose.into_values().map(|version| {
        violation(
            LOOSE_POD_RELEASED,
            format!("{} was released to the scheduler as a loose pod", version.name()),
        )
        .shown_by("no gate and no scheduling group", version)
    }))
}

/// All marks of the controller are of one process, and there are at least two: what changed between them it found
/// without a restart.
///
/// # Errors
/// A violation if it was restarted; [`Broken::NotReached`] with fewer marks.
pub fn one_process(history: &History) -> Ruling {
    let pids: Vec<&Value> =
        history.marks(SharedMark::Controller).map(|(_, mark)| &mark.detail["pid"]).collect();
    let [first, rest @ .., last] = pids.as_slice() else {
        return Err(Broken::NotReached("the controller was not looked at twice".into()));
    };
    ensure(rest.iter().chain([last]).all(|pid| pid == first), || {
        violation(CONTROLLER_RESTARTED, "the controller was restarted")
    })
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
