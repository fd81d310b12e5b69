//! Creates a pod exactly once.
//!
//! The name is chosen here and not by the API server, so that a request that ended in a timeout or a lost
//! connection can be settled: either the pod is there under that name, or it never was. Creating another one
//! on doubt would give the gang a pod too many.

use std::hash::{BuildHasher, RandomState};

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use kube::{Client, ResourceExt};

use crate::api::names;
use crate::controller::error::ReconcileError;

/// Characters of generated names, those Kubernetes uses: no vowels and nothing that looks like another.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
/// Generated characters per name.
const SUFFIX_LENGTH: usize = 5;

/// A fresh name for a pod of the PodClique: `<pclq>-` and five characters.
pub fn pod_name(pclq: &str) -> String {
    let mut random = RandomState::new().hash_one(pclq);
    let mut name = names::pod_generate_name(pclq);
    for _ in 0..SUFFIX_LENGTH {
        let letter = usize::try_from(random % ALPHABET.len() as u64).unwrap_or(0);
        name.push(char::from(ALPHABET[letter]));
        random /= ALPHABET.len() as u64;
    }
    name
}

/// Creates the pod.
///
/// # Errors
/// [`ReconcileError::Unsettled`] if it could not be found out whether it was created; with any other it was not.
pub async fn create(client: &Client, pod: &DynamicObject) -> Result<(), ReconcileError> {
    let (namespace, name) = (pod.namespace().unwrap_or_default(), pod.name_any());
    let resource = ApiResource::erase::<Pod>(&());
    let api = Api::<DynamicObject>::namespaced_with(client.clone(), &namespace, &resource);
    let failed = |source| ReconcileError::Api { action: format!("create Pod {namespace}/{name}"), source };
    match api.create(&PostParams::default(), pod).await {
        Ok(_) => Ok(()),
        Err(error) if is_ambiguous(&error) => {
            let Ok(found) = api.get_opt(&name).await else {
                return Err(ReconcileError::Unsettled(format!("{namespace}/{name}")));
            };
            let ours = found.is_some_and(|found| found.owner_references() == pod.owner_references());
            if ours { Ok(()) } else { Err(failed(error)) }
        }
        Err(error) => Err(failed(error)),
    }
}

/// Whether the pod may exist in spite of the error.
fn is_ambiguous(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => status.is_already_exists() || status.code >= 500,
        kube::Error::SerdeError(_) | kube::Error::BuildRequest(_) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_fresh_and_valid() {
        let names: std::collections::HashSet<_> = (0..50).map(|_| pod_name("wl-0-a")).collect();
        assert!(names.len() > 45, "{names:?}");
        let valid = |name: &String| name.len() == "wl-0-a-".len() + 5 && name.starts_with("wl-0-a-");
        assert!(names.iter().all(valid), "{names:?}");
    }
}
