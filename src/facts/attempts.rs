//! Attempts to create or change a PodCliqueSet, as data of cases, and the API server's replies.

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    Admitted,
    /// Refused with a 4xx because of a rule. A refusal because of a failed webhook does not count.
    Refused,
    /// Refused by a rule with any message, or admitted with a warning that contains the attempt's words.
    RefusedOrWarned,
    /// Refused with a 5xx that names the webhook, because the webhook does not respond.
    Unanswered,
    /// Admitted or refused. Only the message is checked.
    Either,
}

#[derive(Debug, Clone, Copy)]
pub struct Attempt {
    pub title: &'static str,
    pub edit: Edit,
    pub wanted: Wanted,
    /// Words that the refusal or, without a refusal, the warnings must contain, regardless of case. The list
    /// has only what the clause demands, because the operator chooses the wording. `a|b` accepts either word.
    pub words: &'static [&'static str],
    pub forbidden: &'static [&'static str],
}

#[derive(Debug, Clone, Copy)]
pub enum Edit {
    By(fn(&mut Value)),
    /// Sets the values at these JSON pointers. `null` removes a field. A [`Row`] of a table is such an edit.
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

#[derive(Debug, Clone)]
pub struct Row {
    pub title: String,
    pub values: Vec<(String, Value)>,
    /// The required outcome. The message is not checked.
    pub wanted: Wanted,
}

impl Row {
    pub fn attempt(&'static self) -> Attempt {
        let Self { title, values, wanted } = self;
        Attempt { title, edit: Edit::Set(values), wanted: *wanted, words: &[], forbidden: &[] }
    }
}

pub const fn admitted(title: &'static str, edit: fn(&mut Value)) -> Attempt {
    Attempt { title, edit: Edit::By(edit), wanted: Wanted::Admitted, words: &[], forbidden: &[] }
}

pub const fn refused(title: &'static str, words: &'static [&'static str], edit: fn(&mut Value)) -> Attempt {
    Attempt { title, edit: Edit::By(edit), wanted: Wanted::Refused, words, forbidden: &[] }
}

pub const fn refused_or_warned(
    title: &'static str,
    words: &'static [&'static str],
    edit: fn(&mut Value),
) -> Attempt {
    Attempt { title, edit: Edit::By(edit), wanted: Wanted::RefusedOrWarned, words, forbidden: &[] }
}

pub const fn unanswered(
    title: &'static str,
    words: &'static [&'static str],
    edit: fn(&mut Value),
) -> Attempt {
    Attempt { title, edit: Edit::By(edit), wanted: Wanted::Unanswered, words, forbidden: &[] }
}

impl Attempt {
    #[must_use]
    pub const fn with_warning(self, words: &'static [&'static str]) -> Self {
        Self { words, ..self }
    }

    /// Forbids these words in the reply, because they belong to a rule that does not apply.
    #[must_use]
    pub const fn silent_about(self, forbidden: &'static [&'static str]) -> Self {
        Self { forbidden, ..self }
    }

    /// Removes the required words, because another clause covers them.
    #[must_use]
    pub const fn answer_only(self) -> Self {
        Self { words: &[], ..self }
    }

    #[must_use]
    pub const fn words_only(self) -> Self {
        Self { wanted: Wanted::Either, ..self }
    }

    pub fn wrong(&self, reply: &Reply) -> Option<String> {
        let answer = reply.words().to_lowercase();
        let contains = |word: &&&str| word.split('|').any(|either| answer.contains(&either.to_lowercase()));
        let is_wanted = match self.wanted {
            Wanted::Admitted => reply.is_admitted(),
            Wanted::Refused => reply.is_refused(),
            Wanted::RefusedOrWarned | Wanted::Either => reply.is_admitted() || reply.is_refused(),
            Wanted::Unanswered => reply.code >= 500,
        };
        if !is_wanted {
            return Some(format!("want it {}, but {reply}", self.wanted.in_words()));
        }
        if self.wanted == Wanted::RefusedOrWarned && reply.is_refused() {
            return None;
        }
        if let Some(missing) = self.words.iter().find(|word| !contains(word)) {
            return Some(format!("the response does not contain {missing:?}: {reply}"));
        }
        let word = self.forbidden.iter().find(contains)?;
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
            Self::Either => "admitted or refused",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    pub name: String,
    /// `create`, `update` or `delete`.
    pub verb: String,
    pub code: u16,
    pub message: String,
    pub warnings: Vec<String>,
}

impl Reply {
    pub fn is_admitted(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// Whether the request was refused because of its content. A 5xx means that the webhook failed.
    pub fn is_refused(&self) -> bool {
        (400..500).contains(&self.code)
    }

    /// Whether the message contains this name as a whole word.
    pub fn mentions(&self, name: &str) -> bool {
        let is_separator = |c: char| !c.is_ascii_alphanumeric() && c != '-';
        self.message.split(is_separator).any(|word| word == name)
    }

    fn words(&self) -> String {
        if self.is_admitted() { self.warnings.join("\n") } else { self.message.clone() }
    }
}

impl std::fmt::Display for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.words().as_str() {
            "" => write!(f, "{} {} returned {}", self.verb, self.name, self.code),
            words => write!(f, "{} {} returned {}: {words}", self.verb, self.name, self.code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(code: u16, message: &str, warnings: &[&str]) -> Reply {
        Reply {
            name: "pcs-x".into(),
            verb: "create".into(),
            code,
            message: message.into(),
            warnings: warnings.iter().map(|warning| (*warning).to_owned()).collect(),
        }
    }

    #[rstest::rstest]
    #[case::refused(reply(422, "topology is not for you", &[]), true)]
    #[case::warned(reply(201, "", &["299 - \"pack.preferred of rack is ignored\""]), true)]
    #[case::without_a_warning(reply(201, "", &[]), false)]
    #[case::with_another_warning(reply(201, "", &["299 - \"deprecated\""]), false)]
    #[case::by_a_failing_webhook(reply(500, "preferred", &[]), false)]
    fn a_field_without_effect_is_refused_or_warned_about(#[case] reply: Reply, #[case] is_right: bool) {
        let attempt = refused_or_warned("without effect", &["preferred|rack"], |_| {});
        let wrong = attempt.wrong(&reply);
        assert_eq!(wrong.is_none(), is_right, "{wrong:?}");
    }
}
