//! The rules of KAI's PodGroup CRD and admission webhook (KAI-11). The suite does not run the webhook, and
//! the installed CRD may be of another release. Source: KAI v0.17.0, `pkg/apis/scheduling/v2alpha2`. The CRD
//! has no CEL rules. Warnings of the webhook are not rules.

use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::ruling::Ruling;
use conformance_contract::violation::Code;
use conformance_expect::schedulers::kai::POD_GROUP;
use conformance_history::{Change, list, text};
use serde_json::Value;

use super::course::Course;
use crate::{Shown, none, violation};

const REFUSED: Code = Code::new("refused-by-kai-admission");

pub(super) fn admits(course: &Course<'_>) -> Ruling {
    let written = course.versions.iter().filter(|version| version.kind() == POD_GROUP);
    let mut seen = BTreeSet::new();
    none(written.filter(|version| version.change != Change::Deleted).filter_map(|version| {
        let is_new = seen.insert(version.uid());
        let rule = refusal(&version.object["spec"], is_new)?;
        let message = format!("KAI's admission would refuse PodGroup {}: {}", version.name(), rule);
        Some(violation(REFUSED, message).shown_by("observed", *version))
    }))
}

struct Tree<'a> {
    spec: &'a Value,
    groups: &'a [Value],
    children: BTreeMap<&'a str, usize>,
}

impl<'a> Tree<'a> {
    fn of(spec: &'a Value) -> Self {
        let groups = list(&spec["subGroups"]);
        let mut children = BTreeMap::new();
        for parent in groups.iter().filter_map(|group| group["parent"].as_str()) {
            *children.entry(parent).or_default() += 1;
        }
        Self { spec, groups, children }
    }

    fn any(&self, predicate: impl Fn(&Value) -> bool) -> bool {
        self.groups.iter().any(predicate)
    }

    fn is_leaf(&self, group: &Value) -> bool {
        !self.children.contains_key(text(&group["name"]))
    }

    fn has(&self, name: &str) -> bool {
        self.any(|group| group["name"] == name)
    }

    fn has_a_cycle(&self) -> bool {
        self.any(|start| {
            let parent = |of: &'a Value| {
                self.groups.iter().find(|group| !of["parent"].is_null() && group["name"] == of["parent"])
            };
            let mut at = self.groups.iter().find(|group| group["name"] == start["name"]);
            let mut steps = 0;
            while let Some(group) = at.filter(|_| steps <= self.groups.len()) {
                (at, steps) = (parent(group), steps + 1);
            }
            steps > self.groups.len()
        })
    }
}

