//! Validates a user's workload at the API server before the case starts. Namespaced objects are sent as dry
//! runs. Cluster-scoped objects are created, because admission of a PodCliqueSet may read them. A *companion*
//! is an object of the manifest that is not a PodCliqueSet.

use std::time::Instant;

use conformance_cluster::deploy;
use conformance_contract::names;
use conformance_contract::target::Target;
use conformance_driver::case::Case;
use conformance_driver::limits;
use conformance_driver::test_cluster::TestCluster;
use conformance_expect::schedulers;
use kube::core::Status;
use serde_json::{Value, json};

use crate::manifest::{Companion, Manifest};
use crate::trial_pods;
use crate::unknown_fields;
use crate::workload::WorkloadError;

const NAMESPACE: &str = "default";

/// Before it returns, deletes the companions that it has created.
pub async fn admitted(
    test_cluster: &TestCluster,
    case: &Case,
    targets: &[Target],
) -> Result<(), WorkloadError> {
    let manifest = Manifest::read(case.manifest)?;
    let client = &test_cluster.client;
    let mut created = Vec::new();
    let mut accepted = Ok(());
    for companion in &manifest.companions {
        let object = companion.in_namespace(NAMESPACE, &test_cluster.run);
        accepted = try_companion(test_cluster, companion, object, &mut created).await;
        if accepted.is_err() {
            break;
        }
    }
    if accepted.is_ok() {
        accepted = try_sets(test_cluster, &manifest, targets, !created.is_empty()).await;
    }
    if accepted.is_ok() {
        accepted = try_pods(test_cluster, &manifest, targets).await;
    }
    for object in created.iter().rev() {
        let deleted = deploy::delete(client, object).await;
        accepted = accepted.and(deleted.map_err(|error| WorkloadError::NoAnswer(error.to_string())));
    }
    accepted
}

/// Adds the fields that the user may have meant, if a PodCliqueSet is rejected because of unknown fields.
async fn with_suggestion(test_cluster: &TestCluster, reason: String) -> String {
    if !unknown_fields::has_unknown(&reason) {
        return reason;
    }
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "podcliquesets.grove.io"},
    });
    // Without the right to read CRDs, the reason stays as it is.
    let Ok(Some(crd)) = deploy::find(&test_cluster.client, &crd).await else { return reason };
    let suggestion = unknown_fields::suggestion(&reason, &crd, "v1alpha1").unwrap_or_default();
    reason + &suggestion
}

/// Creates a cluster-scoped companion. Sends any other companion as a dry run.
async fn try_companion(
    test_cluster: &TestCluster,
    companion: &Companion,
    object: Value,
    created: &mut Vec<Value>,
) -> Result<(), WorkloadError> {
    let (title, client) = (companion.title(), &test_cluster.client);
    if !companion.is_cluster_scoped() {
        let response = deploy::dry_run(client, &object).await;
        return if lacks_role(&response) { Ok(()) } else { answer(response, &title) };
    }
    let no_answer = |error: conformance_cluster::ClusterError| WorkloadError::NoAnswer(error.to_string());
    answer(deploy::dry_run(client, &object).await, &title)?;
    let existing = deploy::find(client, &object).await.map_err(no_answer)?;
    // An object with this run's label was created for the previous target and may still be terminating.
    if existing.is_some_and(|found| found["metadata"]["labels"][names::RUN] != *test_cluster.run) {
        return Err(WorkloadError::Taken(title));
    }
    let applied = deploy::apply_when_served(client, &object).await;
    created.push(object);
    applied.map_err(no_answer)
}

/// Whether the API server did not find the Role of a RoleBinding. It reads the Role if the user has no right to
/// `bind`, and the Roles of the manifest do not exist yet.
fn lacks_role(response: &Result<(), kube::Error>) -> bool {
    let Err(kube::Error::Api(status)) = response else { return false };
    let is_role = status.details.as_ref().is_some_and(|found| matches!(&*found.kind, "role" | "roles"));
    status.code == 404 && is_role
}

