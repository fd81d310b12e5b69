use conformance_contract::names;
use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::{Code, Violation};
use conformance_expect::{Gang, schedulers};
use conformance_facts::leftovers::Leftovers;
use conformance_facts::ownership::{belongs, left_of, services_of};
use conformance_history::{Change, History, SharedMark, Version};
use serde_json::Value;

use super::{Shown, ensure, none, precondition, violation};

const LEFT_BEHIND: Code = Code::new("left-behind");
const NEVER_CREATED: Code = Code::new("never-created");
const NAMESPACE_STUCK: Code = Code::new("namespace-stuck");

/// Requires that no object of the PodCliqueSet remains. Objects of others may remain: see [`Leftovers`].
pub fn nothing_left(history: &History) -> Ruling {
    let (index, mark) = history.reached(SharedMark::LeftOver)?;
    let listed: Vec<_> = mark.detail.as_array().into_iter().flatten().collect();
    let leftovers = Leftovers::of(history, listed.iter().copied());
    let live = history.before(index);
    let seen = live.all().filter(|object| is_namespaced(object) && leftovers.contains(object));
    let listed = listed.iter().filter(|object| leftovers.contains(object));
    none(listed.map(|object| violation(LEFT_BEHIND, describe_leftover(object))).chain(seen.map(left_behind)))
}

fn left_behind(object: &Value) -> Violation {
    violation(LEFT_BEHIND, describe_leftover(object)).shown_by_object("still exists", object)
}

