//! A rule states what it matches, when it fires, and what it does. Rules are data, in Rust, YAML or JSON:
//!
//! ```yaml
//! name: third binding refused
//! match: {verbs: [create], resources: [pods/binding], namespace: default}
//! when: {from: 3, count: 1}
//! action: {refuse: {code: 409}}
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ProxyError;
use crate::patch::Patch;
use crate::target::{Target, Verb};

/// What the proxy does to some requests, or to some objects in responses and watch events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// Name in logs.
    pub name: String,
    /// The requests or objects to which the rule applies.
    #[serde(default, rename = "match")]
    pub matches: Match,
    /// The matches at which the rule fires.
    #[serde(default)]
    pub when: When,
    /// What the rule does when it fires.
    pub action: Action,
    /// How often any proxy has applied the rule or one of its clones.
    #[serde(skip)]
    pub applied: Applied,
}

/// Counts how often a rule and its clones were applied. Comparisons of rules ignore this count.
#[derive(Debug, Clone, Default)]
pub struct Applied(Arc<AtomicU64>);

impl Applied {
    /// How often the rule was applied.
    pub fn times(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn increment(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl PartialEq for Applied {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// What a rule matches. An omitted field matches everything. Names and namespaces may contain `*`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Match {
    /// One of these verbs.
    pub verbs: Vec<Verb>,
    /// API group; `""` is the core group.
    pub group: Option<String>,
    /// One of these resources: `pods` alone, `pods/binding`, or `pods/*` for every subresource.
    pub resources: Vec<String>,
    /// Namespace of the request, or of the object if the action looks into objects.
    pub namespace: Option<String>,
    /// Name of the object. The pattern does not match a name that the API server generates.
    pub name: Option<String>,
    /// Only objects that are being deleted, for an action that looks into objects.
    pub terminating: bool,
}

/// The matches at which a rule fires, counted from 1. The default is all matches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct When {
    /// The first match at which the rule may fire.
    pub from: u64,
    /// After match `from`, the rule fires at every n-th match.
    pub every: u64,
    /// The maximum number of times that the rule fires.
    pub count: Option<u64>,
    /// The probability, from 0 to 1, that the rule fires at a match that `from` and `every` select.
    pub probability: f64,
    /// Seed for `probability`. The same seed selects the same matches.
    pub seed: u64,
    /// Fires at about half of the selected matches, and at no more than two attempts of the same write in a
    /// row. Two writes are the same if they have the same fields of the same object. With `every`, a program
    /// whose requests alternate might always fail at the same request; `irregular` prevents that.
    pub irregular: bool,
}

/// What a rule does.
///
/// A lost request, response or watch closes an HTTP/1.1 connection, or resets an HTTP/2 stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Action {
    /// Only counts the matches, so that a case can wait for them.
    Notify,
    /// Forwards the request after a delay.
    Delay {
        /// Length of the delay.
        milliseconds: u64,
    },
    /// Holds the request. It is forwarded when the rule is released, and lost when it is abandoned.
    Hold,
    /// Loses the request on its way to the server.
    Drop,
    /// Forwards the request and loses the response.
    LoseAnswer,
    /// Responds with a Status, without sending the request to the server.
    Refuse {
        /// HTTP status code, such as 409, 410, 429, 500 or 503.
        code: u16,
        /// Also sent as the header `Retry-After`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_seconds: Option<u32>,
    },
    /// Sends the request twice and returns the first response.
    Duplicate,
    /// Changes the body of the request. A body that is not JSON is skipped, which the log reports.
    RewriteRequest(Patch),
    /// Forwards this write, and holds its response and all later writes. Drops them when the rule ends.
    Halt,
    /// Changes objects in responses, lists and watch events.
    RewriteObject(Patch),
    /// Holds a watch before the event, until the rule is released or abandoned.
    HoldEvents {
        /// Passes events of other objects, as if the matching objects had a separate watch.
        #[serde(default)]
        others_pass: bool,
    },
    /// Delays a watch before the event.
    DelayEvents {
        /// Length of the delay per event.
        milliseconds: u64,
    },
    /// Replaces the event with an ERROR event, such as 410, and ends the watch.
    BreakWatch {
        /// Status code of the ERROR event.
        code: u16,
    },
    /// Delivers nothing on a watch, in any encoding, while the rule is active, for all names and namespaces.
    Freeze,
}

impl Default for When {
    fn default() -> Self {
        Self { from: 1, every: 1, count: None, probability: 1.0, seed: 0, irregular: false }
    }
}

impl When {
    /// Fires only at the n-th match, counted from 1.
    pub fn nth(n: u64) -> Self {
        Self { from: n, count: Some(1), ..Self::default() }
    }

