//! Creates the gang resources. An existing one is never patched, even if a field is mutable, and never
//! replaced, because that would change a live gang (KUBE-04, GANG-12). The controller has no permission to do
//! so. Objects of a former generation are deleted once its last pod has been deleted.

use std::sync::Arc;

use futures::future;
use grove_api::PodGang;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use kube::{Client, ResourceExt};
use serde_json::Value;

use super::plan::GangResources;
use super::workload_api;
use crate::backend::gang_objects::{Owner, owner};
use crate::backend::{BackendError, GangState, Synced, gang_objects};
use crate::cache::ownership::{is_kubernetes_finalizer, kept_by};

pub(super) async fn sync(
    client: &Client,
    gang: &GangState<'_>,
    plan: &GangResources,
    existing: &[Arc<DynamicObject>],
) -> Result<Synced, BackendError> {
    let pod_gang = gang.pod_gang;
    let mut warnings = Vec::new();
    let workload = ensure(client, pod_gang, &plan.version.workloads(), &plan.workload, existing).await?;
    warnings.extend(workload);
    let resource = workload_api::composite_pod_groups();
    for composite in &plan.composites {
        warnings.extend(ensure(client, pod_gang, &resource, composite, existing).await?);
    }
    let resource = plan.version.pod_groups();
    let pod_groups =
        plan.pod_groups.iter().map(|pod_group| ensure(client, pod_gang, &resource, pod_group, existing));
    warnings.extend(future::try_join_all(pod_groups).await?.into_iter().flatten());
    for (planned, resource) in [
        (&plan.pod_groups, plan.version.pod_groups()),
        (&plan.composites, workload_api::composite_pod_groups()),
    ] {
        gang_objects::prune_former(client, gang, &resource, planned, existing).await?;
    }
    Ok(Synced { warnings })
}

/// Creates the object, or returns the defect of the existing one.
async fn ensure(
    client: &Client,
    pod_gang: &PodGang,
    resource: &ApiResource,
    wanted: &DynamicObject,
    existing: &[Arc<DynamicObject>],
) -> Result<Option<String>, BackendError> {
    let name = wanted.name_any();
    let of_kind = |found: &&Arc<DynamicObject>| {
        found.types.as_ref().is_some_and(|types| types.kind == resource.kind) && found.name_any() == name
    };
    if let Some(found) = existing.iter().find(of_kind) {
        return inspect(resource, wanted, found);
    }
    let namespace = wanted.namespace().unwrap_or_default();
    let api = Api::<DynamicObject>::namespaced_with(client.clone(), &namespace, resource);
    let failed = |verb: &str, source| BackendError::Api {
        action: format!("{verb} {} {namespace}/{name}", resource.kind),
        source,
    };
    match api.create(&PostParams::default(), wanted).await {
        Ok(created) => inspect(resource, wanted, &created),
        // The cache lags, or another owner has the name.
        Err(kube::Error::Api(status)) if status.is_already_exists() => {
            let found = api.get(&name).await.map_err(|source| failed("get", source))?;
            let what = format!("{} {namespace}/{name}", resource.kind);
            match owner(&found, pod_gang) {
                Owner::PodGang => inspect(resource, wanted, &found),
                Owner::Predecessor if found.metadata.deletion_timestamp.is_some() => {
                    Err(deletion_blocker(what, &found))
                }
                Owner::Predecessor => Err(BackendError::Waiting(format!(
                    "{what} of a deleted PodGang with the same name must be deleted first"
                ))),
                // A create cannot restore the reference, and a running gang must not be disturbed (GANG-12).
                Owner::Absent if is_as_planned(wanted, &found) => Ok(Some(format!(
                    "{what} has lost its owner reference, which the operator cannot restore: \
                     delete this object and its PodGang"
                ))),
                Owner::Absent | Owner::Other => Err(BackendError::NameTaken(what)),
            }
        }
        Err(source) => Err(failed("create", source)),
    }
}

/// Kubernetes' own finalizer remains until the PodGroup's last pod is deleted. Others are reported after
/// that.
fn deletion_blocker(what: String, found: &DynamicObject) -> BackendError {
    let has_pods = found.finalizers().iter().any(|finalizer| is_kubernetes_finalizer(finalizer));
    match kept_by(found).filter(|_| !has_pods) {
        Some(finalizer) => BackendError::Kept { object: what, finalizer: finalizer.to_owned() },
        None => {
            BackendError::HeldByPods(format!("{what} of a deleted PodGang with the same name still has pods"))
        }
    }
}

fn is_as_planned(wanted: &DynamicObject, found: &DynamicObject) -> bool {
    difference("spec", &wanted.data["spec"], &found.data["spec"]).is_none()
}

