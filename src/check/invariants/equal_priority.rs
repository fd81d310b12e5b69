//! Requires that no pod of a gang is evicted for gangs of equal or lower priority (PRE-06).

use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::ruling::Ruling;
use conformance_contract::violation::Violation;
use conformance_history::{Change, Version};

use super::course::{Course, is_groves_pod};
use crate::preemption::{EVICTED_FOR_EQUAL, is_preempted};
use crate::{Shown, none, violation};

/// A history has no PriorityClasses, so classes are compared by the priorities of pods or by name.
#[derive(Default)]
struct Classes<'a> {
    /// Keyed by the name of the PodGang.
    of_gangs: BTreeMap<&'a str, &'a str>,
    /// Keyed by the uid of the pod.
    of_pods: BTreeMap<&'a str, &'a str>,
}

impl<'a> Classes<'a> {
    fn update(&mut self, version: &Version<'a>) {
        let Some(class) = version.object["spec"]["priorityClassName"].as_str() else { return };
        match version.kind() {
            "PodGang" => drop(self.of_gangs.insert(version.name(), class)),
            "Pod" => drop(self.of_pods.insert(version.uid(), class)),
            _ => {}
        }
    }

    /// Returns the pod's own class or, without one, the class of its PodGang.
    fn of(&self, pod: &Version<'a>) -> Option<&'a str> {
        let of_gang = || self.of_gangs.get(pod.pod().pod_gang()?);
        self.of_pods.get(pod.uid()).or_else(of_gang).copied()
    }

    /// Returns the priority of the pod, or `None` if the classes of the pod and its PodGang differ, because
    /// the scheduler then determines which one counts.
    fn value(&self, pod: &Version<'a>) -> Option<i64> {
        let own = self.of_pods.get(pod.uid())?;
        let of_gang = self.of_gangs.get(pod.pod().pod_gang()?)?;
        if own == of_gang { pod.object["spec"]["priority"].as_i64() } else { None }
    }
}

/// Undecided if no pod of another gang waits, or if a waiting pod is not Grove's. The history then lacks the
/// preemptor or its priority.
pub(super) fn is_respected(course: &Course<'_>) -> Ruling {
    let mut classes = Classes::default();
    let mut waiting: BTreeMap<&str, Version<'_>> = BTreeMap::new();
    let mut evicted: BTreeSet<&str> = BTreeSet::new();
    let mut violations = Vec::new();
    for version in &course.versions {
        classes.update(version);
        if version.kind() != "Pod" || version.pod().is_canary() {
            continue;
        }
        let pod = version.pod();
        let is_there = version.change != Change::Deleted && !pod.is_terminating();
        if is_there && pod.node().is_none() && pod.gates().is_empty() {
            waiting.insert(version.uid(), *version);
        } else {
            waiting.remove(version.uid());
        }
        if is_groves_pod(version) && is_preempted(pod) && evicted.insert(version.uid()) {
            violations.extend(evicted_for_equals(version, &waiting, &classes));
        }
    }
    none(violations)
}

fn evicted_for_equals<'a>(
    evicted: &Version<'a>,
    waiting: &BTreeMap<&'a str, Version<'a>>,
    classes: &Classes<'a>,
) -> Option<Violation> {
    let gang = evicted.pod().pod_gang();
    let others: Vec<_> = waiting.values().filter(|other| other.pod().pod_gang() != gang).collect();
    let class = classes.of(evicted);
    let is_not_higher = |other: &Version<'a>| match (classes.value(other), classes.value(evicted)) {
        (Some(waiting), Some(running)) => waiting <= running,
        _ => classes.of(other) == class,
    };
    let first = others.first()?;
    if !others.iter().all(|other| is_groves_pod(other) && is_not_higher(other)) {
        return None;
    }
    let message = format!(
        "Pod {} with priority class {} was evicted while only gangs of equal or lower priority waited",
        evicted.name(),
        class.unwrap_or("none")
    );
    let found = violation(EVICTED_FOR_EQUAL, message);
    Some(found.shown_by("evicted", *evicted).shown_by("waiting", **first))
}

