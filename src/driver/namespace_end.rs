//! The progress of a namespace deletion. kube-controller-manager deletes the contents of a namespace in
//! several tries. After each incomplete try it waits longer, up to one minute or half of the longest grace
//! period of a pod. A deletion is stuck if one or two tries have changed nothing.

use conformance_history::Live;
use serde_json::Value;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Remaining objects except Events, which do not block the deletion: failing tries create new ones.
    left: usize,
    untouched: usize,
    finalizers: usize,
    /// Conditions of the namespace: type, status and message.
    conditions: Vec<(String, String, String)>,
    ending: bool,
}

impl Progress {
    pub(crate) fn of(namespace: Option<&Value>, contents: &Live) -> Option<Self> {
        let namespace = namespace?;
        let objects = || contents.all().filter(|object| object["kind"] != "Event");
        let is_ending = |object: &Value| object["metadata"]["deletionTimestamp"].is_string();
        let count = |list: &Value| list.as_array().map_or(0, Vec::len);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let conditions = namespace["status"]["conditions"].as_array();
        let fields = |condition: &Value| {
            (text(&condition["type"]), text(&condition["status"]), text(&condition["message"]))
        };
        Some(Self {
            left: objects().count(),
            untouched: objects().filter(|object| !is_ending(object)).count(),
            finalizers: objects().map(|object| count(&object["metadata"]["finalizers"])).sum::<usize>()
                + count(&namespace["metadata"]["finalizers"])
                + count(&namespace["spec"]["finalizers"]),
            conditions: conditions.into_iter().flatten().map(fields).collect(),
            ending: is_ending(namespace),
        })
    }

    pub(crate) fn is_further_than(&self, before: &Self) -> bool {
        self.left < before.left
            || self.untouched < before.untouched
            || self.finalizers < before.finalizers
            || self.conditions != before.conditions
            || self.ending != before.ending
    }

    pub(crate) fn describe(&self) -> String {
        let Self { left, untouched, finalizers, .. } = self;
        format!("{left} objects left, {untouched} of them not being deleted, {finalizers} finalizers")
    }
}

#[cfg(test)]
mod tests {
    use conformance_history::{Change, Recorded};
    use serde_json::json;

    use super::*;

    fn live(objects: &[Value]) -> Live {
        let mut live = Live::default();
        for object in objects {
            live.apply(&Recorded { change: Change::Added, object: object.clone().into() });
        }
        live
    }

    fn pod(name: &str, finalizers: &[&str], ending: bool) -> Value {
        let at = ending.then_some("2026-01-01T00:00:00Z");
        json!({"kind": "Pod", "metadata": {"name": name, "finalizers": finalizers, "deletionTimestamp": at}})
    }

    fn namespace(remaining: &str) -> Value {
        json!({"kind": "Namespace",
            "metadata": {"name": "ns", "resourceVersion": "1", "deletionTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"conditions": [
                {"type": "NamespaceContentRemaining", "status": "True", "message": remaining}]}})
    }

    #[rstest::rstest]
    #[case::nothing(namespace("2 pods"), &[pod("a", &["f"], true), pod("b", &[], false)], false)]
    #[case::an_event(
        namespace("2 pods"),
        &[pod("a", &["f"], true), pod("b", &[], false), json!({"kind": "Event", "metadata": {"name": "e"}})],
        false
    )]
    #[case::one_less(namespace("2 pods"), &[pod("a", &["f"], true)], true)]
    #[case::one_more(
        namespace("2 pods"),
        &[pod("a", &["f"], true), pod("b", &[], false), pod("c", &[], false)],
        false
    )]
    #[case::one_terminating(namespace("2 pods"), &[pod("a", &["f"], true), pod("b", &[], true)], true)]
    #[case::one_finalizer_less(namespace("2 pods"), &[pod("a", &[], true), pod("b", &[], false)], true)]
    #[case::another_try(namespace("1 pod"), &[pod("a", &["f"], true), pod("b", &[], false)], true)]
    fn a_deletion_progresses_if_objects_or_finalizers_disappear(
        #[case] space: Value,
        #[case] objects: &[Value],
        #[case] further: bool,
    ) {
        let before = live(&[pod("a", &["f"], true), pod("b", &[], false)]);
        let before = Progress::of(Some(&namespace("2 pods")), &before).unwrap();
        let after = Progress::of(Some(&space), &live(objects)).unwrap();
        assert_eq!(after.is_further_than(&before), further);
        assert_eq!(before.describe(), "2 objects left, 1 of them not being deleted, 2 finalizers");
        assert_eq!(Progress::of(None, &live(objects)), None);
    }
}