/// Refuses an object that lacks its topology key: a required topology is never ignored (ADM-09).
fn inspect(
    resource: &ApiResource,
    wanted: &DynamicObject,
    found: &DynamicObject,
) -> Result<Option<String>, BackendError> {
    let constraints = |object: &DynamicObject| object.data["spec"]["schedulingConstraints"].is_object();
    if constraints(wanted) && !constraints(found) {
        return Err(BackendError::Refused(format!(
            "{} {} has no schedulingConstraints; kube-apiserver drops them while its feature gate \
             TopologyAwareWorkloadScheduling is off",
            resource.kind,
            found.name_any()
        )));
    }
    Ok(defect(resource, wanted, found))
}

fn defect(resource: &ApiResource, wanted: &DynamicObject, found: &DynamicObject) -> Option<String> {
    let what = format!("{} {}", resource.kind, found.name_any());
    if found.metadata.deletion_timestamp.is_some() {
        return Some(format!(
            "{what} is being deleted, but finalizers {:?} keep it until its pods are deleted; the operator \
             leaves the gang unchanged",
            found.finalizers()
        ));
    }
    let differs = |path: String| {
        format!(
            "{what} differs from the plan at {path}: the operator never patches it, so the gang stays \
             unchanged"
        )
    };
    let (wanted_spec, found_spec) = (&wanted.data["spec"], &found.data["spec"]);
    let in_spec = difference("spec", wanted_spec, found_spec).map(differs);
    let lost_label = || {
        let mut labels = wanted.labels().iter();
        let lost = labels.find(|(key, value)| found.labels().get(*key) != Some(value));
        lost.map(|(key, _)| {
            format!(
                "label {key} of {what} was removed or changed: the label does not affect scheduling, \
                 and the operator does not restore it"
            )
        })
    };
    in_spec.or_else(lost_label)
}

