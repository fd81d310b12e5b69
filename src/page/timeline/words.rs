//! Describes the change from one version of an object to the next, and its writer.

use conformance_history::{Change, Version};
use serde::Serialize;
use serde_json::Value;

use super::edit::Edit;

/// The type of an event, which determines its symbol. The last variant that applies wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Sort {
    Changed,
    Event,
    Mark,
    /// A watch lost events.
    Gap,
    /// The Ready condition became true.
    Ready,
    Bound,
    /// The last scheduling gate of a pod was removed.
    Released,
    Created,
    /// The deletion was requested.
    Deleting,
    Deleted,
}

/// Fields that change with every write.
const NOISE: [&str; 4] = ["resourceVersion", "generation", "observedGeneration", "managedFields"];

/// Maximum number of fields that a description lists. A rewritten status has many.
const NAMED: usize = 4;

/// Describes a version by everything that changed, and returns its most important type.
pub(super) fn of_version(before: Option<&Value>, version: &Version<'_>, edit: &Edit<'_>) -> (Sort, String) {
    if version.change == Change::Deleted {
        return (Sort::Deleted, "deleted".to_owned());
    }
    let Some(before) = before else {
        let pod = version.pod();
        let gates = pod.gates();
        let gated = (!gates.is_empty()).then(|| format!(", gated by {}", gates.join(", ")));
        let bound = pod.node().filter(|_| version.kind() == "Pod").map(|node| format!(", bound to {node}"));
        let said = [gated, bound].into_iter().flatten().collect::<String>();
        return (Sort::Created, format!("created{said}"));
    };
    let (old, new) = (Version::of(before), version);
    let mut said: Vec<(Sort, String)> = Vec::new();
    if new.kind() == "Pod" {
        said.extend(gates(&old, new));
        if let (None, Some(node)) = (old.pod().node(), new.pod().node()) {
            said.push((Sort::Bound, format!("bound to {node}")));
        }
    }
    if !old.pod().is_terminating() && new.pod().is_terminating() {
        said.push((Sort::Deleting, "deletion requested".to_owned()));
    }
    said.extend(conditions(before, version.object));
    said.extend(fields(before, edit).map(|words| (Sort::Changed, words)));
    let sort = said.iter().map(|(sort, _)| *sort).max().unwrap_or(Sort::Changed);
    let words: Vec<String> = said.into_iter().map(|(_, words)| words).collect();
    match words.is_empty() {
        true => (sort, "written without a change".to_owned()),
        false => (sort, words.join("; ")),
    }
}

fn gates(old: &Version<'_>, new: &Version<'_>) -> Option<(Sort, String)> {
    let (old, new) = (old.pod().gates(), new.pod().gates());
    let lost: Vec<&str> = old.iter().filter(|gate| !new.contains(gate)).copied().collect();
    let sort = if new.is_empty() { Sort::Released } else { Sort::Changed };
    (!lost.is_empty()).then(|| (sort, format!("gate {} removed", lost.join(", "))))
}

/// Conditions whose status, reason or message changed.
fn conditions(old: &Value, new: &Value) -> Vec<(Sort, String)> {
    let known = |of_type: &Value| list(old).find(|condition| condition["type"] == *of_type);
    let turned = list(new).filter_map(|condition| {
        let before = known(&condition["type"]);
        let text = |field: &str| condition[field].as_str().unwrap_or_default();
        let same = |field: &str| before.is_some_and(|before| before[field] == condition[field]);
        if same("status") && same("reason") && same("message") {
            return None;
        }
        let is_ready = text("type") == "Ready" && text("status") == "True" && !same("status");
        let sort = if is_ready { Sort::Ready } else { Sort::Changed };
        let mut words = format!("{} {}", text("type"), text("status"));
        for (before, field) in [(", ", "reason"), (": ", "message")] {
            if !text(field).is_empty() {
                words.push_str(before);
                words.push_str(text(field));
            }
        }
        Some((sort, words))
    });
    turned.collect()
}

fn list(object: &Value) -> impl Iterator<Item = &Value> {
    object["status"]["conditions"].as_array().into_iter().flatten()
}

