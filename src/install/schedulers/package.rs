use serde_json::Value;

use super::deployed::Deployed;

#[derive(Debug)]
pub struct Package {
    /// Some charts name objects after it.
    pub release: &'static str,
    /// May differ from the namespace of the pods.
    pub namespace: &'static str,
    /// The default chart: an OCI reference, or its name in `repository`.
    pub chart: &'static str,
    pub repository: Option<&'static str>,
    pub version: &'static str,
    pub values: fn() -> Value,
    pub deployed: Deployed,
}