/// Returns the path of the first planned field that differs. Fields that the API server adds do not count.
fn difference(path: &str, wanted: &Value, found: &Value) -> Option<String> {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => wanted.iter().find_map(|(key, value)| {
            let path = format!("{path}.{key}");
            match found.get(key) {
                // Earlier releases of this controller used the API's default. The field is immutable.
                _ if key == "disruptionMode" => None,
                Some(found) => difference(&path, value, found),
                // An API server with the gate WorkloadAwarePreemption off drops `priorityClassName`.
                None if key == "priorityClassName" => None,
                None => Some(path),
            }
        }),
        (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => {
            let mut pairs = wanted.iter().zip(found).enumerate();
            pairs.find_map(|(i, (wanted, found))| difference(&format!("{path}[{i}]"), wanted, found))
        }
        _ => (wanted != found).then(|| path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use grove_api::PodGangSpec;
    use http::{Method, Request, Response};
    use kube::client::Body;
    use serde_json::json;
    use tower_test::mock;

    use super::super::workload_api::Version;
    use super::*;

    fn object(value: Value) -> DynamicObject {
        serde_json::from_value(value).unwrap()
    }

    #[rstest::rstest]
    #[case::same(json!({"spec": {"min": 2, "topology": [{"key": "k"}]}}), None)]
    #[case::server_adds(json!({"spec": {"min": 2, "topology": [{"key": "k"}], "priority": 0}}), None)]
    #[case::created_before(
        json!({"spec": {"min": 2, "topology": [{"key": "k"}], "disruptionMode": {"single": {}}}}),
        None
    )]
    #[case::changed(
        json!({"spec": {"min": 3, "topology": [{"key": "k"}]}}),
        Some("PodGroup g differs from the plan at spec.min: the operator never patches it, so the gang \
              stays unchanged")
    )]
    #[case::list_cut(
        json!({"spec": {"min": 2, "topology": []}}),
        Some("PodGroup g differs from the plan at spec.topology: the operator never patches it, so the gang \
              stays unchanged")
    )]
    #[case::lost(
        json!({"spec": {"min": 2}}),
        Some("PodGroup g differs from the plan at spec.topology: the operator never patches it, so the gang \
              stays unchanged")
    )]
    fn differences_are_reported(#[case] mut found: Value, #[case] message: Option<&str>) {
        let wanted = json!({"metadata": {"name": "g"}, "spec": {
            "min": 2, "topology": [{"key": "k"}], "priorityClassName": "dropped with the gate off",
            "disruptionMode": {"all": {}}
        }});
        found["metadata"] = json!({"name": "g"});
        let defect = defect(&Version::V1Alpha2.pod_groups(), &object(wanted), &object(found));
        assert_eq!(defect.as_deref(), message);
    }

    #[test]
    fn a_dropped_topology_key_is_refused() {
        let constrained = json!({"metadata": {"name": "g"}, "spec": {
            "schedulingConstraints": {"topology": [{"key": "rack"}]}
        }});
        let dropped = json!({"metadata": {"name": "g"}, "spec": {}});
        let inspect = |found: &Value| {
            inspect(&Version::V1Alpha2.pod_groups(), &object(constrained.clone()), &object(found.clone()))
        };
        assert!(matches!(inspect(&constrained), Ok(None)));
        assert!(matches!(inspect(&dropped), Err(BackendError::Refused(_))));
    }

    async fn ensured_with_existing(found: Value) -> Result<Option<String>, BackendError> {
        let (service, mut handle) = mock::pair::<Request<Body>, Response<Body>>();
        tokio::spawn(async move {
            while let Some((request, send)) = handle.next_request().await {
                let taken =
                    json!({"kind": "Status", "status": "Failure", "reason": "AlreadyExists", "code": 409});
                let (code, answer) = match *request.method() {
                    Method::GET => (200, &found),
                    _ => (409, &taken),
                };
                let answer = Body::from(serde_json::to_vec(answer).unwrap());
                send.send_response(Response::builder().status(code).body(answer).unwrap());
            }
        });
        let mut pod_gang = PodGang::new("g", PodGangSpec::default());
        pod_gang.metadata.uid = Some("mine".to_owned());
        let wanted = object(json!({"metadata": {"name": "g", "namespace": "ns"}, "spec": {"min": 2}}));
        let client = Client::new(service, "default");
        ensure(&client, &pod_gang, &Version::V1Alpha2.workloads(), &wanted, &[]).await
    }

    fn taken_by(kind: &str, name: &str, uid: &str) -> Value {
        let owner = json!({"apiVersion": "v1", "kind": kind, "name": name, "uid": uid, "controller": true});
        json!({"metadata": {"name": "g", "namespace": "ns", "ownerReferences": [owner]}, "spec": {"min": 2}})
    }

    #[tokio::test]
    async fn a_lost_owner_reference_is_a_warning_if_the_spec_matches() {
        let unowned = |min| json!({"metadata": {"name": "g", "namespace": "ns"}, "spec": {"min": min}});
        let warning = ensured_with_existing(unowned(2)).await.unwrap().unwrap();
        assert!(warning.starts_with("Workload ns/g has lost its owner reference"), "{warning}");
        assert!(matches!(ensured_with_existing(unowned(3)).await, Err(BackendError::NameTaken(_))));
    }

    #[tokio::test]
    async fn an_object_of_another_owner_blocks_the_name() {
        assert_eq!(ensured_with_existing(taken_by("PodGang", "g", "mine")).await.unwrap(), None);
        let before = ensured_with_existing(taken_by("PodGang", "g", "before")).await;
        assert!(matches!(before, Err(BackendError::Waiting(_))), "{before:?}");
        let mut deleting = taken_by("PodGang", "g", "before");
        deleting["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let held = ensured_with_existing(deleting.clone()).await;
        assert!(matches!(held, Err(BackendError::HeldByPods(_))), "{held:?}");
        deleting["metadata"]["finalizers"] = json!(["example.com/review", "example.com/audit"]);
        let kept = ensured_with_existing(deleting.clone()).await.unwrap_err();
        let wanted = "Workload ns/g is being deleted, but the finalizer example.com/review keeps it: remove \
                      the finalizer";
        assert_eq!(kept.to_string(), wanted);
        deleting["metadata"]["finalizers"] =
            json!(["scheduling.k8s.io/podgroup-protection", "example.com/review"]);
        let held = ensured_with_existing(deleting).await;
        assert!(matches!(held, Err(BackendError::HeldByPods(_))), "{held:?}");
        let other = ensured_with_existing(taken_by("Job", "g", "other")).await.unwrap_err();
        assert_eq!(
            other.to_string(),
            "Workload ns/g exists and is not controlled by this PodGang: delete \
             it, or rename the PodCliqueSet"
        );
        assert!(matches!(other, BackendError::NameTaken(_)));
    }

    #[test]
    fn an_object_that_is_being_deleted_is_reported() {
        let found = json!({"metadata": {
            "name": "g", "deletionTimestamp": "2026-01-01T00:00:00Z",
            "finalizers": ["scheduling.k8s.io/podgroup-protection"],
        }});
        let wanted = json!({"metadata": {"name": "g"}, "spec": {}});
        let defect = defect(&Version::V1Alpha2.pod_groups(), &object(wanted), &object(found)).unwrap();
        assert!(defect.contains("podgroup-protection"), "{defect}");
    }
}
