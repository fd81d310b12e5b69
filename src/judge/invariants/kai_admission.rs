//! KAI's admission webhook takes every PodGroup that a backend writes (KAI-01). The suite runs KAI without it, so nothing else would
//! notice one that it refuses.
//!
//! The rules are those of KAI v0.17.0, `pkg/apis/scheduling/v2alpha2`, in other words. What its webhook only warns of is none: a
//! `minSubGroup` that is more than there are children, and on an update a `minMember` on a parent.

use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::ruling::Ruling;
use conformance_contract::violation::Code;
use conformance_expect::schedulers::kai::POD_GROUP;
use conformance_history::{Change, list, text};
use serde_json::Value;

use super::course::Course;
use crate::{Shown, none, violation};

const REFUSED: Code = Code::new("refused-by-kai-admission");

/// Every PodGroup of KAI's would be admitted.
pub(super) fn admits(course: &Course<'_>) -> Ruling {
    let written = course.versions.iter().filter(|version| version.kind() == POD_GROUP);
    let mut seen = BTreeSet::new();
    none(written.filter(|version| version.change != Change::Deleted).filter_map(|version| {
        let is_new = seen.insert(version.uid());
        let rule = refusal(&version.object["spec"], is_new)?;
        let message = format!("KAI's webhook refuses PodGroup {}: {}", version.name(), rule);
        Some(violation(REFUSED, message).shown_by("it", *version))
    }))
}

/// The subgroups of a PodGroup.
struct Tree<'a> {
    spec: &'a Value,
    groups: &'a [Value],
    /// How many children each has, by name.
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

    fn any(&self, holds: impl Fn(&Value) -> bool) -> bool {
        self.groups.iter().any(holds)
    }

    fn is_leaf(&self, group: &Value) -> bool {
        !self.children.contains_key(text(&group["name"]))
    }

    fn has(&self, name: &str) -> bool {
        self.any(|group| group["name"] == name)
    }

    /// Whether the way up from some subgroup never ends.
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

/// A rule: when it refuses, whether at creation only, and where KAI has it.
type Rule = (&'static str, bool, &'static str, fn(&Tree<'_>) -> bool);

const RULES: [Rule; 10] = [
    ("it has minMember and minSubGroup", false, "podgroup_webhook.go:103", |tree| both(tree.spec)),
    ("two subgroups have the same name", false, "podgroup_webhook.go:139", |tree| {
        let names: BTreeSet<_> = tree.groups.iter().map(|group| text(&group["name"])).collect();
        names.len() < tree.groups.len()
    }),
    ("a subgroup's name is no DNS label", false, "podgroup_types.go:151", |tree| {
        tree.any(|group| !is_dns_label(text(&group["name"])))
    }),
    ("a subgroup's parent does not exist", false, "podgroup_webhook.go:241", |tree| {
        tree.any(|group| group["parent"].as_str().is_some_and(|parent| !tree.has(parent)))
    }),
    ("its subgroups form a cycle", false, "podgroup_webhook.go:151", |tree| tree.has_a_cycle()),
    ("a subgroup has minMember and minSubGroup", false, "podgroup_webhook.go:180", |tree| tree.any(both)),
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
        tree.spec["minSubGroup"].as_i64().is_some_and(|least| least < 1)
    }),
];

/// The first rule that refuses a spec, and where it is.
fn refusal(spec: &Value, is_new: bool) -> Option<String> {
    let tree = Tree::of(spec);
    let mut rules = RULES.iter().filter(|(_, at_creation, ..)| is_new || !at_creation);
    let (rule, _, place, _) = rules.find(|(.., refuses)| refuses(&tree))?;
    Some(format!("{rule} ({place})"))
}

fn both(of: &Value) -> bool {
    !of["minMember"].is_null() && !of["minSubGroup"].is_null()
}

fn is_dns_label(name: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty() && name.chars().all(is_inner) && !name.starts_with('-') && !name.ends_with('-')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn leaf(name: &str, parent: Option<&str>) -> Value {
        json!({"name": name, "parent": parent, "minMember": 1})
    }

    /// A parent of two leaves, and a leaf beside it.
    fn spec(edit: impl Fn(&mut Value)) -> Value {
        let parent = json!({"name": "p", "minSubGroup": 2});
        let mut spec = json!({"minMember": 3, "subGroups": [parent, leaf("a", Some("p")), leaf("b", Some("p")), leaf("c", None)]});
        edit(&mut spec);
        spec
    }

    #[rstest::rstest]
    #[case::right(spec(|_| ()), None)]
    #[case::more_than_there_are(spec(|s| s["subGroups"][0]["minSubGroup"] = json!(3)), None)]
    #[case::without_subgroups(json!({"minMember": 2}), None)]
    #[case::root(spec(|s| s["minSubGroup"] = json!(2)), Some("it has minMember and minSubGroup"))]
    #[case::names(spec(|s| s["subGroups"][3]["name"] = json!("a")), Some("two subgroups have the same name"))]
    #[case::name(spec(|s| s["subGroups"][3]["name"] = json!("C")), Some("a subgroup's name is no DNS label"))]
    #[case::orphan(spec(|s| s["subGroups"][3]["parent"] = json!("q")), Some("a subgroup's parent does not exist"))]
    #[case::cycle(spec(|s| s["subGroups"][0]["parent"] = json!("a")), Some("its subgroups form a cycle"))]
    #[case::subgroup(spec(|s| s["subGroups"][0]["minMember"] = json!(2)), Some("a subgroup has minMember and minSubGroup"))]
    #[case::leaf(spec(|s| s["subGroups"][3] = json!({"name": "c", "minSubGroup": 1})), Some("a leaf has minSubGroup"))]
    #[case::no_minimum(spec(|s| s["subGroups"][3] = json!({"name": "c"})), Some("a leaf has no minMember"))]
    #[case::parent(spec(|s| s["subGroups"][0] = json!({"name": "p", "minMember": 2})), Some("a parent has minMember"))]
    #[case::none(json!({"minSubGroup": 0, "subGroups": [leaf("a", None)]}), Some("its minSubGroup is below 1"))]
    fn rules(#[case] spec: Value, #[case] wanted: Option<&str>) {
        let found = refusal(&spec, true);
        assert_eq!(found.is_some(), wanted.is_some(), "{found:?}");
        assert!(found.is_none_or(|found| found.starts_with(wanted.unwrap())));
    }

    #[test]
    fn a_minimum_on_a_parent_is_refused_at_creation_alone() {
        let spec = spec(|spec| spec["subGroups"][0] = json!({"name": "p", "minMember": 2}));
        assert!(refusal(&spec, true).is_some());
        assert_eq!(refusal(&spec, false), None);
    }
}
