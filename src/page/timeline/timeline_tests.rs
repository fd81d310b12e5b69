use conformance_history::SharedMark;
use conformance_history::testing::{Story, canary, gated, object, one_clique, one_clique_gang, worker};
use conformance_report::Proof;
use serde_json::json;

use super::lane::Section;
use super::*;

fn pod(index: usize, node: Option<&str>) -> Value {
    worker("short", index, node)
}

fn story() -> Readable {
    let failed = json!({
        "kind": "Event",
        "metadata": {"name": "e1"},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": "short-0-worker-1"},
        "reason": "FailedScheduling",
        "message": "no room",
        "reportingComponent": "default-scheduler",
    });
    Story::whole()
        .added(object("Node", "n0"))
        .mark(SharedMark::Submitted, json!({"name": "short"}))
        .added(one_clique("short", 2))
        .later(1)
        .added(one_clique_gang("short", 2))
        .added(object("PodGroup", "short-0"))
        .added(gated(pod(1, None)))
        .added(gated(pod(0, None)))
        .later(1)
        .modified(pod(0, None))
        .modified(pod(1, None))
        .later(1)
        .added(canary("canary-0", None))
        .modified(canary("canary-0", Some("c")))
        .mark(SharedMark::SchedulerPassed, Value::Null)
        .later(1)
        .modified(pod(0, Some("n0")))
        .added(failed)
        .later(1)
        .deleted(pod(0, Some("n0")))
        .later(1)
        .gap("Pod")
        .end()
        .into()
}

fn bound() -> Violation {
    let proof = |name: &str, revision: &str| Proof {
        what: "bound to n0".into(),
        kind: "Pod".into(),
        namespace: Some("ns".into()),
        name: name.into(),
        resource_version: revision.into(),
        at: None,
    };
    let code = serde_json::from_value(json!("bound-in-part")).unwrap();
    Violation::new(
        code,
        "1 of 2 is bound",
        [proof("short-0-worker-0", "13"), proof("short-0-worker-0", "99")],
    )
}

#[test]
fn lanes_are_ordered_from_the_driver_to_the_nodes() {
    let history = story();
    let timeline = Timeline::of(&history, &[]);
    let lanes: Vec<_> =
        timeline.lanes.iter().map(|lane| (lane.section, lane.kind, lane.name, lane.gang)).collect();
    let of_gang = Some("short-0");
    assert_eq!(
        lanes,
        [
            (Section::Driver, "", "driver", None),
            (Section::Sets, "PodCliqueSet", "short", None),
            (Section::Gangs, "PodGang", "short-0", None),
            (Section::Resources, "PodGroup", "short-0", None),
            // Pods are sorted by index, not by appearance.
            (Section::Pods, "Pod", "short-0-worker-0", of_gang),
            (Section::Pods, "Pod", "short-0-worker-1", of_gang),
            (Section::Canaries, "Pod", "canary-0", None),
            (Section::Cluster, "Node", "n0", None),
        ]
    );
}

#[test]
fn a_lane_has_the_phases_of_its_pod_until_the_deletion() {
    let history = story();
    let timeline = Timeline::of(&history, &[]);
    let stretches = |name: &str| {
        let lane = timeline.lanes.iter().find(|lane| lane.name == name).unwrap();
        lane.stretches.iter().map(|of| (of.from, of.to, of.phase)).collect::<Vec<_>>()
    };
    assert_eq!(
        stretches("short-0-worker-0"),
        [(1_000, 2_000, Phase::Gated), (2_000, 4_000, Phase::Pending), (4_000, 5_000, Phase::Bound)]
    );
    assert_eq!(stretches("short-0-worker-1"), [(1_000, 2_000, Phase::Gated), (2_000, 6_000, Phase::Pending)]);
    assert_eq!(timeline.length, 6_000, "a gap is an entry too");
}

#[test]
fn events_are_described_in_the_lane_of_their_object() {
    let history = story();
    let timeline = Timeline::of(&history, &[]);
    let of = |name: &str| {
        let events = timeline.events.iter().filter(|event| timeline.lanes[event.lane].name == name);
        events.map(|event| (event.at, event.sort, event.what.as_str())).collect::<Vec<_>>()
    };
    assert_eq!(
        of("driver"),
        [
            (0, EventKind::Mark, "submitted (name short)"),
            (3_000, EventKind::Mark, "scheduler passed"),
            (6_000, EventKind::Gap, "the watch of Pod has a gap: it listed again"),
        ]
    );
    let gate = "gate grove.io/podgang-pending-creation removed";
    assert_eq!(
        of("short-0-worker-1"),
        [
            (1_000, EventKind::Created, "created, gated by grove.io/podgang-pending-creation"),
            (2_000, EventKind::Released, gate),
            (4_000, EventKind::Event, "FailedScheduling: no room"),
        ]
    );
    assert_eq!(of("short-0-worker-0").last(), Some(&(5_000, EventKind::Deleted, "deleted")));
}

