//! The answers of admission, and the objects that refused requests left behind.
//!
//! A case states its attempts as data ([`Attempt`]): variations of a PodCliqueSet, each with the answer that
//! the contract requires. The driver sends them and records a mark with each [`Reply`]. The checks compare
//! the marks with the same data. An attempt without a mark was not sent and is not checked.

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

/// The answer that the contract requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    Admitted,
    /// Refused by the rules with a 4xx. A webhook that does not answer does not count.
    Refused,
    /// Refused by the rules with any message, or admitted with a warning that contains the attempt's words.
    RefusedOrWarned,
    /// Refused with a 5xx that names the webhook, because it does not answer.
    Unanswered,
    /// Admitted or refused; only the message is checked.
    Judged,
}

/// A variation of a PodCliqueSet, and the required answer.
#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    /// A description, unique in its case.
    pub title: &'static str,
    pub edit: Edit,
    pub wanted: Wanted,
    /// Words that the refusal, or else the warnings, must contain; case does not matter. They include only
    /// what the clause demands, because the wording is the implementation's. `a|b` accepts either.
    pub says: &'static [&'static str],
    /// Words that the refusal and the warnings must not contain.
    pub silent: &'static [&'static str],
}

/// How a variation of a PodCliqueSet is made.
#[derive(Debug, Clone, Copy)]
pub enum Edit {
    By(fn(&mut Value)),
    /// Values at JSON pointers, for tables; `null` removes a field.
    Set(&'static [(String, Value)]),
}

impl Edit {
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

/// A generated row of a table of attempts.
#[derive(Debug, Clone)]
pub struct Row {
    /// A description, unique in its case.
    pub title: String,
    /// The values at JSON pointers.
    pub values: Vec<(String, Value)>,
    /// The required answer; the message is not checked.
    pub wanted: Wanted,
}

impl Row {
    pub fn attempt(&'static self) -> Attempt {
        let Self { title, values, wanted } = self;
        Attempt { title, edit: Edit::Set(values), wanted: *wanted, says: &[], silent: &[] }
    }
}

/// An attempt that must be admitted.
pub const fn admitted(title: &'static str, edit: fn(&mut Value)) -> Attempt {
    Attempt { title, edit: Edit::By(edit), wanted: Wanted::Admitted, says: &[], silent: &[] }
}

/// An attempt that must be refused, with a message that contains all of `says`.
pub const fn refused(title: &'static str, says: &'static [&'static str], edit: fn(&mut Value)) -> Attempt {
    Attempt { title, edit: Edit::By(edit), wanted: Wanted::Refused, says, silent: &[] }
}

/// An attempt to set something without effect. It must be refused, or admitted with a warning that contains
/// all of `says`.
pub const fn refused_or_warned(
    title: &'static str,
    says: &'static [&'static str],
    edit: fn(&mut Value),
) -> Attempt {
    Attempt { title, edit: Edit::By(edit), wanted: Wanted::RefusedOrWarned, says, silent: &[] }
}

/// An attempt that must be refused because a webhook does not answer, with a message that contains all of
/// `says`.
pub const fn unanswered(title: &'static str, says: &'static [&'static str], edit: fn(&mut Value)) -> Attempt {
    Attempt { title, edit: Edit::By(edit), wanted: Wanted::Unanswered, says, silent: &[] }
}

impl Attempt {
    /// Requires a warning that contains all of `says`.
    #[must_use]
    pub const fn with_warning(self, says: &'static [&'static str]) -> Self {
        Self { says, ..self }
    }

    /// Forbids these words in the answer, because they belong to a rule that does not apply.
    #[must_use]
    pub const fn silent_about(self, silent: &'static [&'static str]) -> Self {
        Self { silent, ..self }
    }

    /// Checks only the answer. Another clause covers its words.
    #[must_use]
    pub const fn in_any_words(self) -> Self {
        Self { says: &[], ..self }
    }

    /// Checks only the words, not whether the attempt was admitted.
    #[must_use]
    pub const fn whatever_the_answer(self) -> Self {
        Self { wanted: Wanted::Judged, ..self }
    }

    /// Describes what is wrong with a reply, or returns `None`.
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
            return Some(format!("want it {}, but {reply}", self.wanted.in_words()));
        }
        if self.wanted == Wanted::RefusedOrWarned && reply.is_refused() {
            return None;
        }
        if let Some(missing) = self.says.iter().find(|word| !contains(word)) {
            return Some(format!("the response does not contain {missing:?}: {reply}"));
        }
        let word = self.silent.iter().find(contains)?;
        Some(format!("the response contains {word:?}, which belongs to a rule that does not apply: {reply}"))
    }
}