async fn try_sets(
    test_cluster: &TestCluster,
    manifest: &Manifest,
    targets: &[Target],
    has_new_companions: bool,
) -> Result<(), WorkloadError> {
    for (_, set) in &manifest.sets {
        for target in targets {
            let mut set = set.clone();
            set["metadata"]["namespace"] = NAMESPACE.into();
            schedulers::of(*target).assign(&mut set);
            let what = match manifest.sets.len() {
                1 => target.to_string(),
                _ => {
                    format!("PodCliqueSet {}, {target}", set["metadata"]["name"].as_str().unwrap_or_default())
                }
            };
            try_set(test_cluster, &set, &what, has_new_companions).await?;
        }
    }
    Ok(())
}

/// Retries a refusal for a while if companions are new, because the operator may not have seen them yet.
async fn try_set(
    test_cluster: &TestCluster,
    set: &Value,
    what: &str,
    has_new_companions: bool,
) -> Result<(), WorkloadError> {
    let begin = Instant::now();
    loop {
        let response = deploy::dry_run(&test_cluster.client, set).await;
        let limit = test_cluster.speed.extended(limits::COMPANIONS.length, begin);
        if !has_new_companions || !may_change(&response) || begin.elapsed() > limit {
            return match answer(response, what) {
                Err(WorkloadError::Rejected(reason)) => {
                    Err(WorkloadError::Rejected(with_suggestion(test_cluster, reason).await))
                }
                decided => decided,
            };
        }
        tokio::time::sleep(limits::PACE).await;
    }
}

/// Sends a pod of each clique as a dry run. In an existing cluster, the namespace's policies may reject it.
async fn try_pods(
    test_cluster: &TestCluster,
    manifest: &Manifest,
    targets: &[Target],
) -> Result<(), WorkloadError> {
    let inherits_priority = targets.iter().any(|target| schedulers::of(*target).reads_priority_of_pods());
    let cluster = &test_cluster.cluster;
    if cluster.local().is_none() && cluster.kind().is_none() {
        return Ok(());
    }
    for (_, set) in &manifest.sets {
        for (clique, mut pod) in trial_pods::of(set, NAMESPACE, inherits_priority) {
            // The API server of kind requires that the account exists. Those of the manifest do not exist yet.
            if cluster.kind().is_some() {
                remove_account_of(manifest, &mut pod);
            }
            let response = deploy::dry_run(&test_cluster.client, &pod).await;
            answer(response, &format!("a pod of clique {clique}"))?;
        }
    }
    Ok(())
}

fn remove_account_of(manifest: &Manifest, pod: &mut Value) {
    const ACCOUNT: &str = "serviceAccountName";
    let Some(spec) = pod["spec"].as_object_mut() else { return };
    let name = spec.get(ACCOUNT).and_then(Value::as_str);
    if name.is_some_and(|name| manifest.has("ServiceAccount", name)) {
        spec.remove(ACCOUNT);
    }
}

/// Whether the response may change once the operator has seen the companions.
fn may_change(response: &Result<(), kube::Error>) -> bool {
    let Err(kube::Error::Api(status)) = response else { return false };
    is_rejection(status) && !status.is_already_exists() && !deploy::is_refused_by_schema(status)
}

fn is_rejection(status: &Status) -> bool {
    (400..500).contains(&status.code) && status.code != 429
}

fn answer(response: Result<(), kube::Error>, what: &str) -> Result<(), WorkloadError> {
    match response {
        Ok(()) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        Err(kube::Error::Api(status)) => match status.code {
            404 => Err(WorkloadError::Rejected(format!(
                "the API server does not serve this apiVersion ({what}): use another apiVersion, or pass \
                 another --kubernetes"
            ))),
            _ if is_rejection(&status) => {
                let advice = advice(&status.message);
                Err(WorkloadError::Rejected(format!("{} ({what}){advice}", status.message)))
            }
            _ => Err(WorkloadError::NoAnswer(format!("{} ({what})", status.message))),
        },
        Err(error) => Err(WorkloadError::NoAnswer(error.to_string())),
    }
}

