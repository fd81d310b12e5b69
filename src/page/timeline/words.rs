use conformance_history::{Change, Version};
use serde::Serialize;
use serde_json::Value;

use super::edit::Edit;

/// What an event shows. If several kinds apply, the last one in this order counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum EventKind {
    Changed,
    Event,
    Mark,
    Gap,
    Ready,
    Bound,
    /// The last scheduling gate of a pod was removed.
    Released,
    Created,
    Deleting,
    Deleted,
}

const IGNORED: [&str; 4] = ["resourceVersion", "generation", "observedGeneration", "managedFields"];

/// Maximum number of fields in a description, because a rewritten status has many.
const NAMED: usize = 4;

pub(super) fn of_version(
    before: Option<&Value>,
    version: &Version<'_>,
    edit: &Edit<'_>,
) -> (EventKind, String) {
    if version.change == Change::Deleted {
        return (EventKind::Deleted, "deleted".to_owned());
    }
    let Some(before) = before else {
        let pod = version.pod();
        let gates = pod.gates();
        let gated = (!gates.is_empty()).then(|| format!(", gated by {}", gates.join(", ")));
        let bound = pod.node().filter(|_| version.kind() == "Pod").map(|node| format!(", bound to {node}"));
        let details = [gated, bound].into_iter().flatten().collect::<String>();
        return (EventKind::Created, format!("created{details}"));
    };
    let (old, new) = (Version::of(before), version);
    let mut changes: Vec<(EventKind, String)> = Vec::new();
    if new.kind() == "Pod" {
        changes.extend(gates(&old, new));
        if let (None, Some(node)) = (old.pod().node(), new.pod().node()) {
            changes.push((EventKind::Bound, format!("bound to {node}")));
        }
    }
    if !old.pod().is_terminating() && new.pod().is_terminating() {
        changes.push((EventKind::Deleting, "deletion requested".to_owned()));
    }
    changes.extend(conditions(before, version.object));
    changes.extend(fields(before, edit).map(|words| (EventKind::Changed, words)));
    let kind = changes.iter().map(|(kind, _)| *kind).max().unwrap_or(EventKind::Changed);
    let words: Vec<String> = changes.into_iter().map(|(_, words)| words).collect();
    match words.is_empty() {
        true => (kind, "written without a change".to_owned()),
        false => (kind, words.join("; ")),
    }
}

fn gates(old: &Version<'_>, new: &Version<'_>) -> Option<(EventKind, String)> {
    let (old, new) = (old.pod().gates(), new.pod().gates());
    let removed: Vec<&str> = old.iter().filter(|gate| !new.contains(gate)).copied().collect();
    let kind = if new.is_empty() { EventKind::Released } else { EventKind::Changed };
    (!removed.is_empty()).then(|| (kind, format!("gate {} removed", removed.join(", "))))
}

fn conditions(old: &Value, new: &Value) -> Vec<(EventKind, String)> {
    let known = |of_type: &Value| list(old).find(|condition| condition["type"] == *of_type);
    let changed = list(new).filter_map(|condition| {
        let before = known(&condition["type"]);
        let text = |field: &str| condition[field].as_str().unwrap_or_default();
        let same = |field: &str| before.is_some_and(|before| before[field] == condition[field]);
        if same("status") && same("reason") && same("message") {
            return None;
        }
        let is_ready = text("type") == "Ready" && text("status") == "True" && !same("status");
        let kind = if is_ready { EventKind::Ready } else { EventKind::Changed };
        let mut words = format!("{} {}", text("type"), text("status"));
        for (before, field) in [(", ", "reason"), (": ", "message")] {
            if !text(field).is_empty() {
                words.push_str(before);
                words.push_str(text(field));
            }
        }
        Some((kind, words))
    });
    changed.collect()
}

fn list(object: &Value) -> impl Iterator<Item = &Value> {
    object["status"]["conditions"].as_array().into_iter().flatten()
}

