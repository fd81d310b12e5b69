use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::names;
use conformance_contract::ruling::Ruling;
use conformance_contract::target::{TARGETS, Target};
use conformance_contract::violation::Code;
use conformance_expect::schedulers;
use conformance_history::{Change, Pod, list, text};
use serde_json::{Value, json};

use super::course::Course;
use crate::coexistence::OWNED_BY_ANOTHER_BACKEND;
use crate::{Shown, none, violation};

const MEMBER_OF_ANOTHER_BACKEND: Code = Code::new("member-of-another-backend");

pub(super) fn of_pods(course: &Course<'_>) -> Ruling {
    let known: Vec<_> = TARGETS.into_iter().filter(|target| target.external().is_none()).collect();
    let templates = templates(course);
    let mut seen = BTreeSet::new();
    let mut violations = Vec::new();
    for version in course.pods().filter(|version| version.change != Change::Deleted) {
        let pod = version.pod();
        let own = text(&pod.0["spec"]["schedulerName"]);
        let others = known.iter().filter(|target| !schedulers::share_a_kind(**target, own));
        let named = |target: &Target, pod: Pod<'_>| schedulers::of(*target).named_by(pod).map(str::to_owned);
        let is_of_template = |target: &Target, group: &String| {
            templates.iter().any(|template| named(target, Pod(template)).as_ref() == Some(group))
        };
        let member = others
            .filter_map(|target| Some((target, named(target, pod)?)))
            .find(|(target, group)| !is_of_template(target, group))
            .map(|(target, group)| (target.backend(), group));
        if let Some((backend, group)) = member
            && seen.insert(version.uid())
        {
            let message =
                format!("Pod {} of scheduler {own} names {group}, a gang resource of {backend}", pod.name());
            violations.push(violation(MEMBER_OF_ANOTHER_BACKEND, message).shown_by("observed", version));
        }
    }
    none(violations)
}

/// Clique templates in the form of pods, because the operator copies their labels and annotations.
fn templates(course: &Course<'_>) -> Vec<Value> {
    let sets = course.history.header.submitted.values();
    let cliques = sets.flat_map(|set| list(&set["spec"]["template"]["cliques"]));
    let pod = |clique: &Value| json!({"metadata": {"labels": clique["labels"], "annotations": clique["annotations"]}});
    cliques.map(pod).collect()
}

/// Requires that gang resources belong to the backend of their PodGang (GANG-04). A PodGang without a known
/// backend's label belongs to the default backend, which the history does not show.
pub(super) fn of_resources(course: &Course<'_>) -> Ruling {
    let backends: BTreeMap<&str, &str> = schedulers::kinds().into_iter().collect();
    let mut labels: BTreeMap<&str, &str> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut violations = Vec::new();
    for version in &course.versions {
        if version.kind() == "PodGang"
            && let Some(label) = version.label(names::SCHEDULER_NAME)
            && backends.values().any(|backend| *backend == label)
        {
            labels.insert(version.uid(), label);
        }
        let Some(backend) = backends.get(version.kind()) else { continue };
        let owners = list(&version.object["metadata"]["ownerReferences"]).iter();
        let mut own = owners.filter_map(|owner| labels.get(text(&owner["uid"])));
        if let Some(other) = own.find(|label| !schedulers::may_have(label, version.kind()))
            && seen.insert(version.uid())
        {
            let (kind, name) = (version.kind(), version.name());
            let message =
                format!("{kind} {name}, a gang resource of {backend}, is owned by a PodGang of {other}");
            violations.push(violation(OWNED_BY_ANOTHER_BACKEND, message).shown_by("observed", *version));
        }
    }
    none(violations)
}
