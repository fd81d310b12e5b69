//! Who bound which pod: the API server writes an audit log of bindings, of all requests of those that run TrainJobs, and of
//! nothing else.
//!
//! The history shows that a pod got a node, the audit log who requested it; each scheduler has its own user. A line
//! is written when the request is answered, moments after a watch has shown the pod.

use std::path::Path;

use serde_json::{Value, json};

use crate::ClusterError;

/// Name of the log in a cluster's folder.
pub(super) const FILE: &str = "audit.log";

/// One successful `pods/binding` request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The pod's name.
    pub pod: String,
    /// Who asked.
    pub user: String,
}

/// A request that the API server refused for want of rights.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forbidden {
    /// Who asked.
    pub user: String,
    /// What for, as `verb resource`.
    pub action: String,
}

/// The audit policy: bindings, and what these users ask.
pub(super) fn policy(users: &[&str]) -> Value {
    let mut rules = vec![
        json!({"level": "Metadata", "verbs": ["create"], "resources": [{"group": "", "resources": ["pods/binding"]}]}),
    ];
    if !users.is_empty() {
        rules.push(json!({"level": "Metadata", "users": users}));
    }
    rules.push(json!({"level": "None"}));
    json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": rules,
    })
}

/// Arguments of `kube-apiserver` that make it write the log, into one file however long it gets.
pub(super) fn args(policy: &Path, log: &Path) -> [String; 3] {
    [
        format!("--audit-policy-file={}", policy.display()),
        format!("--audit-log-path={}", log.display()),
        "--audit-log-maxsize=0".into(),
    ]
}

/// The bindings in a namespace, in the order of their requests. A last line that is being written is left out.
///
/// # Errors
/// [`ClusterError::File`].
pub(super) fn bindings(log: &Path, namespace: &str) -> Result<Vec<Binding>, ClusterError> {
    let text = match std::fs::read_to_string(log) {
        Ok(text) => text,
        // The first binding makes the file.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(ClusterError::File { path: log.into(), source }),
    };
    Ok(parse(&text, namespace))
}

/// The requests that were refused for want of rights, in any namespace, each once.
///
/// # Errors
/// [`ClusterError::File`].
pub(super) fn forbidden(log: &Path) -> Result<Vec<Forbidden>, ClusterError> {
    let text = std::fs::read_to_string(log).map_err(ClusterError::file(log))?;
    let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut found = Vec::new();
    for event in events.filter(|event| event["responseStatus"]["code"] == 403) {
        let field = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let action = format!("{} {}", field(&event["verb"]), field(&event["objectRef"]["resource"]));
        let one = Forbidden { user: field(&event["user"]["username"]), action };
        if !found.contains(&one) {
            found.push(one);
        }
    }
    Ok(found)
}

fn parse(text: &str, namespace: &str) -> Vec<Binding> {
    let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    events
        .filter(|event| {
            event["objectRef"]["subresource"] == "binding"
                && event["objectRef"]["namespace"] == namespace
                && event["responseStatus"]["code"] == 201
        })
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
    fn only_bindings_that_were_made_in_the_namespace_count() {
        let text =
            [line("a", "bound", 201), line("b", "elsewhere", 201), line("a", "refused", 409)].join("\n");
        let cut = format!("{text}\n{}", &line("a", "half", 201)[..40]);
        let bound = Binding { pod: "bound".into(), user: "system:volcano-scheduler".into() };
        assert_eq!(parse(&cut, "a"), [bound]);
    }

    #[test]
    fn a_cluster_where_nothing_was_bound_has_no_log_yet() {
        let folder = tempfile::tempdir().expect("folder");
        assert_eq!(bindings(&folder.path().join(FILE), "a").expect("no error"), []);
    }
}