/// Describes the other changed fields: scalars with their values, other fields only by path.
fn fields(before: &Value, edit: &Edit<'_>) -> impl Iterator<Item = String> {
    let is_described_elsewhere = |path: &[&str]| match path {
        ["metadata", "deletionTimestamp" | "deletionGracePeriodSeconds"] => true,
        ["spec", "nodeName" | "schedulingGates"] | ["status", "conditions"] => true,
        [.., last] => IGNORED.contains(last),
        [] => false,
    };
    let set = edit.set.iter().filter(|(path, _)| !is_described_elsewhere(path)).map(|(path, value)| {
        let old = path.iter().fold(before, |object, key| &object[*key]);
        match (simple(old), simple(value)) {
            (Some(old), Some(new)) => format!("{} {old} → {new}", dotted(path)),
            (None, Some(new)) if old.is_null() => format!("{} {new}", dotted(path)),
            _ => format!("{} changed", dotted(path)),
        }
    });
    let unset = edit
        .unset
        .iter()
        .filter(|path| !is_described_elsewhere(path))
        .map(|path| format!("{} removed", dotted(path)));
    let mut words: Vec<String> = set.chain(unset).collect();
    if words.len() > NAMED {
        let more = words.split_off(NAMED).len();
        words.push(format!("{more} more {}", if more == 1 { "field" } else { "fields" }));
    }
    words.into_iter()
}

