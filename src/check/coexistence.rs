use std::collections::{BTreeMap, BTreeSet};

use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_expect::schedulers;
use conformance_facts::gang_resources::is_gang_resource;
use conformance_history::{History, SharedMark, Version, owners, text};
use serde_json::Value;

use super::binding::bindings;
use super::{Shown, none, precondition, violation};

const NEVER_SERVED: Code = Code::new("never-served");
const BOUND_BY_ANOTHER_SCHEDULER: Code = Code::new("bound-by-another-scheduler");
pub(super) const OWNED_BY_ANOTHER_BACKEND: Code = Code::new("owned-by-another-backend");

/// Returns the running schedulers that PodCliqueSets chose. Returns `NotReached` if there are fewer than two.
pub fn schedulers(history: &History) -> Result<BTreeSet<&str>, Broken> {
    let (_, mark) = history.reached(SharedMark::BoundBy)?;
    let running: BTreeSet<_> = chosen(history).filter(|name| !has_stand_in(&mark.detail, name)).collect();
    match running.len() {
        0 | 1 => Err(Broken::NotReached("fewer than two schedulers were in use".into())),
        _ => Ok(running),
    }
}

fn chosen(history: &History) -> impl Iterator<Item = &str> {
    history.header.submitted.values().map(scheduler_of)
}

pub(super) fn scheduler_of(pcs: &Value) -> &str {
    let clique = &pcs["spec"]["template"]["cliques"][0];
    clique["spec"]["podSpec"]["schedulerName"].as_str().unwrap_or(names::DEFAULT_SCHEDULER)
}

pub(super) fn has_stand_in(mark: &Value, scheduler: &str) -> bool {
    mark["stoodInFor"].as_array().into_iter().flatten().any(|name| name == scheduler)
}

/// Returns the scheduler that the pod's PodCliqueSet chose or, without one, that the pod names.
fn chosen_for<'a>(history: &'a History, pod: Version<'a>) -> &'a str {
    let mut sets = history.header.submitted.iter();
    let of_set = sets.find(|(set, _)| pod.label(names::PART_OF) == Some(set.as_str()));
    let own = || pod.object["spec"]["schedulerName"].as_str().unwrap_or_default();
    of_set.map_or_else(own, |(_, pcs)| scheduler_of(pcs))
}

/// Requires that the chosen scheduler bound each pod (COEX-01). `NotReached` if the log lacks a binding.
pub fn bound_by_own_scheduler(history: &History) -> Ruling {
    let (_, mark) = history.reached(SharedMark::BoundBy)?;
    let mut users: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for binding in mark.detail["bindings"].as_array().into_iter().flatten() {
        if let (Some(pod), Some(user)) = (binding["pod"].as_str(), binding["user"].as_str()) {
            users.entry(pod).or_default().insert(user);
        }
    }
    let mut violations = Vec::new();
    for version in bindings(history) {
        let named = chosen_for(history, version);
        if has_stand_in(&mark.detail, named) {
            continue;
        }
        let Some(own) = mark.detail["users"][named].as_str() else {
            return Err(Broken::NotReached(format!(
                "Pod {} belongs to scheduler {named:?}, whose user is unknown",
                version.name()
            )));
        };
        let Some(users) = users.get(version.name()) else {
            return Err(Broken::NotReached(format!(
                "the audit log does not show who bound Pod {}",
                version.name()
            )));
        };
        let others: Vec<_> = users.iter().copied().filter(|user| *user != own).collect();
        if !others.is_empty() {
            let message =
                format!("Pod {} of scheduler {named} was bound by {}", version.name(), others.join(", "));
            violations.push(violation(BOUND_BY_ANOTHER_SCHEDULER, message).shown_by("bound", version));
        }
    }
    none(violations)
}

