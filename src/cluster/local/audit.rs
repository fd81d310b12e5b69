//! The audit log of the API server: which scheduler bound a pod, because each has its own user, and writes
//! that changed nothing or were rejected. A line appears moments after a watch has delivered the result.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use k8s_openapi::jiff::Timestamp;
use memchr::memmem;
use serde_json::{Value, json};

use crate::ClusterError;

pub(super) const FILE: &str = "audit.log";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    pub pod: String,
    pub user: String,
}

/// A request that the API server rejected because the user lacks rights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forbidden {
    pub user: String,
    pub action: String,
}

/// A write request of the operator, successful or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorWrite {
    /// `create`, `update`, `patch`, `delete` or `deletecollection`.
    pub verb: String,
    pub group: String,
    /// The plural, and the subresource after a slash.
    pub resource: String,
    pub name: String,
    pub code: u64,
    pub at: Timestamp,
}

/// Returns the audit policy. It records bindings, the writes of `operators`, and all requests of `audited`.
pub(super) fn policy(operators: &[String], audited: &[&str]) -> Value {
    let resources = |group: &str, names: &[&str]| json!({"group": group, "resources": names});
    // No clause covers writes to these resources.
    let excepted = [
        resources("", &["events"]),
        resources("events.k8s.io", &["events"]),
        resources("coordination.k8s.io", &["leases"]),
        resources("authentication.k8s.io", &[]),
        resources("authorization.k8s.io", &[]),
    ];
    let writes = ["create", "update", "patch", "delete", "deletecollection"];
    let mut rules = vec![
        json!({"level": "Metadata", "verbs": ["create"], "resources": [resources("", &["pods/binding"])]}),
    ];
    if !audited.is_empty() {
        rules.push(json!({"level": "Metadata", "users": audited}));
    }
    rules.extend([
        json!({"level": "None", "resources": excepted}),
        json!({"level": "Metadata", "users": operators, "verbs": writes}),
        json!({"level": "None"}),
    ]);
    json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": rules,
    })
}

/// Flags that make `kube-apiserver` write the log to one file of unlimited size.
pub(super) fn args(policy: &Path, log: &Path) -> [String; 3] {
    [
        format!("--audit-policy-file={}", policy.display()),
        format!("--audit-log-path={}", log.display()),
        "--audit-log-maxsize=0".into(),
    ]
}

pub(super) fn length(log: &Path) -> u64 {
    std::fs::metadata(log).map_or(0, |log| log.len())
}

/// Returns the bindings in a namespace after byte `from`, in the order of the requests. Skips an incomplete
/// last line.
pub(super) fn bindings(log: &Path, namespace: &str, from: u64) -> Result<Vec<Binding>, ClusterError> {
    Ok(bindings_in(&read(log, from)?, namespace))
}

/// Returns these users' requests that were rejected for missing rights, in any namespace, without duplicates.
pub(super) fn forbidden(log: &Path, users: &[&str]) -> Result<Vec<Forbidden>, ClusterError> {
    let text = read(log, 0)?;
    let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let is_of_users =
        |event: &Value| event["user"]["username"].as_str().is_some_and(|user| users.contains(&user));
    let mut found = Vec::new();
    for event in events.filter(|event| event["responseStatus"]["code"] == 403 && is_of_users(event)) {
        let field = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let action = format!("{} {}", field(&event["verb"]), field(&event["objectRef"]["resource"]));
        let request = Forbidden { user: field(&event["user"]["username"]), action };
        if !found.contains(&request) {
            found.push(request);
        }
    }
    Ok(found)
}

pub(super) fn operator_writes(
    log: &Path,
    operators: &[String],
    namespace: &str,
    since: Timestamp,
    from: u64,
) -> Result<Vec<OperatorWrite>, ClusterError> {
    Ok(writes_in(&read(log, from)?, operators, namespace, since))
}

/// Reads a log after byte `from`. Cases read logs often, and those of a long run are large.
pub(super) fn read(log: &Path, from: u64) -> Result<String, ClusterError> {
    let mut file = match File::open(log) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(String::new()),
        Err(source) => return Err(ClusterError::file(log)(source)),
    };
    let mut text = Vec::new();
    file.seek(SeekFrom::Start(from))
        .and_then(|_| file.read_to_end(&mut text))
        .map_err(ClusterError::file(log))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn events(text: &str, namespace: &str) -> impl Iterator<Item = Value> {
    // Skip lines of other cases, which are the majority, without parsing them.
    let finder = memmem::Finder::new(namespace).into_owned();
    let lines = text.lines().filter(move |line| finder.find(line.as_bytes()).is_some());
    let events = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events.filter(move |event| event["objectRef"]["namespace"] == namespace)
}

