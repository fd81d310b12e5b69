//! Creates the ResourceClaims that pods share. Their specs are immutable, so templates are read only at
//! creation. Claims outlive generations, and are deallocated with their last pod (TERM-12, TERM-20).

use std::collections::BTreeMap;

use futures::FutureExt;
use futures::future;
use grove_api::{PodClique, PodCliqueScalingGroup, PodCliqueSet, names};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use kube::{Resource, ResourceExt};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cache::caches::object_key;
use crate::cache::kinds::{ResourceClaim, ResourceClaimSpec};
use crate::cache::observed_pod::Pod;
use crate::cache::ownership::owner_reference;
use crate::context::Context;
use crate::context::children::{self, Children};
use crate::context::error::ReconcileError;
use crate::plan::patches;
use crate::plan::pod_clique_object::{position_of, template_of};
use crate::plan::resource_sharing::{self, Entry, SharedClaim, claims, config_of};

const REASON_FAILED: &str = "ResourceClaimFailed";

pub(super) async fn for_pod_clique_set(context: &Context, pcs: &PodCliqueSet) -> Result<(), ReconcileError> {
    let entries = resource_sharing::pcs_entries(&pcs.spec.template.resource_sharing);
    let replicas: Vec<i32> = (0..pcs.spec.replicas).collect();
    let label = |replica: Option<i32>| {
        let index = replica.map(|i| (names::LABEL_PCS_REPLICA_INDEX, i.to_string()));
        index.into_iter().collect()
    };
    ensure(context, pcs, pcs, &entries, &replicas, label).await
}

pub(super) async fn for_scaling_group(
    context: &Context,
    pcs: &PodCliqueSet,
    pcsg: &PodCliqueScalingGroup,
) -> Result<(), ReconcileError> {
    let index = pcsg.labels().get(names::LABEL_PCS_REPLICA_INDEX).and_then(|index| index.parse().ok());
    let Some(config) = config_of(pcs, &pcsg.name_any(), index.unwrap_or(0)) else { return Ok(()) };
    let entries = resource_sharing::group_entries(&config.resource_sharing);
    let replicas: Vec<i32> = (0..pcsg.spec.replicas).collect();
    let label = |replica: Option<i32>| {
        let index = replica.map(|j| (names::LABEL_SCALING_GROUP_REPLICA_INDEX, j.to_string()));
        index.into_iter().chain([(names::LABEL_SCALING_GROUP, pcsg.name_any())]).collect()
    };
    ensure(context, pcs, pcsg, &entries, &replicas, label).await
}

/// Also deletes claims that no pod needs. After a scale-in, pods of any index may remain, with their claims.
pub(super) async fn for_pod_clique<'a>(
    context: &Context,
    pcs: &PodCliqueSet,
    pclq: &PodClique,
    pods: impl Iterator<Item = &'a Pod>,
) -> Result<(), ReconcileError> {
    let Some(clique) = template_of(pcs, pclq) else { return Ok(()) };
    let entries = resource_sharing::clique_entries(&clique.resource_sharing);
    let index = |pod: &Pod| pod.labels().get(names::LABEL_POD_INDEX).and_then(|index| index.parse().ok());
    let mut replicas: Vec<i32> = (0..pclq.spec.replicas).chain(pods.filter_map(index)).collect();
    replicas.sort_unstable();
    replicas.dedup();
    let (_, group) = position_of(pclq);
    let label = |replica: Option<i32>| {
        let index = replica.map(|index| (names::LABEL_POD_INDEX, index.to_string()));
        let group = group.map(|(pcsg, _)| (names::LABEL_SCALING_GROUP, pcsg.to_owned()));
        index.into_iter().chain(group).chain([(names::LABEL_POD_CLIQUE, pclq.name_any())]).collect()
    };
    ensure(context, pcs, pclq, &entries, &replicas, label).await
}

async fn ensure<O>(
    context: &Context,
    pcs: &PodCliqueSet,
    owner: &O,
    entries: &[Entry<'_>],
    replicas: &[i32],
    label: impl Fn(Option<i32>) -> Vec<(&'static str, String)>,
) -> Result<(), ReconcileError>
where
    O: Resource<DynamicType = ()> + Sync,
{
    // Entries are immutable, so an owner without entries never had a claim.
    if entries.is_empty() {
        return Ok(());
    }
    let mut children = Children::new(context, owner, &context.caches.resource_claims, change);
    let mut writes = Vec::new();
    for shared in claims(&owner.name_any(), entries, replicas) {
        let mut labels = names::object_labels(&pcs.name_any(), &shared.name, names::COMPONENT_RESOURCE_CLAIM);
        labels.extend(label(shared.replica).into_iter().map(|(key, value)| (key.to_owned(), value)));
        let planned = match children.get(&shared.name) {
            Some(existing) => Ok((BTreeMap::new(), BTreeMap::new(), existing.spec.clone())),
            None => template(context, pcs, &shared).await.map(Template::parts),
        };
        match planned {
            Ok((mut all_labels, annotations, spec)) => {
                all_labels.extend(labels);
                children.want(ResourceClaim {
                    metadata: metadata(pcs, owner, &shared.name, all_labels, annotations),
                    spec,
                });
            }
            Err(error) => writes.push(future::ready(Err(error)).boxed()),
        }
    }
    let key = object_key(&pcs.namespace().unwrap_or_default(), &pcs.name_any());
    writes.extend(children.finish(&key));
    context.events.report(owner, REASON_FAILED, children::all(writes).await).await
}

fn metadata(
    pcs: &PodCliqueSet,
    owner: &impl Resource<DynamicType = ()>,
    name: &str,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: pcs.namespace(),
        labels: Some(labels),
        annotations: Some(annotations).filter(|annotations| !annotations.is_empty()),
        owner_references: owner_reference(owner).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    }
}

/// A `resource.k8s.io/v1` ResourceClaimTemplateSpec.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Template {
    metadata: TemplateMetadata,
    spec: ResourceClaimSpec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TemplateMetadata {
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

impl Template {
    fn parts(self) -> (BTreeMap<String, String>, BTreeMap<String, String>, ResourceClaimSpec) {
        (self.metadata.labels, self.metadata.annotations, self.spec)
    }
}

/// Templates of the PodCliqueSet take precedence over objects of the same name.
async fn template(
    context: &Context,
    pcs: &PodCliqueSet,
    shared: &SharedClaim<'_>,
) -> Result<Template, ReconcileError> {
    let mut declared = pcs.spec.template.resource_claim_templates.iter();
    let named = declared.find(|template| template.name == shared.template && shared.namespace.is_none());
    if let Some(template) = named {
        return Ok(serde_json::from_value(template.template_spec.clone())?);
    }
    let kind = GroupVersionKind::gvk("resource.k8s.io", "v1", "ResourceClaimTemplate");
    let pcs_namespace = pcs.namespace().unwrap_or_default();
    let namespace = shared.namespace.unwrap_or(&pcs_namespace);
    let resource = ApiResource::from_gvk(&kind);
    let api = Api::<DynamicObject>::namespaced_with(context.client.clone(), namespace, &resource);
    let found = api.get(shared.template).await.map_err(|source| ReconcileError::Api {
        action: format!("get ResourceClaimTemplate {namespace}/{}", shared.template),
        source,
    })?;
    Ok(serde_json::from_value(found.data["spec"].clone())?)
}

fn change(existing: &ResourceClaim, wanted: &ResourceClaim) -> serde_json::Result<Option<Value>> {
    Ok(patches::change(existing, wanted, [json!({}), json!({})]))
}
