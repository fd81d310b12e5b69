//! Finds a value of the wrong type in a manifest, before other code reads or changes it. YAML reads `yes` as a
//! boolean, and `"2"` as text. The API server rejects such values too, but its message contains only types.

use conformance_history::list;
use serde_json::Value;

#[derive(Debug, thiserror::Error)]
#[error("{path} is {found}, expected {expected}")]
pub struct WrongType {
    path: String,
    found: String,
    expected: &'static str,
}

#[derive(Debug, Clone, Copy)]
enum Type {
    Mapping,
    List,
    Text,
    Number,
}

/// `[]` stands for each entry of a list, and `{}` for each value of a mapping.
const OF_ALL: [(&str, Type); 6] = [
    ("metadata.labels", Type::Mapping),
    ("metadata.labels{}", Type::Text),
    ("metadata.annotations", Type::Mapping),
    ("metadata.annotations{}", Type::Text),
    ("data{}", Type::Text),
    ("stringData{}", Type::Text),
];

const OF_SET: [(&str, Type); 14] = [
    ("spec", Type::Mapping),
    ("spec.replicas", Type::Number),
    ("spec.template", Type::Mapping),
    ("spec.template.priorityClassName", Type::Text),
    ("spec.template.cliques", Type::List),
    ("spec.template.cliques[]", Type::Mapping),
    ("spec.template.podCliqueScalingGroups", Type::List),
    ("spec.template.podCliqueScalingGroups[]", Type::Mapping),
    ("spec.template.podCliqueScalingGroups[].name", Type::Text),
    ("spec.template.podCliqueScalingGroups[].replicas", Type::Number),
    ("spec.template.podCliqueScalingGroups[].minAvailable", Type::Number),
    ("spec.template.podCliqueScalingGroups[].cliqueNames", Type::List),
    ("spec.template.podCliqueScalingGroups[].cliqueNames[]", Type::Text),
    ("spec.template.podCliqueScalingGroups[].scaleConfig", Type::Mapping),
];

const OF_CLIQUE: [(&str, Type); 16] = [
    ("name", Type::Text),
    ("labels", Type::Mapping),
    ("labels{}", Type::Text),
    ("annotations", Type::Mapping),
    ("annotations{}", Type::Text),
    ("spec", Type::Mapping),
    ("spec.roleName", Type::Text),
    ("spec.replicas", Type::Number),
    ("spec.minAvailable", Type::Number),
    ("spec.podSpec", Type::Mapping),
    ("spec.podSpec.nodeSelector", Type::Mapping),
    ("spec.podSpec.nodeSelector{}", Type::Text),
    ("spec.podSpec.priorityClassName", Type::Text),
    ("spec.podSpec.schedulerName", Type::Text),
    ("spec.podSpec.volumes", Type::List),
    ("spec.podSpec.volumes[]", Type::Mapping),
];

const OF_CONTAINER: [(&str, Type); 8] = [
    ("name", Type::Text),
    ("image", Type::Text),
    ("command[]", Type::Text),
    ("args[]", Type::Text),
    ("env[].name", Type::Text),
    ("env[].value", Type::Text),
    ("resources", Type::Mapping),
    ("ports[].containerPort", Type::Number),
];

pub(crate) fn check(object: &Value, is_set: bool) -> Result<(), WrongType> {
    check_all(object, "", &OF_ALL)?;
    if !is_set {
        return Ok(());
    }
    check_all(object, "", &OF_SET)?;
    for (path, clique) in found(object, "", "spec.template.cliques[]") {
        check_all(clique, &path, &OF_CLIQUE)?;
        for containers in ["containers", "initContainers"] {
            let pattern = format!("spec.podSpec.{containers}");
            check_all(clique, &path, &[(pattern.as_str(), Type::List)])?;
            for (path, container) in found(clique, &path, &format!("{pattern}[]")) {
                is_of(Type::Mapping, &path, container)?;
                check_all(container, &path, &OF_CONTAINER)?;
            }
        }
    }
    Ok(())
}

fn check_all(object: &Value, at: &str, types: &[(&str, Type)]) -> Result<(), WrongType> {
    for (pattern, expected) in types {
        for (path, value) in found(object, at, pattern) {
            is_of(*expected, &path, value)?;
        }
    }
    Ok(())
}

fn is_of(expected: Type, path: &str, value: &Value) -> Result<(), WrongType> {
    let (is_expected, expected) = match expected {
        Type::Mapping => (value.is_object(), "a mapping"),
        Type::List => (value.is_array(), "a list"),
        Type::Text => (value.is_string(), "a string: write it in quotes"),
        Type::Number => (value.is_i64() || value.is_u64(), "a whole number without quotes"),
    };
    if is_expected || value.is_null() {
        return Ok(());
    }
    let found = match value {
        Value::Object(_) => "a mapping".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Bool(_) if is_secret(path) => "a boolean".to_owned(),
        Value::Number(_) if is_secret(path) => "a number".to_owned(),
        scalar => scalar.to_string(),
    };
    let expected = if matches!(value, Value::Object(_) | Value::Array(_)) {
        expected.split(':').next().unwrap_or(expected)
    } else {
        expected
    };
    Err(WrongType { path: path.to_owned(), found, expected })
}

/// Whether the value may be that of a Secret, which must not be printed.
fn is_secret(path: &str) -> bool {
    path.starts_with("data") || path.starts_with("stringData")
}

