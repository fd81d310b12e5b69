//! Creates a pod whose name the controller chooses. After a timeout or a lost connection, the controller
//! looks the pod up by its name. Otherwise it could create one pod too many.

use std::hash::{BuildHasher, RandomState};

use grove_api::names;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DynamicObject, PostParams};
use kube::{Client, ResourceExt};

use crate::context::error::ReconcileError;
use crate::context::writes;

/// The alphabet of Kubernetes for generated names: no vowels and no look-alikes.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;

pub(super) fn pod_name(pclq: &str) -> String {
    let mut random = RandomState::new().hash_one(pclq);
    let mut name = names::pod_generate_name(pclq);
    for _ in 0..SUFFIX_LENGTH {
        let letter = usize::try_from(random % ALPHABET.len() as u64).unwrap_or(0);
        name.push(char::from(ALPHABET[letter]));
        random /= ALPHABET.len() as u64;
    }
    name
}

/// Any error other than [`ReconcileError::Unsettled`] means that the pod was not created.
pub(super) async fn create(client: &Client, pod: &DynamicObject) -> Result<(), ReconcileError> {
    let (namespace, name) = (pod.namespace().unwrap_or_default(), pod.name_any());
    let failed = |source| ReconcileError::Api { action: format!("create Pod {namespace}/{name}"), source };
    let body = serde_json::to_vec(pod)?;
    match writes::send(client, writes::requests::<Pod>(pod).create(&PostParams::default(), body)).await {
        Ok(_) => Ok(()),
        Err(error) if is_ambiguous(&error) => {
            let Ok(found) = Api::<Pod>::namespaced(client.clone(), &namespace).get_metadata_opt(&name).await
            else {
                return Err(ReconcileError::Unsettled(format!("{namespace}/{name}")));
            };
            let ours = found.is_some_and(|found| found.owner_references() == pod.owner_references());
            if ours { Ok(()) } else { Err(failed(error)) }
        }
        Err(error) => Err(failed(error)),
    }
}

fn is_ambiguous(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => status.is_already_exists() || status.code >= 500,
        kube::Error::SerdeError(_) | kube::Error::BuildRequest(_) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use http::{Method, Request, Response};
    use kube::client::Body;
    use serde_json::{Value, json};
    use tower_test::mock;

    use super::*;
    use crate::plan::pod;

    async fn created(post: u16, reason: &str, found: Option<Value>) -> Result<(), ReconcileError> {
        let (service, mut handle) = mock::pair::<Request<Body>, Response<Body>>();
        let reason = reason.to_owned();
        tokio::spawn(async move {
            while let Some((request, send)) = handle.next_request().await {
                let status = |code: u16, reason: &str| {
                    let body = json!({"kind": "Status", "status": "Failure", "reason": reason, "code": code});
                    (code, body)
                };
                let (code, body) = match (request.method(), &found) {
                    (&Method::POST, _) => status(post, &reason),
                    (_, Some(found)) => (200, found.clone()),
                    (_, None) => status(404, "NotFound"),
                };
                let body = Body::from(serde_json::to_vec(&body).unwrap());
                send.send_response(Response::builder().status(code).body(body).unwrap());
            }
        });
        create(&Client::new(service, "default"), &wanted()).await
    }

    fn wanted() -> DynamicObject {
        let pcs = json!({"metadata": {"name": "wl"}, "spec": {"template": {"cliques": []}}});
        let pclq = json!({
            "metadata": {"name": "wl-0-a", "namespace": "ns", "uid": "uid-of-a"},
            "spec": {"podSpec": {"containers": []}, "replicas": 1},
        });
        let (pcs, pclq) = (serde_json::from_value(pcs).unwrap(), serde_json::from_value(pclq).unwrap());
        pod::pod(&pcs, &pclq, ("wl-0-a-xxxxx", 0), &[], "initc:test")
    }

    #[tokio::test]
    async fn a_pod_that_exists_despite_the_error_was_created() {
        let ours = serde_json::to_value(wanted()).unwrap();
        assert!(created(504, "Timeout", Some(ours)).await.is_ok());
    }

    #[tokio::test]
    async fn a_pod_that_does_not_exist_was_not_created() {
        assert!(matches!(created(504, "Timeout", None).await, Err(ReconcileError::Api { .. })));
        assert!(matches!(created(403, "Forbidden", None).await, Err(ReconcileError::Api { .. })));
    }

    #[tokio::test]
    async fn a_pod_of_another_owner_with_the_name_is_an_error() {
        let other = json!({"metadata": {"name": "wl-0-a-xxxxx"}, "spec": {}});
        let result = created(409, "AlreadyExists", Some(other)).await;
        assert!(matches!(result, Err(ReconcileError::Api { .. })), "{result:?}");
    }

    #[test]
    fn names_are_random_and_valid() {
        let names: std::collections::HashSet<_> = (0..50).map(|_| pod_name("wl-0-a")).collect();
        assert!(names.len() > 45, "{names:?}");
        let valid = |name: &String| name.len() == "wl-0-a-".len() + 5 && name.starts_with("wl-0-a-");
        assert!(names.iter().all(valid), "{names:?}");
    }
}
