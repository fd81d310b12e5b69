//! A fake API server of a cluster with KAI, for tests.

use serde_json::{Value, json};

use crate::backend::made_up_api::MadeUpApi;

/// The CRDs that the suite installs in clusters without KAI, by path, as an API server returns them.
pub(super) fn crds() -> Vec<(String, Value)> {
    let crds =
        grove_yaml::documents(include_str!("../../../../../src/install/schedulers/kai/crds.yaml")).unwrap();
    let shown = crds.into_iter().map(|mut crd| {
        crd["status"] = json!({"conditions": [{"type": "Established", "status": "True"}]});
        let name = crd["metadata"]["name"].as_str().unwrap();
        (format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"), crd)
    });
    shown.collect()
}

pub(super) fn cluster(objects: &[(&str, Value)]) -> MadeUpApi {
    let crds = crds();
    let crds = crds.iter().map(|(path, crd)| (path.as_str(), crd.clone()));
    MadeUpApi::holding(crds.chain(objects.iter().cloned()))
}
