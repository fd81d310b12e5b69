//! Finds fields of a template that its pod lacks (GANG-16). List entries must keep their order, but others
//! may be in between. ADM-25 covers a user's values of fields that Grove sets.
//!
//! The API server omits an empty string, and a zero of a field that is not a pointer in its Go types
//! (`omitempty` in `k8s.io/api/core/v1/types.go`). Such values are not lost.

use conformance_contract::names;
use conformance_facts::quantity::amount;
use serde_json::Value;

/// Labels that Grove sets on every object, in addition to those with its own prefix.
const LABELS_SET_BY_GROVE: [&str; 4] =
    [names::MANAGED_BY, names::PART_OF, "app.kubernetes.io/name", "app.kubernetes.io/component"];
const GROVE_KEYS: &str = "grove.io/";
/// Grove sets variables with this prefix in every container, and overwrites the user's.
const VARIABLES: &str = "GROVE_";

/// Labels and annotations by which a backend names the gang resource of a pod. It overwrites the user's.
const MEMBERSHIPS: [&str; 4] = [
    "pod-group-name",
    "pod-group.scheduling.sigs.k8s.io",
    "scheduling.k8s.io/group-name",
    "scheduling.volcano.sh/group-name",
];

const ABSENT_IF_ZERO: [&str; 16] = [
    "chapAuthDiscovery",
    "chapAuthSession",
    "failureThreshold",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostPort",
    "initialDelaySeconds",
    "partition",
    "periodSeconds",
    "readOnly",
    "stdin",
    "stdinOnce",
    "successThreshold",
    "timeoutSeconds",
    "tty",
];

/// Fields for which the API server or Grove replaces an empty string or a zero by a default.
const DEFAULTED: [&str; 19] = [
    "apiVersion",
    "dnsPolicy",
    "failureThreshold",
    "hostPort",
    "imagePullPolicy",
    "path",
    "periodSeconds",
    "preemptionPolicy",
    "priorityClassName",
    "protocol",
    "pullPolicy",
    "restartPolicy",
    "scheme",
    "serviceAccount",
    "serviceAccountName",
    "successThreshold",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "timeoutSeconds",
];

/// Mappings with keys of the user, whose empty values the API server keeps.
const MAPPINGS: [&str; 2] = ["matchLabels", "nodeSelector"];

pub(super) fn path(template: &Value, pod: &Value) -> Option<String> {
    let of_metadata = ["labels", "annotations"].into_iter().find_map(|field| {
        let pairs = template[field].as_object().into_iter().flatten();
        let mut users = pairs.filter(|(key, _)| !is_set_by_grove(key));
        users.find_map(|(key, wanted)| {
            let found = &pod["metadata"][field][key.as_str()];
            let path =
                differs(wanted, found).filter(|_| found.is_null() || !MEMBERSHIPS.contains(&key.as_str()))?;
            Some(format!("metadata.{field}.{key}{path}"))
        })
    });
    of_metadata.or_else(|| {
        let fields = template["spec"]["podSpec"].as_object().into_iter().flatten();
        let mut kept = fields.filter(|(name, _)| !names::POD_FIELDS_OF_GROVE.contains(&name.as_str()));
        kept.find_map(|(name, wanted)| {
            lost(name, wanted, &pod["spec"][name.as_str()]).map(|path| format!("spec{path}"))
        })
    })
}

fn is_set_by_grove(key: &str) -> bool {
    LABELS_SET_BY_GROVE.contains(&key) || key.starts_with(GROVE_KEYS)
}

/// Returns the path of the first difference. The path starts with the field's name.
fn lost(name: &str, wanted: &Value, found: &Value) -> Option<String> {
    let path = match wanted {
        Value::Object(pairs) if MAPPINGS.contains(&name) => {
            let mut pairs = pairs.iter().filter(|(_, wanted)| !wanted.is_null());
            pairs.find(|(key, wanted)| found[key.as_str()] != **wanted).map(|(key, _)| format!(".{key}"))
        }
        _ if is_absent(name, wanted) && (found.is_null() || DEFAULTED.contains(&name)) => None,
        _ => differs(wanted, found),
    };
    path.map(|path| format!(".{name}{path}"))
}

