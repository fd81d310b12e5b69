use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::{Api, Client, Resource};
use serde_json::{Value, json};

use super::{CertificateError, CertificateObjects};

pub(super) struct Configurations(Vec<Named>);

struct Named {
    api: Api<DynamicObject>,
    name: &'static str,
}

impl Configurations {
    pub(super) fn new(client: &Client, kept: &CertificateObjects) -> Self {
        let mut all = named::<MutatingWebhookConfiguration>(client, kept.mutating);
        all.extend(named::<ValidatingWebhookConfiguration>(client, kept.validating));
        Self(all)
    }

    /// In a fixed order; `None` for a configuration that is not installed.
    pub(super) async fn read(&self) -> Result<Vec<Option<DynamicObject>>, CertificateError> {
        let mut found = Vec::with_capacity(self.0.len());
        for &Named { ref api, name } in &self.0 {
            found.push(api.get_opt(name).await.map_err(CertificateError::api("get", name))?);
        }
        Ok(found)
    }

    pub(super) async fn write_authority(
        &self,
        found: &[Option<DynamicObject>],
        bundle: &[u8],
    ) -> Result<(), CertificateError> {
        for (&Named { ref api, name }, found) in self.0.iter().zip(found) {
            let Some(patch) = found.as_ref().and_then(|found| patch(found, bundle)) else { continue };
            let patched = api.patch(name, &PatchParams::default(), &Patch::Strategic(&patch)).await;
            patched.map_err(CertificateError::api("patch", name))?;
            tracing::info!(configuration = name, "certificate authority written");
        }
        Ok(())
    }

    pub(super) fn absent(&self, found: &[Option<DynamicObject>]) -> Vec<&'static str> {
        let absent = self.0.iter().zip(found).filter(|(_, found)| found.is_none());
        absent.map(|(named, _)| named.name).collect()
    }
}

fn named<K: Resource<DynamicType = ()>>(client: &Client, names: &[&'static str]) -> Vec<Named> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::erase::<K>(&()));
    names.iter().map(|&name| Named { api: api.clone(), name }).collect()
}

/// A strategic merge patch, which merges webhooks by name. The resourceVersion detects a concurrent change.
fn patch(configuration: &DynamicObject, bundle: &[u8]) -> Option<Value> {
    let bundle = json!(ByteString(bundle.to_vec()));
    let webhooks = configuration.data["webhooks"].as_array()?;
    let outdated = webhooks.iter().filter(|webhook| webhook["clientConfig"]["caBundle"] != bundle);
    let patches: Vec<Value> = outdated
        .map(|webhook| json!({"name": webhook["name"], "clientConfig": {"caBundle": bundle}}))
        .collect();
    if patches.is_empty() {
        return None;
    }
    let version = &configuration.metadata.resource_version;
    Some(json!({"metadata": {"resourceVersion": version}, "webhooks": patches}))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In base64, `UEVN` is `PEM` and `T0xE` is `OLD`.
    #[rstest::rstest]
    #[case::current(json!([{"name": "a", "clientConfig": {"caBundle": "UEVN"}}]), &[])]
    #[case::absent(json!([{"name": "a", "clientConfig": {"service": {"name": "s"}}}]), &["a"])]
    #[case::old(json!([{"name": "a", "clientConfig": {"caBundle": "T0xE"}}]), &["a"])]
    #[case::one_of_two(
        json!([
            {"name": "a", "clientConfig": {"caBundle": "UEVN"}},
            {"name": "b", "clientConfig": {"caBundle": "T0xE"}},
        ]),
        &["b"]
    )]
    #[case::no_webhooks(json!([]), &[])]
    #[case::nothing(Value::Null, &[])]
    fn only_outdated_webhooks_are_patched(#[case] webhooks: Value, #[case] patched: &[&str]) {
        let configuration = json!({"metadata": {"name": "c", "resourceVersion": "7"}, "webhooks": webhooks});
        let patch = patch(&serde_json::from_value(configuration).unwrap(), b"PEM");
        let expected: Vec<_> =
            patched.iter().map(|name| json!({"name": name, "clientConfig": {"caBundle": "UEVN"}})).collect();
        let expected = json!({"metadata": {"resourceVersion": "7"}, "webhooks": expected});
        assert_eq!(patch, (!patched.is_empty()).then_some(expected));
    }
}
