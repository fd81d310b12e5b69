use serde_json::json;

use super::*;

fn object(kind: &str, namespace: &str, name: &str, version: u64) -> Value {
    json!({"kind": kind, "metadata": {"namespace": namespace, "name": name, "resourceVersion": version.to_string()}})
}

fn node(name: &str, version: u64, beat: u64, ready: &str) -> Value {
    json!({"kind": "Node",
        "metadata": {"name": name, "resourceVersion": version.to_string(), "labels": {"pool": "ns"}},
        "status": {"conditions": [{"type": "Ready", "status": ready, "lastHeartbeatTime": beat}]}})
}

fn of_pool(object: &Value) -> bool {
    object["metadata"]["labels"]["pool"] == "ns"
}

fn recorded(logs: &Logs, namespace: &str) -> Vec<String> {
    let line = |entry: Entry| match entry.what {
        What::Object(Recorded { change, object }) => {
            format!("{change:?} {} {}", object["kind"].as_str().unwrap(), name(&object))
        }
        What::Mark(mark) => format!("mark {}", mark.name),
        What::Gap(gap) => format!("gap {}", gap.kind),
    };
    logs.since(namespace, 0).into_iter().map(line).collect()
}

fn memory(logs: &Logs) -> usize {
    logs.read().by_namespace.values().map(|log| log.entries.len() + log.seen.len()).sum()
}

#[test]
fn a_version_without_a_new_kept_field_is_skipped() {
    fn without_status(_: Change, object: &mut Value, _: Option<&Value>) -> bool {
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
        }
        object["kind"] != "Event"
    }
    let logs = Logs::new();
    let _tracked = logs.track("ns", Box::new(of_pool), Some(without_status));
    let mut pod = object("Pod", "ns", "a", 1);
    logs.record("Pod", Change::Added, pod.clone());
    pod["status"] = json!({"phase": "Running"});
    pod["metadata"]["resourceVersion"] = json!("2");
    logs.record("Pod", Change::Modified, pod.clone());
    logs.record("Event", Change::Added, object("Event", "ns", "e", 3));
    pod["metadata"]["resourceVersion"] = json!("4");
    pod["spec"] = json!({"nodeName": "n"});
    logs.record("Pod", Change::Modified, pod.clone());
    logs.record("Pod", Change::Deleted, pod);
    assert_eq!(recorded(&logs, "ns"), ["Added Pod a", "Modified Pod a", "Deleted Pod a"]);
    assert_eq!(logs.read().reached.get("Event"), Some(&3), "unrecorded events count too");
}

#[test]
fn objects_of_other_namespaces_use_no_memory() {
    let logs = Logs::new();
    let tracked = logs.track("ns", Box::new(of_pool), None);
    for version in 0..10_000 {
        logs.record("Pod", Change::Modified, object("Pod", "of-others", "p", version));
        logs.record("Event", Change::Added, object("Event", "of-others", &format!("e{version}"), version));
        logs.record("Node", Change::Modified, node("mine", version, version, "True"));
        let mut other = node("of-others", version, version, if version % 2 == 0 { "True" } else { "False" });
        other["metadata"]["labels"] = json!({});
        logs.record("Node", Change::Modified, other);
    }
    assert_eq!(memory(&logs), 1, "one version of the case's node, because the others are heartbeats");
    assert_eq!(logs.look("", |live| live.all().count()), 2);
    logs.record("Pod", Change::Added, object("Pod", "ns", "p", 10_001));
    drop(tracked);
    assert_eq!(memory(&logs), 0);
    logs.record("Pod", Change::Deleted, object("Pod", "ns", "p", 10_002));
    assert!(!logs.mark("ns", Mark { name: "late".into(), detail: Value::Null }));
    assert_eq!((memory(&logs), logs.read().by_namespace.len()), (0, 0), "late events create no log");
}