    pub(crate) fn fires(&self, number: u64, fired: u64) -> bool {
        let is_due = number >= self.from && (number - self.from).is_multiple_of(self.every);
        let chance = || fastrand::Rng::with_seed(self.seed.wrapping_add(number)).f64() < self.probability;
        is_due && self.count.is_none_or(|count| fired < count) && (self.probability >= 1.0 || chance())
    }
}

impl Match {
    /// Matches these verbs on these resources.
    pub fn of(verbs: &[Verb], resources: &[&str]) -> Self {
        let resources = resources.iter().map(|one| (*one).to_owned()).collect();
        Self { verbs: verbs.to_vec(), resources, ..Self::default() }
    }

    /// Matches all write requests.
    pub fn writes() -> Self {
        Self::of(&Verb::WRITES, &[])
    }

    /// Restricts the match to a namespace.
    #[must_use]
    pub fn in_namespace(self, namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..self }
    }

    pub(crate) fn is_about(&self, target: &Target) -> bool {
        self.is_about_kind(target)
            && is_like(self.namespace.as_deref(), target.namespace.as_deref())
            && is_like(self.name.as_deref(), target.name.as_deref())
    }

    /// Like [`Match::is_about`], but ignores namespace and name, which are compared with the objects'.
    pub(crate) fn is_about_kind(&self, target: &Target) -> bool {
        let is_resource = |pattern: &String| match pattern.strip_suffix("/*") {
            Some(resource) => {
                target.resource.strip_prefix(resource).is_some_and(|rest| rest.starts_with('/'))
            }
            None => *pattern == target.resource,
        };
        (self.verbs.is_empty() || self.verbs.contains(&target.verb))
            && self.group.as_ref().is_none_or(|group| *group == target.group)
            && (self.resources.is_empty() || self.resources.iter().any(is_resource))
    }

    pub(crate) fn is_about_object(&self, object: &Value) -> bool {
        let field = |name: &str| object["metadata"][name].as_str();
        is_like(self.namespace.as_deref(), field("namespace"))
            && is_like(self.name.as_deref(), field("name"))
            && (!self.terminating || field("deletionTimestamp").is_some())
    }
}

fn is_like(pattern: Option<&str>, word: Option<&str>) -> bool {
    fn like(pattern: &[u8], word: &[u8]) -> bool {
        match (pattern, word) {
            ([], []) => true,
            ([b'*', rest @ ..], _) => (0..=word.len()).any(|skipped| like(rest, &word[skipped..])),
            ([a, pattern @ ..], [b, word @ ..]) => a == b && like(pattern, word),
            _ => false,
        }
    }
    pattern.is_none_or(|pattern| word.is_some_and(|word| like(pattern.as_bytes(), word.as_bytes())))
}

impl Action {
    /// Whether the action applies to objects in responses and watch events. The proxy then requests JSON.
    pub fn looks_into_objects(&self) -> bool {
        matches!(
            self,
            Self::RewriteObject(_)
                | Self::HoldEvents { .. }
                | Self::DelayEvents { .. }
                | Self::BreakWatch { .. }
        )
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Notify => "notify",
            Self::Delay { .. } => "delay",
            Self::Hold => "hold",
            Self::Drop => "drop",
            Self::LoseAnswer => "loseAnswer",
            Self::Refuse { .. } => "refuse",
            Self::Duplicate => "duplicate",
            Self::RewriteRequest(_) => "rewriteRequest",
            Self::Halt => "halt",
            Self::RewriteObject(_) => "rewriteObject",
            Self::HoldEvents { .. } => "holdEvents",
            Self::DelayEvents { .. } => "delayEvents",
            Self::BreakWatch { .. } => "breakWatch",
            Self::Freeze => "freeze",
        }
    }
}

impl Rule {
    /// Creates a rule that fires at every match.
    pub fn new(name: impl Into<String>, matches: Match, action: Action) -> Self {
        Self { name: name.into(), matches, when: When::default(), action, applied: Applied::default() }
    }

    /// Restricts the rule to the n-th match, counted from 1.
    #[must_use]
    pub fn nth(self, n: u64) -> Self {
        Self { when: When::nth(n), ..self }
    }