#[cfg(test)]
mod tests {
    use conformance_contract::names;
    use conformance_history::testing::{Story, canary, owned};
    use serde_json::{Value, json};

    use super::*;
    use crate::codes;

    fn gang(name: &str, class: Option<&str>) -> Value {
        json!({"kind": "PodGang", "metadata": {"name": name}, "spec": {"priorityClassName": class}})
    }

    fn pod(gang: &str, node: Option<&str>) -> Value {
        let labels = json!({names::POD_GANG: gang});
        let metadata = json!({"name": format!("pod-of-{gang}"), "labels": labels});
        let pod = json!({"kind": "Pod", "metadata": metadata, "spec": {"nodeName": node}});
        owned(pod, "PodClique", gang)
    }

    fn running() -> Story {
        Story::whole().added(gang("low", Some("low"))).added(pod("low", Some("n")))
    }

    fn waiting(class: Option<&str>) -> Story {
        running().added(gang("other", class)).added(pod("other", None))
    }

    fn marked(reason: &str) -> Value {
        let mut marked = pod("low", Some("n"));
        let condition = json!({"type": "DisruptionTarget", "status": "True", "reason": reason});
        marked["status"] = json!({"conditions": [condition]});
        marked
    }

    const EQUAL: &[&str] = &["evicted-for-equal-priority"];

    #[rstest::rstest]
    #[case::the_same_value_of_another_class("other", 20, EQUAL)]
    #[case::lower("other", 10, EQUAL)]
    #[case::higher("other", 30, &[])]
    #[case::a_class_that_was_replaced("low", 30, &[])]
    fn priorities_of_pods_count(#[case] class: &str, #[case] value: i64, #[case] wanted: &[&str]) {
        let with = |mut pod: Value, class: &str, value: i64| {
            pod["spec"]["priorityClassName"] = class.into();
            pod["spec"]["priority"] = value.into();
            pod
        };
        let runs = running().modified(with(pod("low", Some("n")), "low", 20));
        let waits = runs.all_added([gang("other", Some(class)), with(pod("other", None), class, value)]);
        let evicted = waits.modified(with(marked("PreemptionByScheduler"), "low", 20));
        assert_eq!(codes(is_respected(&Course::of(&evicted.end()))), wanted);
    }

    #[rstest::rstest]
    #[case::another_class(waiting(Some("high")), &[])]
    #[case::no_class(waiting(None), &[])]
    #[case::equal(waiting(Some("low")), EQUAL)]
    #[case::nobody_waits(running(), &[])]
    #[case::the_other_is_bound(waiting(Some("low")).modified(pod("other", Some("n"))), &[])]
    #[case::a_canary_waits(running().added(canary("canary-0", None)), &[])]
    #[case::one_of_two_has_another_class(
        waiting(Some("low")).added(gang("third", Some("high"))).added(pod("third", None)),
        &[]
    )]
    #[case::a_pod_of_another_operator_waits(
        waiting(Some("low")).added(json!({"kind": "Pod", "metadata": {"name": "other"}})),
        &[]
    )]
    #[case::the_class_of_the_pod_counts(
        {
            let mut urgent = pod("other", None);
            urgent["spec"]["priorityClassName"] = "high".into();
            running().added(gang("other", Some("low"))).added(urgent)
        },
        &[]
    )]
    fn a_pod_is_evicted_only_for_another_class(#[case] story: Story, #[case] wanted: &[&str]) {
        let found = |story: Story| codes(is_respected(&Course::of(&story.end())));
        assert_eq!(found(story.clone().modified(marked("PreemptionByScheduler"))), wanted);
        assert_eq!(found(story.modified(marked("EvictionByEvictionAPI"))), [] as [&str; 0]);
    }
}