/// The other changed fields: scalars with their values, the rest only by path.
fn fields(before: &Value, edit: &Edit<'_>) -> impl Iterator<Item = String> {
    let is_told = |path: &[&str]| match path {
        ["metadata", "deletionTimestamp" | "deletionGracePeriodSeconds"] => true,
        ["spec", "nodeName" | "schedulingGates"] | ["status", "conditions"] => true,
        [.., last] => NOISE.contains(last),
        [] => false,
    };
    let set = edit.set.iter().filter(|(path, _)| !is_told(path)).map(|(path, value)| {
        let old = path.iter().fold(before, |object, key| &object[*key]);
        match (simple(old), simple(value)) {
            (Some(old), Some(new)) => format!("{} {old} → {new}", dotted(path)),
            (None, Some(new)) if old.is_null() => format!("{} {new}", dotted(path)),
            _ => format!("{} changed", dotted(path)),
        }
    });
    let unset =
        edit.unset.iter().filter(|path| !is_told(path)).map(|path| format!("{} removed", dotted(path)));
    let mut said: Vec<String> = set.chain(unset).collect();
    if said.len() > NAMED {
        let more = said.split_off(NAMED).len();
        said.push(format!("{more} more {}", if more == 1 { "field" } else { "fields" }));
    }
    said.into_iter()
}

fn simple(value: &Value) -> Option<String> {
    match value {
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::String(text) => Some(text.clone()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A path as text: `metadata.labels[grove.io/podgang]`.
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

/// The field managers whose entries differ from the previous version. Two writes of one manager within one
/// second cannot be distinguished.
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

/// Text and reporting component of a Kubernetes Event.
pub(super) fn of_event(event: &Value) -> (String, Option<String>) {
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let reason = text(&event["reason"]).unwrap_or_else(|| "Event".to_owned());
    let message = text(&event["message"]).map(|message| format!(": {message}")).unwrap_or_default();
    let times = event["count"].as_u64().filter(|count| *count > 1);
    let times = times.map(|count| format!(" ({count} times)")).unwrap_or_default();
    let by = text(&event["reportingComponent"]).or_else(|| text(&event["source"]["component"]));
    (format!("{reason}{message}{times}"), by)
}

/// Name of a mark, with the scalar fields of its detail.
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

    fn between(before: &Value, after: &Value) -> (Sort, String) {
        of_version(Some(before), &Version::of(after), &Edit::between(before, after))
    }

    fn pod(spec: Value, status: Value) -> Value {
        json!({"kind": "Pod", "metadata": {"name": "p"}, "spec": spec, "status": status})
    }

    #[test]
    fn a_pods_course_in_words() {
        let gated = pod(json!({"schedulingGates": [{"name": "g"}, {"name": "h"}]}), json!({}));
        let first = of_version(None, &Version::of(&gated), &Edit::whole(&gated));
        assert_eq!(first, (Sort::Created, "created, gated by g, h".into()));
        let half = pod(json!({"schedulingGates": [{"name": "h"}]}), json!({}));
        assert_eq!(between(&gated, &half), (Sort::Changed, "gate g removed".into()));
        let free = pod(json!({}), json!({}));
        assert_eq!(between(&half, &free), (Sort::Released, "gate h removed".into()));
        let why = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "too big"});
        let waits = pod(json!({}), json!({"conditions": [why]}));
        let said = "PodScheduled False, Unschedulable: too big; status.phase Pending";
        let mut pending = waits.clone();
        pending["status"]["phase"] = "Pending".into();
        assert_eq!(between(&free, &pending), (Sort::Changed, said.into()));
        let ready = json!({"type": "Ready", "status": "True"});
        let runs = pod(json!({"nodeName": "n"}), json!({"conditions": [ready], "phase": "Running"}));
        let (sort, words) = between(&pending, &runs);
        assert_eq!(
            (sort, words.as_str()),
            (Sort::Bound, "bound to n; Ready True; status.phase Pending → Running")
        );
        let mut going = runs.clone();
        going["metadata"]["deletionTimestamp"] = "2026-11-22T10:00:00Z".into();
        assert_eq!(between(&runs, &going), (Sort::Deleting, "deletion requested".into()));
        let gone = Version { change: Change::Deleted, ..Version::of(&going) };
        assert_eq!(of_version(Some(&runs), &gone, &Edit::default()), (Sort::Deleted, "deleted".into()));
    }

    #[test]
    fn what_is_long_is_named_and_counted() {
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
    fn the_writer_is_whose_entry_is_new() {
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
    fn a_mark_in_words(#[case] name: &str, #[case] detail: Value, #[case] words: &str) {
        assert_eq!(of_mark(name, &detail), words);
    }

    #[test]
    fn an_event_in_words() {
        let event = json!({"reason": "FailedScheduling", "message": "no room", "count": 3, "source": {"component": "s"}});
        assert_eq!(
            of_event(&event),
            ("FailedScheduling: no room (3 times)".to_owned(), Some("s".to_owned()))
        );
        assert_eq!(of_event(&json!({})), ("Event".to_owned(), None));
    }
}