impl Wanted {
    fn in_words(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::Refused => "refused",
            Self::RefusedOrWarned => "refused, or admitted with a warning",
            Self::Unanswered => "refused because a webhook does not respond",
            Self::Judged => "admitted or refused",
        }
    }
}

/// The API server's answer to an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    pub name: String,
    /// `create`, `update` or `delete`.
    pub verb: String,
    pub code: u16,
    pub message: String,
    /// The `Warning` headers.
    pub warnings: Vec<String>,
}

impl Reply {
    pub fn is_admitted(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// Whether the request was refused because of its content. A 5xx is a failed webhook.
    pub fn is_refused(&self) -> bool {
        (400..500).contains(&self.code)
    }

    fn said(&self) -> String {
        if self.is_admitted() { self.warnings.join("\n") } else { self.message.clone() }
    }

    fn of(mark: &Mark) -> Result<Self, Broken> {
        serde_json::from_value(mark.detail["reply"].clone()).map_err(|error| {
            Broken::NotReached(format!(
                "the recorded response to {} cannot be read: {error}",
                mark.detail["title"]
            ))
        })
    }
}

impl std::fmt::Display for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.said().as_str() {
            "" => write!(f, "{} {} returned {}", self.verb, self.name, self.code),
            said => write!(f, "{} {} returned {}: {said}", self.verb, self.name, self.code),
        }
    }
}

/// Every attempt got the answer that the contract requires. Violations are reported before attempts that were
/// not sent.
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

/// Every refusal contains the required words. Another clause covers whether an attempt is refused.
pub fn refusals_say(history: &History, attempts: &[Attempt]) -> Ruling {
    let is_refused = |attempt: &&Attempt| reply_to(history, attempt).map_or(true, |reply| reply.is_refused());
    let refused: Vec<_> = attempts.iter().filter(is_refused).copied().collect();
    answers(history, &refused.iter().map(|attempt| attempt.whatever_the_answer()).collect::<Vec<_>>())
}

pub fn was_refused(history: &History, attempt: &Attempt) -> bool {
    reply_to(history, attempt).is_ok_and(|reply| reply.is_refused())
}

/// The last answer to an attempt.
fn reply_to(history: &History, attempt: &Attempt) -> Result<Reply, Broken> {
    let made =
        history.marks(SharedMark::Attempt).filter(|(_, mark)| mark.detail["title"] == attempt.title).last();
    let (_, mark) =
        made.ok_or_else(|| Broken::NotReached(format!("the case did not send {:?}", attempt.title)))?;
    Reply::of(mark)
}

/// No object that was created for the PodCliqueSet before `since` was deleted or created again (ADM-03):
/// Grove's objects, pods and gang resources.
pub fn nothing_recreated(history: &History, pcs: &str, since: usize) -> Ruling {
    let before = history.before(since);
    let was = objects(&before, pcs);
    let end = history.end();
    let is = objects(&end, pcs);
    let kind = |object: &Value| object["kind"].as_str().unwrap_or_default().to_owned();
    if !was.values().any(|object| kind(object) == "Pod") {
        return Err(Broken::NotReached(format!("PodCliqueSet {pcs} had no pods yet")));
    }
    let counts = |object: &Value| {
        matches!(kind(object).as_str(), "Pod" | "PodClique" | "PodCliqueScalingGroup" | "PodGang")
            || is_gang_resource(object)
    };
    let gone = was.iter().filter(|(uid, object)| counts(object) && !is.contains_key(*uid));
    none(gone.map(|(_, object)| {
        let message = format!("{} {} was deleted, want it kept", kind(object), object["metadata"]["name"]);
        violation(RECREATED, message).shown_by_object("before", object)
    }))
}

/// Whether an object is the PodCliqueSet or was created for it. Objects of the backend have no label of
/// Grove's, but every name starts with that of the PodCliqueSet.
fn belongs(object: &Value, pcs: &str) -> bool {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let kind = object["kind"].as_str().unwrap_or_default();
    !matches!(kind, "Event" | "Node" | "Namespace" | "ClusterTopologyBinding")
        && (name == pcs
            || name.strip_prefix(pcs).is_some_and(|rest| rest.starts_with('-'))
            || object["metadata"]["labels"][names::PART_OF] == pcs)
}

