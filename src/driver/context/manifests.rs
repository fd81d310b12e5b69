use conformance_contract::names;
use conformance_contract::target::Target;
use conformance_expect as expect;
use conformance_expect::{Gang, schedulers};
use conformance_history::SharedMark;
use serde_json::{Value, json};

use super::{Stop, TestContext};
use crate::enrichment::enrich;

impl TestContext {
    /// Returns the PodCliqueSet `name` of the manifest, enriched and prepared for the nodes and the backend.
    pub fn manifest(&self, name: &str) -> Result<Value, Stop> {
        self.manifest_for(self.target, name)
    }

    pub fn manifest_for(&self, target: Target, name: &str) -> Result<Value, Stop> {
        let refused = |reason: String| Stop::Refused {
            action: format!("read the manifest of {}", self.case.id),
            reason,
        };
        let documents = grove_yaml::documents(self.case.manifest).map_err(|e| refused(e.to_string()))?;
        documents
            .into_iter()
            .find(|document| document["metadata"]["name"] == name)
            .map(|document| self.prepare_manifest_for(target, self.enriched(document)))
            .ok_or_else(|| refused(format!("the manifest has no document named {name}")))
    }

    fn enriched(&self, mut document: Value) -> Value {
        let on_kubelets = self.test_cluster.cluster.node_pools().size().is_some();
        enrich(&mut document, self.case.id, self.case.left_out, on_kubelets);
        document
    }

    /// Prepares a PodCliqueSet for the case's nodes and the target's backend. Keeps a backend that it names.
    pub fn prepare_manifest(&self, pcs: Value) -> Value {
        self.prepare_manifest_for(self.target, pcs)
    }

    /// Like [`TestContext::prepare_manifest`], but the pods request only what they request in the manifest.
    pub fn prepare_as_written(&self, pcs: Value) -> Value {
        self.assigned_to(self.target, pcs)
    }

    fn prepare_manifest_for(&self, target: Target, mut pcs: Value) -> Value {
        schedulers::of(target).add_requests(&mut pcs);
        self.assigned_to(target, pcs)
    }

    fn assigned_to(&self, target: Target, mut pcs: Value) -> Value {
        pcs["metadata"]["namespace"] = self.namespace.clone().into();
        schedulers::of(target).assign(&mut pcs);
        let slot = self.test_cluster.cluster.node_pools().slots().filter(|_| self.is_limited_by_pods());
        for clique in pcs["spec"]["template"]["cliques"].as_array_mut().into_iter().flatten() {
            let pod = &mut clique["spec"]["podSpec"];
            pod["nodeSelector"][names::POOL] = self.namespace.clone().into();
            let toleration = json!({"key": names::POOL, "value": self.namespace, "effect": "NoSchedule"});
            match pod["tolerations"].as_array_mut() {
                Some(tolerations) => tolerations.push(toleration),
                None => pod["tolerations"] = json!([toleration]),
            }
            if let Some(slot) = slot {
                for amounts in ["requests", "limits"] {
                    pod["containers"][0]["resources"][amounts][slot] = "1".into();
                }
            }
        }
        pcs
    }

    pub fn document(&self, kind: &str, name: &str) -> Result<Value, Stop> {
        let refused = |reason: String| Stop::Refused {
            action: format!("read the manifest of {}", self.case.id),
            reason,
        };
        let documents =
            grove_yaml::documents(self.case.manifest).map_err(|error| refused(error.to_string()))?;
        let is_wanted = |document: &Value| document["kind"] == kind && document["metadata"]["name"] == name;
        let found = documents.into_iter().find(is_wanted);
        let mut found = found.ok_or_else(|| refused(format!("the manifest has no {kind} {name}")))?;
        found["metadata"]["namespace"] = self.namespace.clone().into();
        Ok(found)
    }

    pub async fn submit(&mut self, name: &str) -> Result<Vec<Gang>, Stop> {
        let pcs = self.manifest(name)?;
        self.submit_value(pcs).await
    }

    /// Records that the case submitted this object. Returns whether the name is new.
    pub fn submitted(&mut self, name: &str, object: &Value) -> bool {
        self.submitted.insert(name.to_owned(), object.clone()).is_none()
    }

    pub async fn submit_value(&mut self, pcs: Value) -> Result<Vec<Gang>, Stop> {
        let name = pcs["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        self.submitted.insert(name.clone(), pcs.clone());
        self.mark(SharedMark::Submitted, json!({"name": name}));
        self.create("PodCliqueSet", &pcs).await?;
        Ok(expect::gangs(&pcs))
    }
}
