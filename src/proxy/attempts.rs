//! Counts the attempts of each write, so that a rule can disturb some of them and let the others pass.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::target::Target;

#[derive(Debug, Default)]
pub(crate) struct Attempts(BTreeMap<Write, u64>);

/// Identifies a write by object and field paths, not by values: a retry may contain another time.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Write {
    resource: String,
    namespace: Option<String>,
    name: Option<String>,
    fields: BTreeSet<String>,
}

impl Attempts {
    /// Counts an attempt, and returns whether to disturb it: whether its number has an odd number of ones in
    /// binary (Thue-Morse). This disturbs about half of the attempts, and at most two in a row. The same is
    /// true of every second attempt, so two alternating writes also get through.
    pub(crate) fn is_disturbed(&mut self, target: &Target, body: &[u8]) -> bool {
        let number = self.0.entry(Write::of(target, body)).or_default();
        *number += 1;
        !number.count_ones().is_multiple_of(2)
    }
}

impl Write {
    fn of(target: &Target, body: &[u8]) -> Self {
        let mut fields = BTreeSet::new();
        match serde_json::from_slice(body) {
            Ok(Value::Array(operations)) => {
                let paths = operations.iter().filter_map(|operation| operation["path"].as_str());
                fields.extend(paths.map(str::to_owned));
            }
            Ok(object) => collect(&object, "", &mut fields),
            Err(_) => {}
        }
        let Target { resource, namespace, name, .. } = target.clone();
        Self { resource, namespace, name, fields }
    }
}

/// Collects the paths of all fields. The entries of a list share one path.
fn collect(value: &Value, path: &str, fields: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            // managedFields contains the field names of other writes.
            for (name, member) in members.iter().filter(|(name, _)| *name != "managedFields") {
                collect(member, &format!("{path}/{name}"), fields);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().for_each(|item| collect(item, &format!("{path}/*"), fields));
        }
        _ => drop(fields.insert(path.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn target(name: &str) -> Target {
        let path = format!("/apis/grove.io/v1alpha1/namespaces/ns/podcliques/{name}/status");
        Target::of(&http::Method::PATCH, &path.parse().unwrap())
    }

    fn disturbed(attempts: impl IntoIterator<Item = (&'static str, Value)>) -> Vec<bool> {
        let mut all = Attempts::default();
        let attempts = attempts.into_iter();
        attempts.map(|(name, body)| all.is_disturbed(&target(name), body.to_string().as_bytes())).collect()
    }

    fn counts(replicas: u64) -> Value {
        let condition = json!({"type": "Ready", "lastTransitionTime": replicas});
        json!({"status": {"replicas": replicas, "conditions": [condition]}})
    }

    #[test]
    fn at_most_two_attempts_of_a_write_in_a_row_are_disturbed() {
        let found = disturbed((0..1000).map(|number| ("c", counts(number))));
        assert_eq!(found[..8], [true, true, false, true, false, false, true, true]);
        let times = found.iter().filter(|is_disturbed| **is_disturbed).count();
        assert!((450..=550).contains(&times), "{times}");
        let every_second = |from: usize| found[from..].iter().step_by(2).copied().collect::<Vec<_>>();
        for row in [found.clone(), every_second(0), every_second(1)] {
            assert!(row.windows(3).all(|three| three.contains(&false)), "{row:?}");
        }
    }

    #[rstest::rstest]
    #[case::another_object(("d", counts(1)), true)]
    #[case::other_fields(("c", json!({"status": {"lastErrors": [{"code": "E"}]}})), true)]
    #[case::other_values(("c", counts(7)), false)]
    #[case::more_entries(("c", json!({"status": {"replicas": 1, "conditions": [
        {"type": "A", "lastTransitionTime": 1}, {"type": "B", "lastTransitionTime": 2}]}})), false)]
    #[case::as_json_patch(("c", json!([{"op": "replace", "path": "/status/replicas", "value": 1}])), true)]
    fn writes_of_other_fields_are_counted_separately(
        #[case] third: (&'static str, Value),
        #[case] is_first: bool,
    ) {
        let found = disturbed([("c", counts(1)), ("c", counts(2)), third]);
        assert_eq!(found, [true, true, is_first]);
    }

    #[test]
    fn the_paths_of_a_json_patch_are_its_fields() {
        let patch = |path: &str| json!([{"op": "replace", "path": path, "value": 1}]);
        let all = [patch("/a"), patch("/a"), patch("/b"), patch("/a")].map(|body| ("c", body));
        assert_eq!(disturbed(all), [true, true, true, false]);
    }
}