/// Message, whether the rule applies only on creation, source in KAI, and a test for a violation.
type Rule = (&'static str, bool, &'static str, fn(&Tree<'_>) -> bool);

const RULES: [Rule; 14] = [
    ("a field has another type than in the CRD", false, "podgroup_types.go:34", |tree| {
        !has_types(&SPEC, tree.spec)
            || !has_types(&TOPOLOGY, &tree.spec["topologyConstraint"])
            || tree.any(|group| {
                !has_types(&SUBGROUP, group) || !has_types(&TOPOLOGY, &group["topologyConstraint"])
            })
    }),
    ("its minMember is below 1", false, "podgroup_types.go:40", |tree| is_below(1, &tree.spec["minMember"])),
    ("a minimum of a subgroup is negative", false, "podgroup_types.go:158", |tree| {
        tree.any(|group| is_below(0, &group["minMember"]) || is_below(0, &group["minSubGroup"]))
    }),
    ("its preemptibility is unknown", false, "podgroup_types.go:101", |tree| {
        let preemptibility = &tree.spec["preemptibility"];
        !preemptibility.is_null() && !["preemptible", "non-preemptible"].contains(&text(preemptibility))
    }),
    ("it has minMember and minSubGroup", false, "podgroup_webhook.go:103", |tree| {
        has_both_minimums(tree.spec)
    }),
    ("two subgroups have the same name", false, "podgroup_webhook.go:139", |tree| {
        let names: BTreeSet<_> = tree.groups.iter().map(|group| text(&group["name"])).collect();
        names.len() < tree.groups.len()
    }),
    ("a subgroup's name is not a DNS label", false, "podgroup_types.go:151", |tree| {
        tree.any(|group| !is_dns_label(text(&group["name"])))
    }),
    ("a subgroup's parent does not exist", false, "podgroup_webhook.go:241", |tree| {
        tree.any(|group| group["parent"].as_str().is_some_and(|parent| !tree.has(parent)))
    }),
    ("its subgroups form a cycle", false, "podgroup_webhook.go:151", |tree| tree.has_a_cycle()),
    ("a subgroup has minMember and minSubGroup", false, "podgroup_webhook.go:180", |tree| {
        tree.any(has_both_minimums)
    }),
    ("a leaf has minSubGroup", false, "podgroup_webhook.go:189", |tree| {
        tree.any(|group| tree.is_leaf(group) && !group["minSubGroup"].is_null())
    }),
    ("a leaf has no minMember", false, "podgroup_webhook.go:193", |tree| {
        tree.any(|group| tree.is_leaf(group) && group["minMember"].is_null())
    }),
    ("a parent has minMember", true, "podgroup_webhook.go:198", |tree| {
        tree.any(|group| !tree.is_leaf(group) && !group["minMember"].is_null())
    }),
    ("its minSubGroup is below 1", false, "podgroup_webhook.go:116", |tree| {
        is_below(1, &tree.spec["minSubGroup"])
    }),
];

type Is = fn(&Value) -> bool;

const SPEC: [(&str, Is); 11] = [
    ("markUnschedulable", Value::is_boolean),
    ("minMember", is_int32),
    ("minSubGroup", is_int32),
    ("preemptibility", Value::is_string),
    ("preemptionDelay", Value::is_string),
    ("priorityClassName", Value::is_string),
    ("queue", Value::is_string),
    ("schedulingBackoff", is_int32),
    ("stalenessGracePeriod", Value::is_string),
    ("subGroups", is_list_of_objects),
    ("topologyConstraint", Value::is_object),
];

const SUBGROUP: [(&str, Is); 5] = [
    ("minMember", is_int32),
    ("minSubGroup", is_int32),
    ("name", Value::is_string),
    ("parent", Value::is_string),
    ("topologyConstraint", Value::is_object),
];

const TOPOLOGY: [(&str, Is); 3] = [
    ("preferredTopologyLevel", Value::is_string),
    ("requiredTopologyLevel", Value::is_string),
    ("topology", Value::is_string),
];

/// Whether each existing field has its type. The CRD permits no null.
fn has_types(types: &[(&str, Is)], of: &Value) -> bool {
    types.iter().all(|(field, is)| of.get(field).is_none_or(is))
}

fn is_int32(value: &Value) -> bool {
    value.as_i64().is_some_and(|number| i32::try_from(number).is_ok())
}

fn is_list_of_objects(value: &Value) -> bool {
    value.as_array().is_some_and(|all| all.iter().all(Value::is_object))
}

fn is_below(least: i64, value: &Value) -> bool {
    value.as_i64().is_some_and(|value| value < least)
}

fn refusal(spec: &Value, is_new: bool) -> Option<String> {
    let tree = Tree::of(spec);
    let mut rules = RULES.iter().filter(|(_, at_creation, ..)| is_new || !at_creation);
    let (rule, _, source, _) = rules.find(|(.., refuses)| refuses(&tree))?;
    Some(format!("{rule} ({source})"))
}

fn has_both_minimums(of: &Value) -> bool {
    !of["minMember"].is_null() && !of["minSubGroup"].is_null()
}

fn is_dns_label(name: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty() && name.chars().all(is_inner) && !name.starts_with('-') && !name.ends_with('-')
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::{Command, Stdio};

    use serde_json::json;

    use super::*;

    const TYPE: &str = "a field has another type than in the CRD";

    fn leaf(name: &str, parent: Option<&str>) -> Value {
        let mut leaf = json!({"name": name, "minMember": 1});
        if let Some(parent) = parent {
            leaf["parent"] = parent.into();
        }
        leaf
    }

    fn spec(edit: impl Fn(&mut Value)) -> Value {
        let parent = json!({"name": "p", "minSubGroup": 2});
        let mut spec =
            json!({"subGroups": [parent, leaf("a", Some("p")), leaf("b", Some("p")), leaf("c", None)]});
        edit(&mut spec);
        spec
    }

    fn specs() -> Vec<(Value, Option<&'static str>)> {
        let group = |at: usize, group: Value| spec(|spec| spec["subGroups"][at] = group.clone());
        vec![
            (spec(|_| ()), None),
            (spec(|spec| spec["minMember"] = json!(3)), None),
            (spec(|spec| spec["minSubGroup"] = json!(2)), None),
            (spec(|spec| spec["minSubGroup"] = json!(3)), None),
            (group(0, json!({"name": "p"})), None),
            (group(0, json!({"name": "p", "minSubGroup": 0})), None),
            (group(0, json!({"name": "p", "minSubGroup": 3})), None),
            (group(3, json!({"name": "c", "minMember": 0})), None),
            (json!({"minMember": 2}), None),
            (json!({"minSubGroup": 1}), None),
            (json!({}), None),
            (
                spec(|spec| (spec["minMember"], spec["minSubGroup"]) = (json!(3), json!(2))),
                Some("it has minMember and minSubGroup"),
            ),
            (group(3, leaf("a", None)), Some("two subgroups have the same name")),
            (group(3, leaf("C", None)), Some("a subgroup's name is not a DNS label")),
            (group(3, leaf("c-", None)), Some("a subgroup's name is not a DNS label")),
            (group(3, leaf("", None)), Some("a subgroup's name is not a DNS label")),
            (group(3, leaf("c", Some("q"))), Some("a subgroup's parent does not exist")),
            (
                group(0, json!({"name": "p", "parent": "a", "minSubGroup": 2})),
                Some("its subgroups form a cycle"),
            ),
            (
                group(0, json!({"name": "p", "parent": "p", "minSubGroup": 2})),
                Some("its subgroups form a cycle"),
            ),
            (
                group(0, json!({"name": "p", "minMember": 2, "minSubGroup": 2})),
                Some("a subgroup has minMember and minSubGroup"),
            ),
            (group(3, json!({"name": "c", "minSubGroup": 1})), Some("a leaf has minSubGroup")),
            (group(3, json!({"name": "c"})), Some("a leaf has no minMember")),
            (group(0, json!({"name": "p", "minMember": 2})), Some("a parent has minMember")),
            (json!({"minSubGroup": 0, "subGroups": [leaf("a", None)]}), Some("its minSubGroup is below 1")),
            (json!({"minMember": 1, "preemptibility": "non-preemptible", "schedulingBackoff": -1}), None),
            (json!({"subGroups": [leaf("a", None)], "topologyConstraint": {"topology": "t"}}), None),
            (json!({"minMember": 0}), Some("its minMember is below 1")),
            (group(3, json!({"name": "c", "minMember": -1})), Some("a minimum of a subgroup is negative")),
            (group(0, json!({"name": "p", "minSubGroup": -1})), Some("a minimum of a subgroup is negative")),
            (json!({"minMember": 1, "preemptibility": "sometimes"}), Some("its preemptibility is unknown")),
            (json!({"minMember": 1, "preemptibility": ""}), Some("its preemptibility is unknown")),
            (json!({"minMember": "1"}), Some(TYPE)),
            (json!({"minMember": 2_147_483_648_i64}), Some(TYPE)),
            (json!({"minMember": 1, "queue": null}), Some(TYPE)),
            (json!({"minMember": 1, "stalenessGracePeriod": 60}), Some(TYPE)),
            (json!({"minMember": 1, "topologyConstraint": {"requiredTopologyLevel": null}}), Some(TYPE)),
            (group(3, json!({"name": "c", "minMember": 1, "parent": null})), Some(TYPE)),
            (
                group(3, json!({"name": "c", "minMember": 1, "topologyConstraint": {"topology": 1}})),
                Some(TYPE),
            ),
        ]
    }

    #[test]
    fn each_rule_refuses_its_specs() {
        for (spec, rule) in specs() {
            let found = refusal(&spec, true);
            let found = found.as_deref().and_then(|found| found.split_once(" (")).map(|(rule, _)| rule);
            assert_eq!(found, rule, "{spec}");
        }
    }

    #[test]
    fn a_minimum_on_a_parent_is_refused_only_at_creation() {
        let spec = spec(|spec| spec["subGroups"][0] = json!({"name": "p", "minMember": 2}));
        assert!(refusal(&spec, true).is_some());
        assert_eq!(refusal(&spec, false), None);
    }

    #[test]
    #[ignore = "set GROVE_CONFORMANCE_KAI_SOURCE to a checkout of KAI v0.17.0"]
    fn kais_own_admission_refuses_the_same_specs() {
        let checkout =
            PathBuf::from(std::env::var_os("GROVE_CONFORMANCE_KAI_SOURCE").expect("the variable is set"));
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/invariants/kai_admission.go");
        let folder = tempfile::tempdir().unwrap();
        let overlay = folder.path().join("overlay.json");
        let main = checkout.join("cmd/grove-conformance-admission/main.go");
        std::fs::write(&overlay, json!({"Replace": {main.to_str().unwrap(): program}}).to_string()).unwrap();
        let questions: Vec<_> = specs()
            .into_iter()
            .flat_map(|(spec, _)| [true, false].map(|is_new| (spec.clone(), is_new)))
            .collect();
        let requests: Vec<_> =
            questions.iter().map(|(spec, is_new)| json!({"spec": spec, "is_new": is_new})).collect();

        let mut go = Command::new("go");
        go.args(["run", "-overlay"])
            .arg(&overlay)
            .arg("./cmd/grove-conformance-admission")
            .current_dir(&checkout);
        let mut program_run = go.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        serde_json::to_writer(program_run.stdin.take().unwrap(), &requests).unwrap();
        let answer = program_run.wait_with_output().unwrap();
        assert!(answer.status.success());

        let refusals: Vec<String> = serde_json::from_slice(&answer.stdout).unwrap();
        assert_eq!(refusals.len(), questions.len());
        for ((spec, is_new), theirs) in questions.iter().zip(refusals) {
            let ours = refusal(spec, *is_new);
            assert_eq!(
                ours.is_some(),
                !theirs.is_empty(),
                "{spec}, new: {is_new}\nours {ours:?}\nKAI's {theirs}"
            );
        }
    }
}
