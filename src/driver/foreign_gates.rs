use conformance_cluster::{ClusterError, deploy};
use conformance_contract::names::POD_CLIQUE;
use conformance_history::list;
use http::Method;
use serde_json::{Value, json};

use super::limits::REACTION;
use crate::context::{Awaited, Stop, TestContext};

/// CEL expression for pods that a PodClique owns. Canaries do not match, so they get no gate.
const IS_GROVES: &str = "has(object.metadata.ownerReferences) && \
                         object.metadata.ownerReferences.exists(owner, owner.kind == 'PodClique')";

impl TestContext {
    /// Gates every new pod of all PodCliques, or only of `clique`, in the namespace of the case.
    pub async fn add_foreign_gates(&self, clique: Option<&str>, gates: &[&str]) -> Result<(), Stop> {
        self.local()?;
        let name =
            clique.map_or_else(|| self.namespace.clone(), |clique| format!("{}-{clique}", self.namespace));
        let added: Vec<_> =
            gates.iter().map(|gate| format!("Object.spec.schedulingGates{{name: '{gate}'}}")).collect();
        let mutation = format!("Object{{spec: Object.spec{{schedulingGates: [{}]}}}}", added.join(", "));
        let is_of_clique = clique.map(|clique| {
            let label = format!("object.metadata.labels[?'{POD_CLIQUE}'].orValue('') == '{clique}'");
            json!({"name": "is-of-clique", "expression": label})
        });
        let is_groves = json!({"name": "is-groves", "expression": IS_GROVES});
        let conditions: Vec<_> = [is_groves].into_iter().chain(is_of_clique).collect();
        let policy = json!({
            "failurePolicy": "Fail", "reinvocationPolicy": "Never",
            "matchConstraints": {"resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]},
            ]},
            "matchConditions": conditions,
            "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": mutation}}],
        });
        let own_namespace = json!({"kubernetes.io/metadata.name": self.namespace});
        let binding = json!({
            "policyName": name,
            "matchResources": {"namespaceSelector": {"matchLabels": own_namespace}},
        });
        for (kind, spec) in [("MutatingAdmissionPolicy", policy), ("MutatingAdmissionPolicyBinding", binding)]
        {
            let object = json!({
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
                "metadata": {"name": name}, "spec": spec,
            });
            deploy::apply(&self.test_cluster.client, &object).await?;
        }
        let applied = Awaited::of_harness("an admission policy applied by the API server");
        self.poll_until(applied, REACTION, || async {
            Ok(self.would_be_gated(clique, gates).await?.then_some(()))
        })
        .await
    }

    async fn would_be_gated(&self, clique: Option<&str>, gates: &[&str]) -> Result<bool, Stop> {
        let action = "create a Pod (dry run)".to_owned();
        let owner =
            json!({"apiVersion": "grove.io/v1alpha1", "kind": "PodClique", "name": "none", "uid": "none"});
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {
                "name": "tried", "ownerReferences": [owner], "labels": {(POD_CLIQUE): clique.unwrap_or("none")},
            },
            "spec": {"containers": [{"name": "pause", "image": "registry.k8s.io/pause:3.10"}]},
        });
        let request = http::Request::builder()
            .method(Method::POST)
            .uri(format!("/api/v1/namespaces/{}/pods?dryRun=All", self.namespace))
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(pod.to_string().into_bytes());
        let request = request.map_err(|e| Stop::Refused { action: action.clone(), reason: e.to_string() })?;
        let answer = self.test_cluster.client.request::<Value>(request).await;
        let answer = answer.map_err(ClusterError::during(action))?;
        let added = list(&answer["spec"]["schedulingGates"]);
        Ok(gates.iter().all(|gate| added.iter().any(|added| added["name"] == *gate)))
    }
}