/// The expected and the found type in a message of the API server, which does not contain the value, and advice.
const WRONG_TYPES: [(&str, &str); 5] = [
    (r#"string: "boolean""#, ": write y, n, yes, no, on, off, true and false in quotes"),
    (r#"string: "integer""#, ": write the number in quotes"),
    (r#"string: "number""#, ": write the number in quotes"),
    (r#"integer,string: "number""#, ": write the number in quotes"),
    (r#"integer: "string""#, ": write the number without quotes"),
];

fn advice(message: &str) -> &'static str {
    let is_in_message = |types: &str| message.contains(&format!("must be of type {types}"));
    WRONG_TYPES.iter().find(|(types, _)| is_in_message(types)).map_or("", |(_, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(code: u16) -> Result<(), kube::Error> {
        let reason = if code == 409 { "AlreadyExists" } else { "Reason" };
        let status = Status::failure("no such class", reason).with_code(code);
        Err(kube::Error::Api(Box::new(status)))
    }

    #[test]
    fn only_a_rejection_is_the_fault_of_the_manifest() {
        assert!(answer(Ok(()), "w").is_ok());
        assert!(answer(response(409), "w").is_ok(), "the name is taken in another namespace");
        let message = |code: u16| answer(response(code), "Secret s").unwrap_err().to_string();
        assert_eq!(message(422), "rejected at admission: no such class (Secret s)");
        assert!(message(404).contains("does not serve this apiVersion"), "{}", message(404));
        assert!(matches!(answer(response(503), "w"), Err(WorkloadError::NoAnswer(_))));
    }

    #[rstest::rstest]
    #[case::role(json!({"code": 404, "details": {"name": "r", "kind": "roles"}}), true)]
    #[case::cluster_role(json!({"code": 404, "details": {"name": "r", "kind": "clusterroles"}}), false)]
    #[case::not_served(json!({"code": 404}), false)]
    #[case::missing_right(json!({"code": 403, "details": {"name": "r", "kind": "roles"}}), false)]
    fn a_role_binding_may_precede_its_role(#[case] status: Value, #[case] is_accepted: bool) {
        let status: Status = serde_json::from_value(status).unwrap();
        assert_eq!(lacks_role(&Err(kube::Error::Api(Box::new(status)))), is_accepted);
        assert!(!lacks_role(&Ok(())));
    }

    #[rstest::rstest]
    #[case::boolean("string: \"boolean\"", ": write y, n, yes, no, on, off, true and false in quotes")]
    #[case::number("string: \"integer\"", ": write the number in quotes")]
    #[case::fraction("integer,string: \"number\"", ": write the number in quotes")]
    #[case::text("integer: \"string\"", ": write the number without quotes")]
    #[case::mapping("string: \"object\"", "")]
    fn the_remedy_for_a_wrong_type_is_named(#[case] types: &str, #[case] expected: &str) {
        let message = format!(
            "PodCliqueSet \"w\" is invalid: spec.x: Invalid value: spec.x in body must be of type {types}"
        );
        assert_eq!(advice(&message), expected);
    }

    #[test]
    fn only_an_account_that_the_manifest_creates_may_be_missing() {
        let manifest = "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: w}\n---\napiVersion: v1\n\
                        kind: ServiceAccount\nmetadata: {name: mine}\n";
        let manifest = Manifest::read(manifest).unwrap();
        for (account, is_kept) in [("mine", false), ("other", true)] {
            let mut pod = json!({"spec": {"serviceAccountName": account}});
            remove_account_of(&manifest, &mut pod);
            assert_eq!(pod["spec"]["serviceAccountName"] == account, is_kept, "{account}");
        }
    }

    #[rstest::rstest]
    #[case::admitted(Ok(()), false)]
    #[case::by_the_schema(response(422), false)]
    #[case::by_a_webhook(response(403), true)]
    #[case::no_decision(response(503), false)]
    #[case::too_many_requests(response(429), false)]
    #[case::exists_already(response(409), false)]
    fn a_refusal_by_the_schema_is_reported_at_once(
        #[case] found: Result<(), kube::Error>,
        #[case] is_retried: bool,
    ) {
        assert_eq!(may_change(&found), is_retried);
    }
}
