//! Suggests the fields that a user meant, from a CRD's schema: the API server only names unknown ones.

use serde_json::Value;

/// The maximum number of letters that a misspelt field may differ in.
const MOST_EDITS: usize = 2;

/// Returns a suggestion for each unknown field in a message of the API server, such as `: did you mean replicas?`
pub(crate) fn suggestion(message: &str, crd: &Value, version: &str) -> Option<String> {
    let versions = crd["spec"]["versions"].as_array()?;
    let schema = &versions.iter().find(|known| known["name"] == version)?["schema"]["openAPIV3Schema"];
    let meant: Vec<&str> = unknown(message).filter_map(|path| nearest(schema, path)).collect();
    (!meant.is_empty()).then(|| format!(": did you mean {}?", meant.join(", ")))
}

pub(crate) fn has_unknown(message: &str) -> bool {
    unknown(message).next().is_some()
}

fn unknown(message: &str) -> impl Iterator<Item = &str> {
    message.split("unknown field \"").skip(1).filter_map(|rest| rest.split('"').next())
}

/// Returns the field of the same object whose name is the most similar.
fn nearest<'a>(schema: &'a Value, path: &str) -> Option<&'a str> {
    let (parents, field) = path.rsplit_once('.').unwrap_or(("", path));
    let mut schema = schema;
    for parent in parents.split('.').filter(|parent| !parent.is_empty()) {
        let name = parent.split('[').next().unwrap_or(parent);
        schema = &schema["properties"][name];
        if parent.ends_with(']') {
            schema = &schema["items"];
        }
    }
    let known = schema["properties"].as_object()?.keys().map(|known| (edits(known, field), known));
    let (least, known) = known.min()?;
    (least <= MOST_EDITS).then_some(known.as_str())
}

/// The number of letters to insert, delete or replace, regardless of upper and lower case.
fn edits(from: &str, to: &str) -> usize {
    let (from, to) = (from.to_ascii_lowercase(), to.to_ascii_lowercase());
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, letter) in from.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (place, other) in to.bytes().enumerate() {
            let replaced = diagonal + usize::from(letter != other);
            diagonal = row[place + 1];
            row[place + 1] = replaced.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn crd() -> Value {
        let clique =
            json!({"properties": {"name": {}, "spec": {"properties": {"replicas": {}, "minAvailable": {}}}}});
        let template = json!({"properties": {"cliques": {"type": "array", "items": clique}}});
        let spec = json!({"properties": {"replicas": {}, "template": template}});
        let schema = json!({"openAPIV3Schema": {"properties": {"spec": spec, "metadata": {}}}});
        json!({"spec": {"versions": [{"name": "v1alpha1", "schema": schema}]}})
    }

    #[rstest::rstest]
    #[case::in_a_list("spec.template.cliques[0].spec.replica", Some(": did you mean replicas?"))]
    #[case::upper_case("spec.template.cliques[10].spec.minavailable", Some(": did you mean minAvailable?"))]
    #[case::at_the_top("sepc", Some(": did you mean spec?"))]
    #[case::nothing_similar("spec.template.cliques[0].spec.strategy", None)]
    #[case::in_an_unknown_object("spec.tmplate.cliques", None)]
    #[case::of_an_object_without_schema("metadata.nam", None)]
    fn a_similar_field_is_suggested(#[case] path: &str, #[case] expected: Option<&str>) {
        let message = format!("strict decoding error: unknown field \"{path}\"");
        assert!(has_unknown(&message));
        assert_eq!(suggestion(&message, &crd(), "v1alpha1").as_deref(), expected);
        assert_eq!(suggestion(&message, &crd(), "v1"), None);
    }

    #[test]
    fn each_unknown_field_has_a_suggestion() {
        let message = "error: unknown field \"spec.replica\", unknown field \"spec.templates\" (w)";
        let expected = ": did you mean replicas, template?";
        assert_eq!(suggestion(message, &crd(), "v1alpha1").as_deref(), Some(expected));
        assert!(!has_unknown("spec.replicas: Invalid value: -1"));
    }

    #[rstest::rstest]
    #[case("replicas", "replicas", 0)]
    #[case("replicas", "replica", 1)]
    #[case("spec", "sepc", 2)]
    #[case("a", "", 1)]
    #[case("kitten", "sitting", 3)]
    fn edits_are_counted(#[case] from: &str, #[case] to: &str, #[case] expected: usize) {
        assert_eq!(edits(from, to), expected);
    }
}