/// Requires that each gang resource is of the backend of its own PodGang. The target's scheduler must have
/// had one (GANG-08).
pub fn resources_of_own_gangs(history: &History) -> Ruling {
    let backends: BTreeMap<&str, &str> = schedulers::kinds().into_iter().collect();
    let resources = || history.versions().filter(|version| is_gang_resource(version.object));
    let chosen: BTreeSet<&str> = chosen(history).collect();
    if chosen.len() < 2 {
        return Err(Broken::NotReached("fewer than two schedulers were in use".into()));
    }
    let served =
        |scheduler: &&str| resources().any(|version| backends.get(version.kind()) == Some(scheduler));
    // An operator need not create gang resources for schedulers other than the target's.
    let own = history.header.target.backend();
    if chosen.contains(own) && !served(&own) {
        let never = violation(NEVER_SERVED, format!("no gang resource of {own} ever existed"));
        return precondition("GANG-08", Err(never.into()));
    }
    let mut wrong: BTreeMap<&str, (String, Version<'_>)> = BTreeMap::new();
    let mut unowned: BTreeMap<&str, (String, Version<'_>)> = BTreeMap::new();
    for version in resources() {
        let backend = backends.get(version.kind()).copied().unwrap_or_default();
        let of = schedulers_of_owners(history, version.object);
        let described = format!("{} {}, a gang resource of {backend},", version.kind(), version.name());
        if of.is_empty() {
            let message = format!("{described} is owned by no PodGang and no PodCliqueSet");
            unowned.entry(version.uid()).or_insert((message, version));
        } else if !of.iter().all(|scheduler| schedulers::may_have(scheduler, version.kind())) {
            let message = format!("{described} belongs to a gang of {}", of.join(", "));
            wrong.entry(version.uid()).or_insert((message, version));
        }
    }
    let violations = |found: BTreeMap<&str, (String, Version<'_>)>| {
        none(found.into_values().map(|(message, version)| {
            violation(OWNED_BY_ANOTHER_BACKEND, message).shown_by("observed", version)
        }))
    };
    violations(wrong)?;
    precondition("GANG-23", violations(unowned))
}

fn schedulers_of_owners<'a>(history: &'a History, object: &'a Value) -> Vec<&'a str> {
    let mut found = Vec::new();
    for owner in owners(object) {
        let (kind, name, uid) = (text(&owner["kind"]), text(&owner["name"]), text(&owner["uid"]));
        if kind == "PodCliqueSet" {
            found.extend(history.header.submitted.get(name).map(scheduler_of));
            continue;
        }
        let versions: Vec<_> = history.named(kind, name).filter(|version| version.uid() == uid).collect();
        let mut labels = versions.iter().filter_map(|version| version.label(names::SCHEDULER_NAME));
        match (labels.next_back().filter(|_| kind == "PodGang"), versions.last()) {
            (Some(label), _) => found.push(label),
            (None, Some(version)) => found.extend(schedulers_of_owners(history, version.object)),
            (None, None) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use conformance_contract::target::Target;
    use conformance_history::testing::{Story, object, owned};
    use serde_json::json;

    use super::*;
    use crate::described as message;

    fn set(name: &str, scheduler: &str) -> Value {
        let clique = json!({"name": "w", "spec": {"replicas": 1, "podSpec": {"schedulerName": scheduler}}});
        json!({"metadata": {"name": name}, "spec": {"replicas": 1, "template": {"cliques": [clique]}}})
    }

    fn pod(name: &str, scheduler: &str) -> Value {
        json!({"kind": "Pod", "metadata": {"name": name}, "spec": {"schedulerName": scheduler, "nodeName": "n"}})
    }

    fn gang(name: &str, scheduler: &str) -> Value {
        let mut gang = object("PodGang", name);
        gang["metadata"]["labels"] = json!({names::SCHEDULER_NAME: scheduler});
        gang
    }

    fn two_schedulers() -> Story {
        let sets = [set("k", "default-scheduler"), set("v", "volcano")];
        sets.into_iter().fold(Story::on(Target::VOLCANO), Story::submitted)
    }

    #[rstest::rstest]
    #[case::each_by_its_own(
        [("k", "system:kube-scheduler"), ("v", "system:volcano-scheduler")].to_vec(),
        "satisfied"
    )]
    #[case::another(
        [("k", "system:kube-scheduler"), ("v", "system:kube-scheduler")].to_vec(),
        "Pod v of scheduler volcano was bound by system:kube-scheduler"
    )]
    #[case::by_its_own_and_another(
        [("k", "system:kube-scheduler"), ("v", "system:volcano-scheduler"), ("v", "system:admin")].to_vec(),
        "Pod v of scheduler volcano was bound by system:admin"
    )]
    #[case::not_recorded([("k", "system:kube-scheduler")].to_vec(), "not reached: the audit log does not show who bound Pod v")]
    fn a_binding_by_another_schedulers_user_is_a_violation(
        #[case] bound: Vec<(&str, &str)>,
        #[case] wanted: &str,
    ) {
        let bindings: Vec<_> = bound.iter().map(|(pod, user)| json!({"pod": pod, "user": user})).collect();
        let recorded = |stood_in: &[&str]| {
            let users =
                json!({"default-scheduler": "system:kube-scheduler", "volcano": "system:volcano-scheduler"});
            let detail = json!({"bindings": bindings, "users": users, "stoodInFor": stood_in});
            let story = two_schedulers().added(pod("k", "default-scheduler")).added(pod("v", "volcano"));
            story.mark(SharedMark::BoundBy, detail).end()
        };
        assert_eq!(message(bound_by_own_scheduler(&recorded(&[]))), wanted);
        assert_eq!(message(bound_by_own_scheduler(&recorded(&["volcano"]))), "satisfied", "a stand-in binds");
        assert!(schedulers(&recorded(&[])).is_ok_and(|both| both.len() == 2));
        assert!(schedulers(&recorded(&["volcano"])).is_err());
    }

    #[test]
    fn the_scheduler_of_a_pod_is_that_of_its_pod_clique_set() {
        let ruling = |users: Value| {
            let mut bound = pod("v-0-w-x", "default-scheduler");
            bound["metadata"]["labels"] = json!({names::PART_OF: "v"});
            let binding = json!({"pod": "v-0-w-x", "user": "system:kube-scheduler"});
            let detail = json!({"bindings": [binding], "users": users});
            bound_by_own_scheduler(&two_schedulers().added(bound).mark(SharedMark::BoundBy, detail).end())
        };
        let known =
            json!({"default-scheduler": "system:kube-scheduler", "volcano": "system:volcano-scheduler"});
        assert_eq!(
            message(ruling(known)),
            "Pod v-0-w-x of scheduler volcano was bound by system:kube-scheduler"
        );
        let unknown = message(ruling(json!({"default-scheduler": "system:kube-scheduler"})));
        assert!(unknown.starts_with("not reached") && unknown.contains("whose user is unknown"), "{unknown}");
    }

    #[test]
    fn one_scheduler_shares_nothing() {
        let one = Story::on(Target::VOLCANO).submitted(set("v", "volcano")).submitted(set("w", "volcano"));
        assert!(matches!(resources_of_own_gangs(&one.clone().end()), Err(Broken::NotReached(_))));
        let marked = one.mark(SharedMark::BoundBy, json!({"bindings": []})).end();
        assert!(matches!(schedulers(&marked), Err(Broken::NotReached(_))));
    }

    #[rstest::rstest]
    #[case::own(gang("v-0", "volcano"), "satisfied")]
    #[case::of_another(
        gang("v-0", "default-scheduler"),
        "PodGroup.scheduling.volcano.sh v-0, a gang resource of volcano, belongs to a gang of \
         default-scheduler"
    )]
    #[case::without_a_label(owned(object("PodGang", "v-0"), "PodCliqueSet", "v"), "satisfied")]
    #[case::without_a_label_of_another(
        owned(object("PodGang", "v-0"), "PodCliqueSet", "k"),
        "PodGroup.scheduling.volcano.sh v-0, a gang resource of volcano, belongs to a gang of \
         default-scheduler"
    )]
    fn a_gang_resource_of_another_backends_gang_is_a_violation(
        #[case] of_volcano: Value,
        #[case] wanted: &str,
    ) {
        let group = |name: &str| object("PodGroup.scheduling.volcano.sh", name);
        let kube = || {
            let story = two_schedulers().added(gang("k-0", "default-scheduler"));
            story.added(owned(object("Workload", "k-0"), "PodGang", "k-0"))
        };
        let history = kube().added(of_volcano.clone()).added(owned(group("v-0"), "PodGang", "v-0")).end();
        assert_eq!(message(resources_of_own_gangs(&history)), wanted);
        let of_set = |set: &str| kube().added(owned(group("v-0"), "PodCliqueSet", set)).end();
        assert_eq!(resources_of_own_gangs(&of_set("v")), Ok(()));
        assert!(matches!(resources_of_own_gangs(&of_set("k")), Err(Broken::Violated(_))));
        let stray = resources_of_own_gangs(&kube().added(group("v-0")).end());
        assert!(matches!(stray, Err(Broken::Precondition { clause: "GANG-23", .. })), "{stray:?}");
        let never = resources_of_own_gangs(&kube().end());
        assert!(matches!(never, Err(Broken::Precondition { clause: "GANG-08", .. })), "{never:?}");
    }
}
