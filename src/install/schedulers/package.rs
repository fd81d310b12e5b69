use serde_json::Value;

use super::deployed::Deployed;

#[derive(Debug)]
pub struct Package {
    /// The name of the Helm release. Some charts use it in names of objects.
    pub release: &'static str,
    /// The namespace of the Helm release, which may differ from the namespace of the pods.
    pub namespace: &'static str,
    /// The default chart: an OCI reference, or its name in `repository`.
    pub chart: &'static str,
    pub repository: Option<&'static str>,
    pub version: &'static str,
    pub values: fn() -> Value,
    pub deployed: Deployed,
}