fn describe_leftover(object: &Value) -> String {
    let metadata = &object["metadata"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let left = format!("{} {} still exists", text(&object["kind"]), text(&metadata["name"]));
    let blocking = metadata["finalizers"].as_array().filter(|_| metadata["deletionTimestamp"].is_string());
    match blocking {
        Some(finalizers) => {
            let names: Vec<_> = finalizers.iter().filter_map(Value::as_str).collect();
            format!("{left}, blocked by finalizers {}", names.join(", "))
        }
        None => left,
    }
}

fn is_namespaced(object: &Value) -> bool {
    object["metadata"]["namespace"].is_string()
}

/// Requires that the headless Services are deleted (DEL-10). `NotReached` if a base PodGang never had one.
pub fn services_removed(history: &History, gangs: &[Gang]) -> Ruling {
    let target = history.header.target;
    let end = history.end();
    let left = services_of(target, &end, gangs);
    none(left.map(left_behind))?;
    for gang in gangs.iter().filter(|gang| gang.is_base) {
        let is_headless = |service: &Version<'_>| service.object["spec"]["clusterIP"] == "None";
        let mut services = history.of("Service").filter(|service| belongs(target, gang, *service));
        if !services.any(|service| is_headless(&service)) {
            return Err(Broken::NotReached(format!("PodGang {} never had a headless Service", gang.name)));
        }
    }
    Ok(())
}

/// Requires that all objects of the PodGangs except Services are deleted. If a PodGang never had pods
/// (`NotReached`) or gang resources (GANG-08), their absence proves nothing.
pub fn removed(history: &History, gangs: &[Gang]) -> Ruling {
    let target = history.header.target;
    let end = history.end();
    let left = left_of(history, &end, gangs);
    // Report remaining objects even if other expected objects never existed.
    none(left.map(left_behind))?;
    for gang in gangs {
        let existed = |kind: &str| history.of(kind).any(|version| belongs(target, gang, version));
        let never = |kind: &str| format!("PodGang {} never had a {kind}", gang.name);
        if let Some(kind) = ["PodGang", "PodClique", "Pod"].into_iter().find(|kind| !existed(kind)) {
            return Err(Broken::NotReached(never(kind)));
        }
        let missing = schedulers::of(target).kinds().iter().filter(|kind| !existed(kind));
        precondition("GANG-08", none(missing.map(|kind| violation(NEVER_CREATED, never(kind)))))?;
    }
    Ok(())
}

pub fn namespace_deleted(history: &History) -> Ruling {
    let namespace = history.header.namespace.as_str();
    let is_deleted = history.named("Namespace", namespace).any(|version| version.change == Change::Deleted);
    ensure(is_deleted, || {
        let end = history.end();
        let found =
            violation(NAMESPACE_STUCK, format!("Namespace {namespace} still exists, want it deleted"));
        let remaining = end
            .all()
            .filter(|object| is_namespaced(object) && object["metadata"]["labels"][names::CANARY].is_null());
        remaining.fold(found, |found, object| found.shown_by_object(describe_leftover(object), object))
    })
}

#[cfg(test)]
mod tests {
    use conformance_contract::target::Target;
    use conformance_expect as expect;
    use conformance_history::testing::{Story, object, one_clique, owned};
    use serde_json::json;

    use super::*;

    fn namespaced(kind: &str, name: &str) -> Value {
        let mut object = object(kind, name);
        object["metadata"]["namespace"] = json!("ns");
        object
    }

    fn messages(ruling: Ruling) -> Vec<String> {
        match ruling {
            Ok(()) => Vec::new(),
            Err(Broken::Violated(all)) => all.into_iter().map(|violation| violation.message).collect(),
            Err(Broken::NotReached(why)) => vec![format!("not reached: {why}")],
            Err(Broken::Precondition { clause, violations }) => {
                violations.into_iter().map(|violation| format!("{clause}: {}", violation.message)).collect()
            }
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_remaining_object_of_the_pod_clique_set_is_a_violation() {
        let story = || {
            let of_set = Story::flat().submitted(one_clique("w", 1)).added(object("Node", "n"));
            of_set.added(namespaced("PodGang", "w-0")).added(namespaced("Event", "e"))
        };
        let deleted = || story().deleted(namespaced("PodGang", "w-0"));
        assert!(messages(nothing_left(&deleted().mark(SharedMark::LeftOver, json!([])).end())).is_empty());
        assert_eq!(
            messages(nothing_left(&story().mark(SharedMark::LeftOver, json!([])).end())),
            ["PodGang w-0 still exists"]
        );
        let role = json!([{"kind": "Role", "metadata": {
            "name": "w-r", "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/f"],
        }}]);
        let blocked = deleted().mark(SharedMark::LeftOver, role).end();
        assert_eq!(
            messages(nothing_left(&blocked)),
            ["Role w-r still exists, blocked by finalizers example.com/f"]
        );
        assert!(messages(nothing_left(&deleted().end()))[0].starts_with("not reached"));
        // A service mesh creates this ConfigMap after the namespace, so only the Service is a leftover.
        let injected = json!([{"kind": "ConfigMap", "metadata": {"name": "istio-ca-root-cert"}}]);
        let with_injected =
            |story: Story| messages(nothing_left(&story.mark(SharedMark::LeftOver, injected.clone()).end()));
        assert!(with_injected(deleted()).is_empty());
        assert_eq!(
            with_injected(deleted().added(namespaced("Service", "w-0"))),
            ["Service w-0 still exists"]
        );
    }

    #[test]
    fn a_subgroup_of_a_removed_gang_in_a_shared_resource_is_a_violation() {
        const POD_GROUP: &str = schedulers::kai::POD_GROUP;
        let pcs = json!({"metadata": {"name": "w"}, "spec": {"replicas": 1, "template": {
            "cliques": [{"name": "a", "spec": {"replicas": 1}}, {"name": "b", "spec": {"replicas": 1}}],
            "podCliqueScalingGroups": [{"name": "sg", "replicas": 2, "cliqueNames": ["b"]}],
        }}});
        let shared = |leaves: &[&str]| {
            let mut found = owned(namespaced(POD_GROUP, "grove-w-0"), "PodCliqueSet", "w");
            found["spec"]["subGroups"] = leaves.iter().map(|name| json!({"name": name})).collect();
            found
        };
        let gang = owned(namespaced("PodGang", "w-0-sg-0"), "PodCliqueSet", "w");
        let mut pod = namespaced("Pod", "p");
        pod["metadata"]["labels"] =
            json!({"grove.io/podclique": "w-0-sg-1-b", "kai.scheduler/subgroup-name": "leaf-b"});
        pod["metadata"]["annotations"] = json!({"pod-group-name": "grove-w-0"});
        let messages_after = |leaves: &[&str]| {
            let clique = namespaced("PodClique", "w-0-sg-1-b");
            let all = [gang.clone(), clique.clone(), shared(&["leaf-a", "leaf-b"]), pod.clone()];
            let story = Story::on(Target::KAI).all_added(all).modified(shared(leaves));
            let history = story.deleted(pod.clone()).deleted(clique).deleted(gang.clone()).end();
            let scaled = expect::resolver::resolved_in(&history, expect::testing::named_gangs(&pcs));
            messages(removed(&history, &scaled[1..]))
        };
        assert!(messages_after(&["leaf-a"]).is_empty());
        assert_eq!(messages_after(&["leaf-a", "leaf-b"]), [format!("{POD_GROUP} grove-w-0 still exists")]);
    }

    #[test]
    fn an_object_of_a_removed_replica_is_a_violation() {
        let gangs = expect::testing::named_gangs(
            &json!({"metadata": {"name": "w"}, "spec": {"replicas": 2, "template": {
                "cliques": [{"name": "a", "spec": {"replicas": 1}}],
            }}}),
        );
        let mut pod = namespaced("Pod", "w-1-a-x");
        pod["metadata"]["labels"] = json!({"grove.io/podclique": "w-1-a"});
        // The labels identify the Service, because the contract does not define its name.
        let mut service = namespaced("Service", "headless-1");
        service["metadata"]["labels"] =
            json!({"app.kubernetes.io/part-of": "w", "grove.io/podcliqueset-replica-index": "1"});
        service["spec"] = json!({"clusterIP": "None"});
        let mut of_other = service.clone();
        of_other["metadata"]["name"] = json!("headless-0");
        of_other["metadata"]["labels"]["grove.io/podcliqueset-replica-index"] = json!("0");
        let all = [
            namespaced("PodGang", "w-1"),
            namespaced("Workload", "w-1"),
            namespaced("PodGroup", "w-1-w-1-a"),
            namespaced("PodClique", "w-1-a"),
            pod,
            service,
        ];
        let first_replica = || Story::flat().added(namespaced("PodGang", "w-0")).added(of_other.clone());
        let scaled_out = || first_replica().all_added(all.clone());
        let but_service = all[..5].iter().cloned().fold(scaled_out(), Story::deleted);
        let but_service = but_service.end();
        assert!(messages(removed(&but_service, &gangs[1..])).is_empty());
        assert_eq!(
            messages(services_removed(&but_service, &gangs[1..])),
            ["Service headless-1 still exists"]
        );
        let but_gang = all[1..].iter().cloned().fold(scaled_out(), Story::deleted).end();
        assert_eq!(messages(removed(&but_gang, &gangs[1..])), ["PodGang w-1 still exists"]);
        assert!(messages(services_removed(&but_gang, &gangs[1..])).is_empty());
        let all_deleted = all.iter().cloned().fold(scaled_out(), Story::deleted).end();
        assert!(messages(removed(&all_deleted, &gangs[1..])).is_empty());
        assert!(messages(services_removed(&all_deleted, &gangs[1..])).is_empty());
        let messages_after = |service: Option<Value>| {
            let objects: Vec<_> = all[..5].iter().cloned().chain(service).collect();
            let story = objects.iter().cloned().fold(first_replica(), Story::added);
            messages(services_removed(&objects.into_iter().fold(story, Story::deleted).end(), &gangs[1..]))
        };
        let none = ["not reached: PodGang w-1 never had a headless Service"];
        assert_eq!(messages_after(None), none);
        assert_eq!(
            messages_after(Some(namespaced("Service", "w-1"))),
            none,
            "a Service with a cluster IP is not headless"
        );
        let never = Story::flat().added(namespaced("PodGang", "w-1")).deleted(namespaced("PodGang", "w-1"));
        assert!(messages(removed(&never.end(), &gangs[1..]))[0].starts_with("not reached"));
        let without =
            || all.iter().filter(|object| object["kind"] != "PodGroup" && object["kind"] != "Workload");
        let story = without().cloned().fold(first_replica(), Story::added);
        let deleted = without().cloned().fold(story, Story::deleted);
        let no_gangs =
            ["Workload", "PodGroup"].map(|kind| format!("GANG-08: PodGang w-1 never had a {kind}"));
        assert_eq!(messages(removed(&deleted.end(), &gangs[1..])), no_gangs);
    }

    #[test]
    fn a_namespace_that_still_exists_is_a_violation() {
        let story = || Story::flat().added(object("Namespace", "ns"));
        assert!(namespace_deleted(&story().deleted(object("Namespace", "ns")).end()).is_ok());
        assert_eq!(
            messages(namespace_deleted(&story().end())),
            ["Namespace ns still exists, want it deleted"]
        );
    }
}
