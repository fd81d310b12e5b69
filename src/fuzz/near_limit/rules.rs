//! Rules of pods about nodes: nodeSelector, required node affinity and tolerations.

use fastrand::Rng;
use serde_json::{Value, json};

use super::nodes::Node;

/// Adds a rule to a pod. Changes the first nodes so that they satisfy it, and the others so that they do not.
pub(super) type Rule = fn(&mut Rng, &mut Value, &mut [Node], &mut [Node]);

const POOL: &str = "example.com/pool";
const ZONE: &str = "example.com/zone";
const TEAM: &str = "example.com/team";
const OTHER: &str = "example.com/other";

fn one_of<'a, T>(rng: &mut Rng, all: &'a [T]) -> &'a T {
    &all[rng.usize(0..all.len())]
}

pub(super) fn select(rng: &mut Rng, pod: &mut Value, allowed: &mut [Node], excluded: &mut [Node]) {
    pod["nodeSelector"] = json!({(POOL): "gold", (ZONE): "a"});
    for node in allowed {
        node.label(POOL, "gold");
        node.label(ZONE, "a");
    }
    for node in excluded {
        let (pool, zone) = *one_of(rng, &[("gold", "b"), ("silver", "a"), ("", "a"), ("gold", ""), ("", "")]);
        node.label(POOL, pool);
        node.label(ZONE, zone);
    }
}

/// A requirement about one label: its operator and values, and label values that match and do not match. An
/// empty value means that the node lacks the label.
struct Requirement {
    operator: &'static str,
    values: &'static [&'static str],
    matching: &'static [&'static str],
    others: &'static [&'static str],
}

static REQUIREMENTS: [Requirement; 6] = [
    Requirement {
        operator: "In",
        values: &["gold", "silver"],
        matching: &["gold", "silver"],
        others: &["bronze", ""],
    },
    Requirement { operator: "NotIn", values: &["bronze"], matching: &["gold", ""], others: &["bronze"] },
    Requirement { operator: "Exists", values: &[], matching: &["gold", "bronze"], others: &[""] },
    Requirement { operator: "DoesNotExist", values: &[], matching: &[""], others: &["gold", "bronze"] },
    Requirement { operator: "Gt", values: &["3"], matching: &["4", "10"], others: &["3", "2", ""] },
    Requirement { operator: "Lt", values: &["3"], matching: &["2", "0"], others: &["3", "10", ""] },
];

pub(super) fn require(rng: &mut Rng, pod: &mut Value, allowed: &mut [Node], excluded: &mut [Node]) {
    let requirement = one_of(rng, &REQUIREMENTS);
    let mut expression = json!({"key": POOL, "operator": requirement.operator});
    if !requirement.values.is_empty() {
        expression["values"] = requirement.values.into();
    }
    let mut terms = vec![json!({"matchExpressions": [expression]})];
    // A node needs to match only one of several terms.
    if rng.bool() {
        let zone = json!({"key": ZONE, "operator": "In", "values": ["nowhere"]});
        terms.insert(rng.usize(0..=1), json!({"matchExpressions": [zone]}));
    }
    pod["affinity"] = json!({"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
    }});
    for node in allowed {
        node.label(POOL, one_of::<&str>(rng, requirement.matching));
    }
    for node in excluded {
        node.label(POOL, one_of::<&str>(rng, requirement.others));
    }
}

type Taint = (&'static str, &'static str, &'static str);

static BLUE: [Taint; 1] = [(TEAM, "blue", "NoSchedule")];
static BLUE_OF_ANY_EFFECT: [Taint; 2] = [(TEAM, "blue", "NoSchedule"), (TEAM, "blue", "NoExecute")];
static ANY_TEAM: [Taint; 2] = [(TEAM, "red", "NoSchedule"), (TEAM, "blue", "NoExecute")];
static NOT_BLUE: [Taint; 2] = [(TEAM, "red", "NoSchedule"), (OTHER, "blue", "NoSchedule")];
static NOT_BLUE_OR_ANOTHER_EFFECT: [Taint; 3] =
    [(TEAM, "red", "NoSchedule"), (OTHER, "blue", "NoSchedule"), (TEAM, "blue", "NoExecute")];
static NO_TEAM: [Taint; 1] = [(OTHER, "blue", "NoSchedule")];

pub(super) fn tolerate(rng: &mut Rng, pod: &mut Value, allowed: &mut [Node], excluded: &mut [Node]) {
    let (toleration, tolerated, others): (Value, &[Taint], &[Taint]) = match rng.u32(0..3) {
        0 => (
            json!({"key": TEAM, "operator": "Equal", "value": "blue", "effect": "NoSchedule"}),
            &BLUE[..],
            &NOT_BLUE_OR_ANOTHER_EFFECT[..],
        ),
        1 => (json!({"key": TEAM, "value": "blue"}), &BLUE_OF_ANY_EFFECT[..], &NOT_BLUE[..]),
        _ => (json!({"key": TEAM, "operator": "Exists"}), &ANY_TEAM[..], &NO_TEAM[..]),
    };
    pod["tolerations"] = json!([toleration]);
    for node in allowed {
        if rng.bool() {
            let (key, value, effect) = *one_of(rng, tolerated);
            node.taint(key, value, effect);
        }
        if rng.bool() {
            node.taint(OTHER, "slow", "PreferNoSchedule");
        }
    }
    for node in excluded {
        let (key, value, effect) = *one_of(rng, others);
        node.taint(key, value, effect);
    }
}