fn is_absent(name: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Bool(is_set) => !is_set && ABSENT_IF_ZERO.contains(&name),
        Value::Number(number) => number.as_i64() == Some(0) && ABSENT_IF_ZERO.contains(&name),
        _ => false,
    }
}

pub(super) fn differs(wanted: &Value, found: &Value) -> Option<String> {
    match (wanted, found) {
        (Value::Object(fields), _) => {
            fields.iter().find_map(|(name, wanted)| lost(name, wanted, &found[name.as_str()]))
        }
        (Value::Array(entries), Value::Array(found)) => {
            let mut rest = found.iter();
            let kept =
                |entry: &&Value| entry["name"].as_str().is_none_or(|name| !name.starts_with(VARIABLES));
            let lost =
                entries.iter().filter(kept).find(|entry| !rest.any(|found| differs(entry, found).is_none()));
            lost.map(|entry| closest(entry, found))
        }
        (Value::Array(entries), _) => (!entries.is_empty()).then(String::new),
        (Value::Null, _) => None,
        _ => (wanted != found && !is_same_amount(wanted, found)).then(String::new),
    }
}

fn closest(entry: &Value, found: &[Value]) -> String {
    let Some(name) = entry["name"].as_str() else { return format!("[{entry}]") };
    let same_name = found.iter().find(|found| found["name"] == name);
    let part = same_name.and_then(|found| differs(entry, found));
    match (same_name, part) {
        (None, _) => format!("[{name}] is missing"),
        (Some(_), Some(part)) => format!("[{name}]{part}"),
        (Some(_), None) => format!("[{name}] is in another position"),
    }
}

