use conformance_contract::ruling::{Broken, Ruling};
use conformance_contract::violation::Code;
use conformance_history::{Change, History, SharedMark, Version};
use serde_json::Value;

use super::{Shown, none, violation};

const FOREIGN_FIELDS_LOST: Code = Code::new("foreign-fields-lost");

/// Requires that fields that other clients wrote are kept. `NotReached` if the history has no such write.
pub fn kept(history: &History) -> Ruling {
    let mut violations = Vec::new();
    let mut is_written = false;
    for (index, mark) in history.marks(SharedMark::WrittenByOthers) {
        is_written = true;
        let text = |key: &str| mark.detail[key].as_str().unwrap_or_default();
        let (kind, name, patch) = (text("kind"), text("name"), &mark.detail["patch"]);
        let has_fields = |version: &Version<'_>| contains(version.object, patch);
        let mut since = history
            .named(kind, name)
            .filter(|version| version.index > index && version.change != Change::Deleted)
            .skip_while(|version| !has_fields(version));
        let written = since.next().ok_or_else(|| {
            Broken::NotReached(format!(
                "the fields that another client wrote to {kind} {name} were never observed"
            ))
        })?;
        violations.extend(since.find(|version| !has_fields(version)).map(|lost| {
            violation(
                FOREIGN_FIELDS_LOST,
                format!("{kind} {name} lost fields that another client had written: {patch}"),
            )
            .shown_by("written", written)
            .shown_by("lost", lost)
        }));
    }
    if is_written {
        none(violations)
    } else {
        Err(Broken::NotReached("no other client wrote to an object".into()))
    }
}

fn contains(found: &Value, patch: &Value) -> bool {
    match (found, patch) {
        (found, Value::Object(fields)) => fields.iter().all(|(key, wanted)| contains(&found[key], wanted)),
        (Value::Array(found), Value::Array(wanted)) => wanted.iter().all(|entry| found.contains(entry)),
        (found, wanted) => found == wanted,
    }
}

#[cfg(test)]
mod tests {
    use conformance_history::testing::Story;
    use serde_json::json;

    use super::*;

    fn group(labels: Value, queue: &str) -> Value {
        json!({"kind": "PodGroup", "metadata": {"name": "g", "labels": labels, "finalizers": ["a", "b"]},
            "spec": {"queue": queue}})
    }

    fn ruling(versions: Vec<Value>) -> Ruling {
        let patch = json!({"metadata": {"labels": {"x": "1"}, "finalizers": ["b"]}, "spec": {"queue": "q"}});
        let mark = json!({"kind": "PodGroup", "name": "g", "patch": patch});
        let story = Story::flat().added(group(json!({}), "p")).mark(SharedMark::WrittenByOthers, mark);
        kept(&versions.into_iter().fold(story, Story::modified).end())
    }

    #[test]
    fn fields_of_others_are_kept_when_the_backend_writes() {
        let versions = vec![
            group(json!({}), "p"),
            group(json!({"x": "1"}), "q"),
            group(json!({"x": "1", "y": "2"}), "q"),
        ];
        assert_eq!(ruling(versions), Ok(()));
    }

    #[rstest::rstest]
    #[case::label(group(json!({}), "q"))]
    #[case::changed(group(json!({"x": "2"}), "q"))]
    #[case::field(group(json!({"x": "1"}), "p"))]
    fn a_lost_field_of_others_is_a_violation(#[case] version: Value) {
        assert!(matches!(ruling(vec![group(json!({"x": "1"}), "q"), version]), Err(Broken::Violated(_))));
    }

    #[test]
    fn without_a_write_of_others_the_ruling_is_undecided() {
        assert!(matches!(ruling(vec![group(json!({}), "p")]), Err(Broken::NotReached(_))));
        assert!(matches!(kept(&Story::flat().end()), Err(Broken::NotReached(_))));
    }
}