/// Returns the values at a pattern, each with its path.
fn found<'a>(object: &'a Value, at: &str, pattern: &str) -> Vec<(String, &'a Value)> {
    let mut found = vec![(at.to_owned(), object)];
    for part in pattern.split('.') {
        let name = part.trim_end_matches(['[', ']', '{', '}']);
        let mut next = Vec::new();
        for (path, value) in found {
            let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            let value = &value[name];
            if part.ends_with("[]") {
                let entries = list(value).iter().enumerate();
                next.extend(entries.map(|(index, entry)| (format!("{path}[{index}]"), entry)));
            } else if part.ends_with("{}") {
                let fields = value.as_object().into_iter().flatten();
                next.extend(fields.map(|(key, field)| (of_key(&path, key), field)));
            } else {
                next.push((path, value));
            }
        }
        found = next;
    }
    found
}

fn of_key(path: &str, key: &str) -> String {
    if key.contains(['.', '/']) { format!("{path}[{key:?}]") } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set() -> Value {
        let container =
            json!({"name": "main", "image": "i", "env": [{"name": "A", "value": "1"}], "resources": {}});
        let spec = json!({"replicas": 2, "minAvailable": null, "podSpec": {"containers": [container], "nodeSelector": {"gpu": ""}}});
        let clique = json!({"name": "a", "labels": {"team": "t"}, "spec": spec});
        let group = json!({"name": "sg", "replicas": 1, "cliqueNames": ["a"]});
        json!({
            "metadata": {"name": "w", "labels": {"a": "b"}, "annotations": null},
            "spec": {"replicas": 1, "template": {"cliques": [clique], "podCliqueScalingGroups": [group]}},
        })
    }

    fn message(at: &str, value: Value) -> Option<String> {
        let mut set = set();
        let (parent, field) = at.rsplit_once('/').unwrap();
        let parent = set.pointer_mut(parent).unwrap();
        match field.parse::<usize>() {
            Ok(index) => parent[index] = value,
            Err(_) => parent[field] = value,
        }
        check(&set, true).err().map(|error| error.to_string())
    }

    const CLIQUE: &str = "/spec/template/cliques/0";

    #[rstest::rstest]
    #[case("/spec/replicas", json!("2"), "spec.replicas is \"2\", expected a whole number without quotes")]
    #[case("/spec/replicas", json!(1.5), "spec.replicas is 1.5, expected a whole number")]
    #[case("/spec/template", json!([]), "spec.template is a list, expected a mapping")]
    #[case("/spec/template/cliques", json!({"a": 1}), "spec.template.cliques is a mapping, expected a list")]
    #[case(CLIQUE, json!("worker"), "spec.template.cliques[0] is \"worker\", expected a mapping")]
    #[case("/metadata/annotations", json!([]), "metadata.annotations is a list, expected a mapping")]
    #[case("/metadata/labels/b.c", json!(1), "metadata.labels[\"b.c\"] is 1, expected a string: write it in quotes")]
    #[case(
        "/spec/template/podCliqueScalingGroups/0/cliqueNames/0", json!(true),
        "spec.template.podCliqueScalingGroups[0].cliqueNames[0] is true, expected a string"
    )]
    fn a_value_of_the_wrong_type_is_named(#[case] at: &str, #[case] value: Value, #[case] expected: &str) {
        let message = message(at, value).unwrap_or_default();
        assert!(message.starts_with(expected), "{message}");
    }

    #[rstest::rstest]
    #[case("/name", json!(true), "name is true, expected a string: write it in quotes")]
    #[case("/labels/version", json!(1), "labels.version is 1, expected a string")]
    #[case("/spec/podSpec", json!("pod"), "spec.podSpec is \"pod\", expected a mapping")]
    #[case("/spec/podSpec/containers", json!("main"), "spec.podSpec.containers is \"main\", expected a list")]
    #[case("/spec/podSpec/initContainers", json!(["a"]), "spec.podSpec.initContainers[0] is \"a\", expected a mapping")]
    #[case("/spec/podSpec/nodeSelector/gpu", json!(true), "spec.podSpec.nodeSelector.gpu is true")]
    #[case("/spec/podSpec/containers/0/resources", json!("1"), "spec.podSpec.containers[0].resources is \"1\"")]
    #[case(
        "/spec/podSpec/containers/0/env/0/value", json!(8080),
        "spec.podSpec.containers[0].env[0].value is 8080, expected a string: write it in quotes"
    )]
    #[case("/spec/podSpec/containers/0/args", json!([{"a": 1}]), "spec.podSpec.containers[0].args[0] is a mapping, expected a string")]
    fn a_value_of_a_clique_is_named_with_its_path(
        #[case] at: &str,
        #[case] value: Value,
        #[case] expected: &str,
    ) {
        let message = message(&format!("{CLIQUE}{at}"), value).unwrap_or_default();
        assert!(message.starts_with(&format!("spec.template.cliques[0].{expected}")), "{message}");
    }

    #[rstest::rstest]
    #[case(json!({"data": {"pin": 4711}}), "data.pin is a number, expected a string: write it in quotes")]
    #[case(json!({"stringData": {"a.b": true}}), "stringData[\"a.b\"] is a boolean, expected a string")]
    fn the_values_of_secrets_are_not_printed(#[case] secret: Value, #[case] expected: &str) {
        let message = check(&secret, false).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{message}");
    }

    #[test]
    fn missing_values_have_no_type() {
        assert!(check(&set(), true).is_ok());
        assert_eq!(message("/spec/template/cliques", Value::Null), None);
        assert_eq!(message(CLIQUE, Value::Null), None);
        assert!(check(&json!({"data": {"port": 80}}), false).is_err());
        assert!(check(&json!({"spec": "of another kind"}), false).is_ok());
    }
}