#[test]
fn entries_are_in_the_order_of_arrival() {
    let logs = Logs::new();
    let _tracked = logs.track("ns", Box::new(of_pool), None);
    logs.record("Pod", Change::Added, object("Pod", "ns", "p", 5));
    logs.record("Node", Change::Added, node("n", 4, 0, "True"));
    logs.mark("ns", Mark { name: "m".into(), detail: Value::Null });
    logs.record("Node", Change::Modified, node("n", 6, 1, "False"));
    let all = ["Added Pod p", "Added Node n", "mark m", "Modified Node n"];
    assert_eq!(recorded(&logs, "ns"), all);
    assert_eq!(logs.since("ns", 3).len(), 1);
    assert_eq!(logs.since("ns", 9), []);
}

#[test]
fn a_change_of_a_cluster_scoped_object_is_no_change_in_the_namespace() {
    let logs = Logs::new();
    let _tracked = logs.track("ns", Box::new(of_pool), None);
    let (all, objects) = (logs.follow("ns").unwrap(), logs.follow_objects("ns").unwrap());
    let have_changed = || (all.has_changed().unwrap(), objects.has_changed().unwrap());
    logs.record("Node", Change::Added, node("n", 4, 0, "True"));
    assert_eq!(have_changed(), (true, false));
    logs.record("Pod", Change::Added, object("Pod", "ns", "p", 5));
    assert_eq!(have_changed(), (true, true));
}

#[test]
fn a_log_starts_with_the_cluster_scoped_objects_that_belong_to_it() {
    let logs = Logs::new();
    logs.record("Node", Change::Added, node("n", 4, 0, "True"));
    logs.record("ClusterTopologyBinding", Change::Added, object("ClusterTopologyBinding", "", "t", 5));
    let first = logs.track("ns", Box::new(of_pool), None);
    let second = logs.track("ns", Box::new(of_pool), None);
    assert_eq!(recorded(&logs, "ns"), ["Added Node n"]);
    drop(first);
    assert_eq!(recorded(&logs, "ns"), ["Added Node n"], "another guard still follows the namespace");
    drop(second);
    assert!(recorded(&logs, "ns").is_empty());
}

#[test]
fn an_object_that_a_later_list_lacks_is_recorded_as_deleted() {
    let logs = Logs::new();
    let _tracked = logs.track("ns", Box::new(of_pool), None);
    for name in ["stays", "goes"] {
        logs.record("Pod", Change::Added, object("Pod", "ns", name, 5));
    }
    logs.record("Service", Change::Added, object("Service", "ns", "s", 5));
    logs.record("Node", Change::Added, node("n", 6, 0, "True"));
    logs.relist("Pod", vec![object("Pod", "ns", "stays", 5)], "9", Some("it was away"));
    logs.relist("Node", Vec::new(), "9", Some("it was away"));
    let after =
        ["gap Pod", "Deleted Pod goes", "Added Pod stays", "gap Node", "Deleted Node n"].map(str::to_owned);
    assert_eq!(recorded(&logs, "ns")[4..], after);
    let left = logs.look("ns", |live| live.all().map(|object| name(object).to_owned()).collect::<Vec<_>>());
    assert_eq!(left, ["stays", "s"]);
    assert_eq!(logs.look("", |live| live.all().count()), 0);
}

#[rstest::rstest]
#[case::all_seen(&[("a", 3)], 9, None)]
#[case::an_older_one(&[("a", 4)], 9, Some("Pod a at resourceVersion 4"))]
#[case::never_seen(&[("a", 3), ("b", 2)], 9, Some("Pod b at resourceVersion 2"))]
#[case::deleted(&[], 9, Some("the deletion of Pod a"))]
#[case::created_after_the_list(&[], 2, None)]
#[case::the_watch_is_ahead(&[("b", 2)], 3, None)]
fn a_listed_version_that_is_not_recorded_is_reported(
    #[case] items: &[(&str, u64)],
    #[case] version: u64,
    #[case] lacks: Option<&str>,
) {
    let logs = Logs::new();
    let _tracked = logs.track("ns", Box::new(of_pool), None);
    logs.record("Pod", Change::Added, object("Pod", "ns", "a", 3));
    let items = items.iter().map(|(name, version)| ((*name).to_owned(), *version)).collect();
    let listed = Listed { kind: "Pod", version: Some(version), items };
    assert_eq!(logs.lacks("ns", &listed).as_deref(), lacks);
    logs.reached("Pod", &version.to_string());
    assert_eq!(logs.lacks("ns", &listed), None, "the watch has reached the version of the list");
}
