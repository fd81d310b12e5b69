//! Webhooks of a local process, which the API server reaches by URL. The cluster's CA signs the certificate.

use k8s_openapi::ByteString;
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy)]
pub struct WebhookServer<'a> {
    pub port: u16,
    /// The cluster's CA, PEM.
    pub ca_bundle: &'a str,
}

impl WebhookServer<'_> {
    pub(crate) fn url(self, path: &str) -> String {
        format!("https://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn client_config(self, path: &str) -> Value {
        let bundle = ByteString(self.ca_bundle.as_bytes().to_vec());
        json!({"url": self.url(path), "caBundle": bundle})
    }

    /// Sets this server in the webhooks of an object, if it has any.
    pub(crate) fn set_in(self, configuration: &mut Value) {
        let webhooks = configuration.get_mut("webhooks").and_then(Value::as_array_mut);
        for webhook in webhooks.into_iter().flatten() {
            let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap_or_default().to_owned();
            webhook["clientConfig"] = self.client_config(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webhooks_have_a_url_instead_of_a_service() {
        let service = json!({"name": "s", "namespace": "n", "path": "/validate", "port": 443});
        let mut configuration = json!({"webhooks": [{"name": "a", "clientConfig": {"service": service}}]});
        WebhookServer { port: 4711, ca_bundle: "PEM" }.set_in(&mut configuration);
        let client = json!({"url": "https://127.0.0.1:4711/validate", "caBundle": "UEVN"});
        assert_eq!(configuration["webhooks"][0], json!({"name": "a", "clientConfig": client}));
        let mut other = json!({"kind": "Namespace"});
        WebhookServer { port: 1, ca_bundle: "" }.set_in(&mut other);
        assert_eq!(other, json!({"kind": "Namespace"}));
    }
}