#[test]
fn events_that_prove_a_violation_are_marked() {
    let (history, violation) = (story(), bound());
    let timeline = Timeline::of(&history, &[("AON-02", &violation)]);
    let marked: Vec<_> = timeline.events.iter().filter(|event| !event.proves.is_empty()).collect();
    assert_eq!(marked.len(), 1, "an observation that is not in the history marks no event");
    assert_eq!(
        (marked[0].what.as_str(), marked[0].proves.as_slice()),
        ("bound to n0", ["AON-02"].as_slice())
    );
    let place = timeline.find("Pod", "short-0-worker-0", "13").unwrap();
    assert_eq!(timeline.events[place].what, "bound to n0");
    assert_eq!(timeline.find("Pod", "short-0-worker-0", "99"), None);
    assert_eq!(timeline.find("Pod", "short-0-worker-1", "13"), None, "another object's");
    assert_eq!(
        timeline.find("Event", "e1", "14").map(|place| timeline.events[place].sort),
        Some(EventKind::Event)
    );
}

#[test]
fn a_recreated_object_continues_the_lane_of_its_name() {
    let again = |uid: &str| {
        let mut gang = object("PodGang", "g");
        gang["metadata"]["uid"] = uid.into();
        gang
    };
    let history: Readable = Story::flat()
        .added(again("1"))
        .later(1)
        .deleted(again("1"))
        .later(1)
        .added(again("2"))
        .later(1)
        .gap("x")
        .end()
        .into();
    let timeline = Timeline::of(&history, &[]);
    let lane = &timeline.lanes[timeline.events[0].lane];
    let stretches: Vec<_> = lane.stretches.iter().map(|of| (of.from, of.to)).collect();
    assert_eq!(stretches, [(0, 1_000), (2_000, 3_000)]);
    assert_eq!(timeline.events[2].what, "created");
}

#[test]
fn managed_fields_are_reduced_to_the_writer() {
    let by = |manager: &str| {
        let mut pod = gated(pod(0, None));
        pod["metadata"]["managedFields"] = json!([{"manager": manager, "time": "1"}]);
        pod
    };
    let history: Readable = Story::flat().added(by("controller")).modified(by("kubelet")).end().into();
    let timeline = Timeline::of(&history, &[]);
    let writers: Vec<_> = timeline.events.iter().map(|event| event.by.as_deref()).collect();
    assert_eq!(writers, [Some("controller"), Some("kubelet")]);
    assert!(!serde_json::to_string(&timeline).unwrap().contains("managedFields"));
}

#[test]
fn an_empty_history_is_an_empty_timeline() {
    let history: Readable = Story::flat().end().into();
    let timeline = Timeline::of(&history, &[]);
    assert_eq!((timeline.length, timeline.lanes.len(), timeline.events.len()), (0, 0, 0));
}

fn object_of(events: &Value, index: usize) -> Value {
    let event = &events[index];
    let before = (0..index).rev().find(|of| {
        events[*of]["lane"] == event["lane"]
            && events[*of]["sort"] != "event"
            && events[*of].get("edit").is_some()
    });
    let before = before.filter(|_| event["sort"] != "event");
    let from = before.or(event["like"].as_u64().and_then(|place| usize::try_from(place).ok()));
    let mut object = from.map_or(Value::Null, |from| object_of(events, from));
    let list = |of: &Value| of.as_array().cloned().unwrap_or_default();
    let at = |object: &mut Value, path: &Value, set: Option<&Value>| {
        let mut keys = list(path);
        let Some(last) = keys.pop() else { return *object = set.cloned().unwrap_or_default() };
        let parent = keys.iter().fold(object, |object, key| &mut object[key.as_str().unwrap()]);
        match set {
            Some(value) => parent[last.as_str().unwrap()] = value.clone(),
            None => drop(parent.as_object_mut().unwrap().remove(last.as_str().unwrap())),
        }
    };
    list(&event["edit"]["unset"]).iter().for_each(|path| at(&mut object, path, None));
    list(&event["edit"]["set"]).iter().for_each(|set| at(&mut object, &set[0], Some(&set[1])));
    object
}

#[test]
fn every_version_can_be_rebuilt_from_the_edits() {
    let history = story();
    let timeline = Timeline::of(&history, &[]);
    let written = serde_json::to_value(&timeline).unwrap();
    let mut rebuilt = 0;
    for (index, entry) in history.history.entries.iter().enumerate() {
        if let What::Object(recorded) = &entry.what {
            assert_eq!(object_of(&written["events"], index), *recorded.object, "{index}");
            rebuilt += 1;
        }
    }
    assert_eq!(rebuilt, timeline.events.iter().filter(|event| event.edit.is_some()).count());
    let similar = timeline.events.iter().filter(|event| event.like.is_some()).count();
    assert_eq!(similar, 2, "the second pod and the canary are described by the first pod");
}