/// A refused create left no object of any kind (ADM-05).
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
                format!("{}: refused, but {} {} was created", attempt.title, version.kind(), version.name()),
            )
            .shown_by("created", version)
        }));
    }
    none(violations)
}

/// From `since` to the end, the PodCliqueSet and its objects stayed the same objects with the same spec
/// (ADM-05). The PodCliqueSet kept its labels and annotations. Controllers may change the status.
pub fn unchanged(history: &History, pcs: &str, since: usize) -> Ruling {
    let before = history.before(since);
    let Some(stored) = before.get("PodCliqueSet", pcs) else {
        return Err(Broken::NotReached(format!("PodCliqueSet {pcs} did not exist before the update")));
    };
    let later = history.named("PodCliqueSet", pcs).filter(|version| version.index >= since);
    none(later.filter(|version| asked(version.object) != asked(stored)).map(|version| {
        violation(CHANGED_THOUGH_REFUSED, format!("PodCliqueSet {pcs} was changed by a refused update"))
            .shown_by_object("before", stored)
            .shown_by("after", version)
    }))?;
    let end = history.end();
    let (was, is) = (objects(&before, pcs), objects(&end, pcs));
    let gone_or_changed = was.iter().filter_map(|(uid, object)| match is.get(uid) {
        None => Some(
            violation(REMOVED_THOUGH_REFUSED, "an object was deleted after a refused update")
                .shown_by_object("before", object),
        ),
        Some(now) if now["spec"] != object["spec"] => Some(
            violation(CHANGED_THOUGH_REFUSED, "the spec of an object was changed after a refused update")
                .shown_by_object("before", object)
                .shown_by_object("after", now),
        ),
        Some(_) => None,
    });
    let new = is.iter().filter(|(uid, _)| !was.contains_key(*uid));
    let new = new.map(|(_, object)| {
        violation(MADE_THOUGH_REFUSED, "an object was created after a refused update")
            .shown_by_object("new", object)
    });
    none(gone_or_changed.chain(new))
}

/// The fields of an object that its user determines.
fn asked(object: &Value) -> [&Value; 4] {
    let metadata = &object["metadata"];
    [&object["spec"], &metadata["generation"], &metadata["labels"], &metadata["annotations"]]
}

/// The PodCliqueSet and the objects created for it, by uid.
fn objects<'a>(live: &'a Live, pcs: &str) -> BTreeMap<&'a str, &'a Value> {
    live.all()
        .filter(|object| belongs(object, pcs))
        .map(|object| (Version::of(object).uid(), object))
        .collect()
}

/// The object was deleted, not only marked for deletion. Returns `NotReached` if it never existed.
pub fn deleted(history: &History, kind: &str, name: &str) -> Ruling {
    if history.named(kind, name).next().is_none() {
        return Err(Broken::NotReached(format!("{kind} {name} never existed")));
    }
    let end = history.end();
    none(end.get(kind, name).map(|object| {
        violation(STILL_THERE, format!("{kind} {name} still exists, want it deleted"))
            .shown_by_object("at the end", object)
    }))
}

/// No pod of the target's scheduler was ever without both a scheduling gate and a scheduling group, or bound
/// without a group (KUBE-16). This applies to workloads whose pods all belong to the hard gang.
///
/// The scheduling group of a pod never changes. Therefore a relist shows a loose pod even if it was created
/// while a watch was interrupted.
pub fn no_loose_pods(history: &History) -> Ruling {
    let scheduler = history.header.target.backend();
    let of_target = |version: &Version<'_>| version.object["spec"]["schedulerName"] == scheduler;
    if !history.pods().any(|version| of_target(&version)) {
        return Err(Broken::NotReached("no pod ever existed".into()));
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
            format!("Pod {} had neither a scheduling gate nor a scheduling group", version.name()),
        )
        .shown_by("without scheduling group", version)
    }))
}

/// All marks of the controller are from one process, and there are at least two. The controller found all
/// changes between them without a restart.
pub fn one_process(history: &History) -> Ruling {
    let pids: Vec<&Value> =
        history.marks(SharedMark::Controller).map(|(_, mark)| &mark.detail["pid"]).collect();
    let [first, rest @ .., last] = pids.as_slice() else {
        return Err(Broken::NotReached("the controller process was recorded fewer than two times".into()));
    };
    ensure(rest.iter().chain([last]).all(|pid| pid == first), || {
        violation(CONTROLLER_RESTARTED, "the controller was restarted")
    })
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