fn simple(value: &Value) -> Option<String> {
    match value {
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::String(text) => Some(text.clone()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn dotted(path: &[&str]) -> String {
    let mut text = String::new();
    for key in path {
        match key.contains('.') {
            true => text.push_str(&format!("[{key}]")),
            false if text.is_empty() => text.push_str(key),
            false => text.push_str(&format!(".{key}")),
        }
    }
    text
}

/// Returns the field managers whose entries changed. Two writes of one manager within a second look like one.
pub(super) fn writer(before: Option<&Value>, version: &Version<'_>) -> Option<String> {
    let entries =
        |object: &Value| object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let old = before.map(entries).unwrap_or_default();
    if version.change == Change::Deleted {
        return None;
    }
    let mut managers: Vec<String> = Vec::new();
    for entry in entries(version.object).iter().filter(|entry| !old.contains(entry)) {
        let manager = entry["manager"].as_str().unwrap_or_default().to_owned();
        if !manager.is_empty() && !managers.contains(&manager) {
            managers.push(manager);
        }
    }
    (!managers.is_empty()).then(|| managers.join(", "))
}

pub(super) fn of_event(event: &Value) -> (String, Option<String>) {
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let reason = text(&event["reason"]).unwrap_or_else(|| "Event".to_owned());
    let message = text(&event["message"]).map(|message| format!(": {message}")).unwrap_or_default();
    let times = event["count"].as_u64().filter(|count| *count > 1);
    let times = times.map(|count| format!(" ({count} times)")).unwrap_or_default();
    let by = text(&event["reportingComponent"]).or_else(|| text(&event["source"]["component"]));
    (format!("{reason}{message}{times}"), by)
}

pub(super) fn of_mark(name: &str, detail: &Value) -> String {
    let simple: Vec<String> = match detail {
        Value::Object(fields) => fields
            .iter()
            .filter_map(|(key, value)| Some(format!("{key} {}", simple(value)?)))
            .filter(|field| field.len() < 80)
            .take(NAMED)
            .collect(),
        other => simple(other).into_iter().collect(),
    };
    match simple.is_empty() {
        true => name.to_owned(),
        false => format!("{name} ({})", simple.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn between(before: &Value, after: &Value) -> (EventKind, String) {
        of_version(Some(before), &Version::of(after), &Edit::between(before, after))
    }

    fn pod(spec: Value, status: Value) -> Value {
        json!({"kind": "Pod", "metadata": {"name": "p"}, "spec": spec, "status": status})
    }

    #[test]
    fn the_changes_of_a_pod_are_described() {
        let gated = pod(json!({"schedulingGates": [{"name": "g"}, {"name": "h"}]}), json!({}));
        let first = of_version(None, &Version::of(&gated), &Edit::whole(&gated));
        assert_eq!(first, (EventKind::Created, "created, gated by g, h".into()));
        let half = pod(json!({"schedulingGates": [{"name": "h"}]}), json!({}));
        assert_eq!(between(&gated, &half), (EventKind::Changed, "gate g removed".into()));
        let free = pod(json!({}), json!({}));
        assert_eq!(between(&half, &free), (EventKind::Released, "gate h removed".into()));
        let why = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "too big"});
        let waits = pod(json!({}), json!({"conditions": [why]}));
        let words = "PodScheduled False, Unschedulable: too big; status.phase Pending";
        let mut pending = waits.clone();
        pending["status"]["phase"] = "Pending".into();
        assert_eq!(between(&free, &pending), (EventKind::Changed, words.into()));
        let ready = json!({"type": "Ready", "status": "True"});
        let runs = pod(json!({"nodeName": "n"}), json!({"conditions": [ready], "phase": "Running"}));
        let (kind, words) = between(&pending, &runs);
        assert_eq!(
            (kind, words.as_str()),
            (EventKind::Bound, "bound to n; Ready True; status.phase Pending → Running")
        );
        let mut going = runs.clone();
        going["metadata"]["deletionTimestamp"] = "2026-11-22T10:00:00Z".into();
        assert_eq!(between(&runs, &going), (EventKind::Deleting, "deletion requested".into()));
        let deleted = Version { change: Change::Deleted, ..Version::of(&going) };
        assert_eq!(
            of_version(Some(&runs), &deleted, &Edit::default()),
            (EventKind::Deleted, "deleted".into())
        );
    }

    #[test]
    fn only_the_first_changed_fields_are_listed() {
        let before = json!({"kind": "X", "spec": {"replicas": 1, "a": {}, "labels": {"x.y/z": "1"}}});
        let after =
            json!({"kind": "X", "spec": {"replicas": 2, "a": [1], "labels": {}, "b": 1, "c": 1, "d": 1}});
        let (_, words) = between(&before, &after);
        assert_eq!(words, "spec.a changed; spec.b 1; spec.c 1; spec.d 1; 2 more fields");
        let mut written = after.clone();
        written["metadata"] = json!({"resourceVersion": "7"});
        assert_eq!(between(&after, &written).1, "metadata changed");
        let mut again = written.clone();
        again["metadata"]["resourceVersion"] = "8".into();
        assert_eq!(between(&written, &again).1, "written without a change");
        assert_eq!(dotted(&["metadata", "labels", "x.y/z"]), "metadata.labels[x.y/z]");
    }

    #[test]
    fn the_writer_is_the_manager_with_a_new_entry() {
        let entry = |manager: &str, time: &str| json!({"manager": manager, "time": time});
        let with = |entries: Value| json!({"metadata": {"managedFields": entries}});
        let before = with(json!([entry("a", "1"), entry("b", "1")]));
        let after = with(json!([entry("a", "1"), entry("b", "2")]));
        let by = |before: Option<&Value>, after: &Value| writer(before, &Version::of(after));
        assert_eq!(by(None, &before).as_deref(), Some("a, b"));
        assert_eq!(by(Some(&before), &after).as_deref(), Some("b"));
        assert_eq!(by(Some(&after), &after), None, "twice within a second");
    }

    #[rstest::rstest]
    #[case("submitted", json!({"name": "short"}), "submitted (name short)")]
    #[case("scheduler passed", Value::Null, "scheduler passed")]
    #[case("baseline", json!([{"kind": "Service"}]), "baseline")]
    #[case("scaled", json!({"kind": "PodClique", "replicas": 2, "x": []}), "scaled (kind PodClique, replicas 2)")]
    fn a_mark_is_described_with_its_scalar_fields(
        #[case] name: &str,
        #[case] detail: Value,
        #[case] words: &str,
    ) {
        assert_eq!(of_mark(name, &detail), words);
    }

    #[test]
    fn an_event_is_described_with_its_reporter() {
        let event = json!({"reason": "FailedScheduling", "message": "no room", "count": 3, "source": {"component": "s"}});
        assert_eq!(
            of_event(&event),
            ("FailedScheduling: no room (3 times)".to_owned(), Some("s".to_owned()))
        );
        assert_eq!(of_event(&json!({})), ("Event".to_owned(), None));
    }
}