    pub(crate) fn check(&self) -> Result<(), ProxyError> {
        let wrong = |reason| Err(ProxyError::Rule { rule: self.name.clone(), reason });
        if self.when.from == 0 || self.when.every == 0 {
            return wrong("matches are counted from 1: `from` and `every` are at least 1");
        }
        if !(0.0..=1.0).contains(&self.when.probability) {
            return wrong("`probability` is from 0 to 1");
        }
        if self.when.irregular && self.action.looks_into_objects() {
            return wrong(
                "`irregular` selects requests: it does not apply to objects in responses and watch events",
            );
        }
        if self.matches.terminating && !self.action.looks_into_objects() {
            return wrong("`terminating` selects objects in responses and watch events, not requests");
        }
        match self.action {
            Action::Refuse { code, .. } | Action::BreakWatch { code } if !(400..600).contains(&code) => {
                wrong("`code` is an HTTP status from 400 to 599")
            }
            Action::Freeze if self.when != When::default() => {
                wrong("`freeze` is on as long as the rule is: it takes no `when`")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[rstest::rstest]
    #[case(json!({}), &[1, 2, 3, 4, 5, 6])]
    #[case(json!({"from": 3, "count": 1}), &[3])]
    #[case(json!({"from": 2, "every": 2}), &[2, 4, 6])]
    #[case(json!({"every": 3, "count": 1}), &[1])]
    #[case(json!({"probability": 0.0}), &[])]
    fn a_rule_fires_at_the_matches_of_when(#[case] when: Value, #[case] wanted: &[u64]) {
        assert_eq!(fired(&serde_json::from_value(when).unwrap(), 6), wanted);
    }

    fn fired(when: &When, matches: u64) -> Vec<u64> {
        let mut fired = Vec::new();
        for number in 1..=matches {
            if when.fires(number, fired.len() as u64) {
                fired.push(number);
            }
        }
        fired
    }

    #[test]
    fn the_seed_determines_the_matches() {
        let with_seed = |seed| When { probability: 0.5, seed, ..When::default() };
        assert_eq!(fired(&with_seed(7), 100), fired(&with_seed(7), 100));
        assert_ne!(fired(&with_seed(7), 100), fired(&with_seed(8_000), 100));
        assert!((30..70).contains(&fired(&with_seed(7), 100).len()));
    }

    #[rstest::rstest]
    #[case("half-0-*", "half-0-worker-x", true)]
    #[case("half-0-*", "half-1-worker", false)]
    #[case("*", "", true)]
    #[case("a*c", "abbc", true)]
    #[case("a", "ab", false)]
    fn a_star_matches_any_part_of_a_word(#[case] pattern: &str, #[case] word: &str, #[case] wanted: bool) {
        assert_eq!(is_like(Some(pattern), Some(word)), wanted);
    }

    #[test]
    fn a_resource_does_not_match_its_subresources() {
        let target = |path: &str| Target::of(&http::Method::POST, &path.parse().unwrap());
        let (pod, binding) = ("/api/v1/namespaces/ns/pods", "/api/v1/namespaces/ns/pods/p/binding");
        let about =
            |resource: &str, path: &str| Match::of(&[Verb::Create], &[resource]).is_about(&target(path));
        assert!(about("pods", pod) && !about("pods", binding));
        assert!(about("pods/binding", binding) && !about("pods/binding", pod));
        assert!(about("pods/*", binding) && !about("pods/*", pod));
        let is_in_group =
            |group: &str| Match { group: Some(group.into()), ..Match::default() }.is_about(&target(pod));
        assert!(is_in_group("") && !is_in_group("apps"));
    }

    #[test]
    fn a_rule_can_match_only_objects_that_are_being_deleted() {
        let ending = Match { name: Some("a-*".into()), terminating: true, ..Match::default() };
        let object =
            |name: &str, deleted: Value| json!({"metadata": {"name": name, "deletionTimestamp": deleted}});
        assert!(ending.is_about_object(&object("a-0", json!("2026-01-01T00:00:00Z"))));
        assert!(!ending.is_about_object(&object("a-0", Value::Null)));
        assert!(!ending.is_about_object(&object("b-0", json!("2026-01-01T00:00:00Z"))));
    }

    #[rstest::rstest]
    #[case(json!({"when": {"from": 0}, "action": "drop"}), "counted from 1")]
    #[case(json!({"when": {"probability": 2.0}, "action": "drop"}), "from 0 to 1")]
    #[case(json!({"action": {"refuse": {"code": 200}}}), "from 400 to 599")]
    #[case(json!({"when": {"from": 2}, "action": "freeze"}), "takes no `when`")]
    #[case(json!({"when": {"irregular": true}, "action": {"breakWatch": {"code": 410}}}), "selects requests")]
    #[case(json!({"match": {"terminating": true}, "action": "drop"}), "selects objects")]
    fn invalid_rules_are_rejected(#[case] mut rule: Value, #[case] wanted: &str) {
        rule["name"] = "r".into();
        let rule: Rule = serde_json::from_value(rule).unwrap();
        let error = rule.check().unwrap_err().to_string();
        assert!(error.contains("\"r\"") && error.contains(wanted), "{error}");
    }

    #[test]
    fn a_rule_is_read_from_json_without_unknown_fields() {
        let rule = json!({
            "name": "third binding refused",
            "match": {"verbs": ["create"], "resources": ["pods/binding"], "namespace": "ns"},
            "when": {"from": 3, "count": 1},
            "action": {"refuse": {"code": 429, "retryAfterSeconds": 1}},
        });
        let read: Rule = serde_json::from_value(rule).unwrap();
        let action = Action::Refuse { code: 429, retry_after_seconds: Some(1) };
        let matches = Match::of(&[Verb::Create], &["pods/binding"]).in_namespace("ns");
        assert_eq!(read, Rule::new("third binding refused", matches, action).nth(3));
        assert!(serde_json::from_value::<Rule>(json!({"name": "r", "action": "explode"})).is_err());
        assert!(serde_json::from_value::<Rule>(json!({"name": "r", "action": "drop", "wen": {}})).is_err());
    }
}