fn writes_in(text: &str, operators: &[String], namespace: &str, since: Timestamp) -> Vec<OperatorWrite> {
    let write = |event: Value| {
        let at: Timestamp = event["requestReceivedTimestamp"].as_str()?.parse().ok()?;
        let user = event["user"]["username"].as_str()?;
        if at < since || !operators.iter().any(|operator| operator == user) {
            return None;
        }
        let field = |key: &str| event["objectRef"][key].as_str().unwrap_or_default().to_owned();
        let subresource = field("subresource");
        let slash = if subresource.is_empty() { "" } else { "/" };
        Some(OperatorWrite {
            verb: event["verb"].as_str().unwrap_or_default().to_owned(),
            group: field("apiGroup"),
            resource: format!("{}{slash}{subresource}", field("resource")),
            name: field("name"),
            code: event["responseStatus"]["code"].as_u64().unwrap_or_default(),
            at,
        })
    };
    events(text, namespace).filter_map(write).collect()
}

fn bindings_in(text: &str, namespace: &str) -> Vec<Binding> {
    let is_binding = |event: &Value| event["objectRef"]["subresource"] == "binding";
    events(text, namespace)
        .filter(|event| is_binding(event) && event["responseStatus"]["code"] == 201)
        .filter_map(|event| {
            let pod = event["objectRef"]["name"].as_str()?.to_owned();
            Some(Binding { pod, user: event["user"]["username"].as_str()?.to_owned() })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(namespace: &str, pod: &str, code: u16) -> String {
        let user = json!({"username": "system:volcano-scheduler"});
        let object =
            json!({"resource": "pods", "subresource": "binding", "namespace": namespace, "name": pod});
        json!({"kind": "Event", "user": user, "objectRef": object, "responseStatus": {"code": code}})
            .to_string()
    }

    #[test]
    fn only_successful_bindings_in_the_namespace_count() {
        let text =
            [line("a", "bound", 201), line("b", "elsewhere", 201), line("a", "refused", 409)].join("\n");
        let cut = format!("{text}\n{}", &line("a", "half", 201)[..40]);
        let bound = Binding { pod: "bound".into(), user: "system:volcano-scheduler".into() };
        assert_eq!(bindings_in(&cut, "a"), [bound]);
    }

    #[test]
    fn rejected_writes_of_the_operator_count_too() {
        let line = |user: &str, second: u32, name: &str, code: u16| {
            let object = json!({"resource": "podgangs", "subresource": "status", "apiGroup": "scheduler.grove.io",
                "namespace": "a", "name": name});
            json!({"verb": "patch", "user": {"username": user}, "objectRef": object, "responseStatus": {"code": code},
                "requestReceivedTimestamp": format!("2026-01-01T00:00:{second:02}.000001Z")})
            .to_string()
        };
        let text = [
            line("operator", 1, "before", 200),
            line("operator", 2, "idle", 200),
            line("another-user", 3, "another", 200),
            line("operator", 4, "refused", 409),
        ];
        let since = "2026-01-01T00:00:02Z".parse().expect("a time");
        let found = writes_in(&text.join("\n"), &["operator".to_owned()], "a", since);
        let writes: Vec<_> = found.iter().map(|write| (write.name.as_str(), write.code)).collect();
        assert_eq!(writes, [("idle", 200), ("refused", 409)]);
        assert_eq!((found[0].verb.as_str(), found[0].resource.as_str()), ("patch", "podgangs/status"));
    }

    #[test]
    fn a_missing_log_has_no_bindings() {
        let folder = tempfile::tempdir().expect("folder");
        assert_eq!(bindings(&folder.path().join(FILE), "a", 0).expect("no error"), []);
    }

    #[test]
    fn only_the_log_since_the_start_of_a_case_is_read() {
        let folder = tempfile::tempdir().expect("folder");
        let log = folder.path().join(FILE);
        let text = |pods: &[&str]| pods.iter().map(|pod| line("a", pod, 201) + "\n").collect::<String>();
        std::fs::write(&log, text(&["before"])).expect("written");
        let from = length(&log);
        std::fs::write(&log, text(&["before", "after"])).expect("written");
        let bound = |from| {
            let bindings = bindings(&log, "a", from).expect("no error");
            bindings.into_iter().map(|binding| binding.pod).collect::<Vec<_>>()
        };
        assert_eq!(bound(0), ["before", "after"]);
        assert_eq!(bound(from), ["after"]);
    }
}