/// Compares quantities by their amount, because the API server normalizes them.
fn is_same_amount(wanted: &Value, found: &Value) -> bool {
    amount(wanted).is_some_and(|wanted| Some(wanted) == amount(found))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn template() -> Value {
        json!({
            "name": "a",
            "labels": {"team": "t", "app.kubernetes.io/name": "mine", "grove.io/podclique": "mine"},
            "annotations": {"note": "n", "grove.io/topology-name": "mine"},
            "spec": {"podSpec": {
                "schedulingGates": [{"name": "example.com/own"}],
                "automountServiceAccountToken": false,
                "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "own", "operator": "Exists"}]}]}}},
                "tolerations": [{"key": "x", "operator": "Exists"}],
                "initContainers": [{"name": "first"}, {"name": "second"}],
                "containers": [
                    {"name": "main", "image": "i", "env": [{"name": "OWN", "value": "1"}, {"name": "GROVE_X", "value": "2"}],
                        "resources": {"limits": {"cpu": "1000m"}}},
                    {"name": "beside", "image": "j"},
                ],
            }},
        })
    }

    fn pod() -> Value {
        json!({
            "metadata": {
                "labels": {"team": "t", "grove.io/podclique": "w-0-a", "app.kubernetes.io/name": "w-0-a"},
                "annotations": {"note": "n"},
            },
            "spec": {
                "hostname": "w-0-a-0", "automountServiceAccountToken": false, "serviceAccountName": "default",
                "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [
                        {"key": "own", "operator": "Exists"}, {"key": "rack", "operator": "Exists"},
                    ]}]}}},
                "tolerations": [{"key": "y", "operator": "Exists"}, {"key": "x", "operator": "Exists", "effect": null}],
                "initContainers": [{"name": "grove-initc"}, {"name": "first"}, {"name": "second"}],
                "containers": [
                    {"name": "main", "image": "i", "terminationMessagePath": "/dev/termination-log",
                        "env": [{"name": "GROVE_X", "value": "3"}, {"name": "OWN", "value": "1"}],
                        "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}},
                    {"name": "beside", "image": "j"},
                ],
            },
        })
    }

    #[test]
    fn fields_that_grove_and_the_api_server_add_are_allowed() {
        assert_eq!(path(&template(), &pod()), None);
    }

    #[rstest::rstest]
    #[case::empty_string("/containers/0/env/0/value", json!(""), Value::Null)]
    #[case::empty_policy("/containers/0/imagePullPolicy", json!(""), json!("Always"))]
    #[case::false_flag("/hostNetwork", json!(false), Value::Null)]
    #[case::false_flag_in_a_list("/containers/0/tty", json!(false), Value::Null)]
    #[case::zero("/containers/0/initialDelaySeconds", json!(0), Value::Null)]
    #[case::defaulted_zero("/containers/0/periodSeconds", json!(0), json!(10))]
    fn a_value_like_an_absent_field_is_not_lost(
        #[case] at: &str,
        #[case] wanted: Value,
        #[case] stored: Value,
    ) {
        let (parent, field) = at.rsplit_once('/').unwrap();
        let (mut template, mut pod) = (template(), pod());
        let parent_of_pod = parent.replace("env/0", "env/1");
        template["spec"]["podSpec"].pointer_mut(parent).unwrap()[field] = wanted;
        pod["spec"].pointer_mut(&parent_of_pod).unwrap()[field] = stored;
        assert_eq!(path(&template, &pod), None);
    }

    #[rstest::rstest]
    #[case::empty_string("/containers/0/image", json!(""), json!("other"), "spec.containers[main].image")]
    #[case::false_flag("/hostNetwork", json!(false), json!(true), "spec.hostNetwork")]
    #[case::zero_behind_a_pointer("/runAsUser", json!(0), Value::Null, "spec.runAsUser")]
    #[case::selector("/nodeSelector", json!({"gpu": ""}), Value::Null, "spec.nodeSelector.gpu")]
    fn a_changed_or_stored_zero_is_lost(
        #[case] at: &str,
        #[case] wanted: Value,
        #[case] stored: Value,
        #[case] expected: &str,
    ) {
        let (parent, field) = at.rsplit_once('/').unwrap();
        let (mut template, mut pod) = (template(), pod());
        template["spec"]["podSpec"].pointer_mut(parent).unwrap()[field] = wanted;
        pod["spec"].pointer_mut(parent).unwrap()[field] = stored;
        assert_eq!(path(&template, &pod).as_deref(), Some(expected));
    }

    #[rstest::rstest]
    #[case::overwritten(json!("gang-0"), None)]
    #[case::dropped(Value::Null, Some("metadata.annotations.scheduling.k8s.io/group-name"))]
    fn a_backend_may_overwrite_the_membership(#[case] value: Value, #[case] wanted: Option<&str>) {
        let (mut template, mut pod) = (template(), pod());
        template["annotations"]["scheduling.k8s.io/group-name"] = "my-own-group".into();
        pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] = value;
        assert_eq!(path(&template, &pod).as_deref(), wanted);
    }

    #[rstest::rstest]
    #[case::image("/spec/containers/0/image", json!("other"), "spec.containers[main].image")]
    #[case::environment("/spec/containers/0/env", json!([]), "spec.containers[main].env[OWN] is missing")]
    #[case::resources("/spec/containers/0/resources/limits/cpu", json!("2"), "spec.containers[main].resources.limits.cpu")]
    #[case::label("/metadata/labels/team", Value::Null, "metadata.labels.team")]
    #[case::annotation("/metadata/annotations/note", json!("other"), "metadata.annotations.note")]
    #[case::toleration("/spec/tolerations", json!([]), "spec.tolerations[")]
    #[case::affinity(
        "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchExpressions",
        json!([{"key": "rack", "operator": "Exists"}]), "spec.affinity.nodeAffinity."
    )]
    #[case::flag("/spec/automountServiceAccountToken", Value::Null, "spec.automountServiceAccountToken")]
    #[case::order("/spec/initContainers", json!([{"name": "second"}, {"name": "first"}]), "[second] is in another position")]
    #[case::container("/spec/containers", json!([{"name": "main"}]), "spec.containers[main].env")]
    fn a_missing_or_changed_field_is_reported_with_its_path(
        #[case] field: &str,
        #[case] value: Value,
        #[case] wanted: &str,
    ) {
        let mut pod = pod();
        *pod.pointer_mut(field).unwrap() = value;
        let found = path(&template(), &pod).unwrap();
        assert!(found.contains(wanted), "{found}");
    }
}
