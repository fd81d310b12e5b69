use serde_json::{Value, json};

use crate::backend::fake_api::FakeApi;

/// The CRDs that the suite installs in clusters without KAI, by path.
pub(super) fn crds() -> Vec<(String, Value)> {
    let crds =
        grove_yaml::documents(include_str!("../../../../../src/install/schedulers/kai/crds.yaml")).unwrap();
    let by_path = crds.into_iter().map(|mut crd| {
        crd["status"] = json!({"conditions": [{"type": "Established", "status": "True"}]});
        let name = crd["metadata"]["name"].as_str().unwrap();
        (format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"), crd)
    });
    by_path.collect()
}

pub(super) fn cluster(objects: &[(&str, Value)]) -> FakeApi {
    let crds = crds();
    let crds = crds.iter().map(|(path, crd)| (path.as_str(), crd.clone()));
    FakeApi::with_objects(crds.chain(objects.iter().cloned()))
}
