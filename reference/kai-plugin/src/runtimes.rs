//! Reads the runtime of a TrainJob from the API server. A cache could lack a new one.

use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};
use serde_json::Value;

pub const GROUP: &str = "trainer.kubeflow.org";
pub const VERSION: &str = "v1alpha1";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference<'a> {
    pub kind: Kind,
    pub namespace: &'a str,
    pub name: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Namespaced,
    Cluster,
}

impl<'a> Reference<'a> {
    /// `None` if the TrainJob references another kind, which the trainer refuses.
    pub fn of(train_job: &'a Value, namespace: &'a str) -> Option<Self> {
        let reference = train_job.pointer("/spec/runtimeRef")?;
        if reference["apiGroup"].as_str().is_some_and(|group| group != GROUP) {
            return None;
        }
        let kind = match reference["kind"].as_str() {
            Some("ClusterTrainingRuntime") | None => Kind::Cluster,
            Some("TrainingRuntime") => Kind::Namespaced,
            Some(_) => return None,
        };
        Some(Self { kind, namespace, name: reference["name"].as_str()? })
    }
}

#[async_trait::async_trait]
pub trait Runtimes: Send + Sync {
    async fn get(&self, reference: Reference<'_>) -> Result<Option<Value>, kube::Error>;
}

#[async_trait::async_trait]
impl Runtimes for Client {
    async fn get(&self, reference: Reference<'_>) -> Result<Option<Value>, kube::Error> {
        let resource = |kind, plural| {
            ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, VERSION, kind), plural)
        };
        let api: Api<DynamicObject> = match reference.kind {
            Kind::Namespaced => {
                let resource = resource("TrainingRuntime", "trainingruntimes");
                Api::namespaced_with(self.clone(), reference.namespace, &resource)
            }
            Kind::Cluster => {
                let resource = resource("ClusterTrainingRuntime", "clustertrainingruntimes");
                Api::all_with(self.clone(), &resource)
            }
        };
        Ok(api.get_opt(reference.name).await?.map(|runtime| runtime.data))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[rstest::rstest]
    #[case::of_the_cluster(json!({"name": "r", "kind": "ClusterTrainingRuntime", "apiGroup": GROUP}), Some(Kind::Cluster))]
    #[case::of_the_namespace(json!({"name": "r", "kind": "TrainingRuntime", "apiGroup": GROUP}), Some(Kind::Namespaced))]
    #[case::by_default(json!({"name": "r"}), Some(Kind::Cluster))]
    #[case::of_another_group(json!({"name": "r", "kind": "TrainingRuntime", "apiGroup": "x.io"}), None)]
    #[case::of_another_kind(json!({"name": "r", "kind": "Other"}), None)]
    #[case::no_name(json!({}), None)]
    fn a_reference_names_a_runtime_of_the_trainer(#[case] reference: Value, #[case] kind: Option<Kind>) {
        let train_job = json!({"spec": {"runtimeRef": reference}});
        let found = Reference::of(&train_job, "ns");
        assert_eq!(found.map(|found| found.kind), kind);
        assert!(found.is_none_or(|found| found == Reference { name: "r", namespace: "ns", ..found }));
    }
}
