use std::collections::BTreeMap;

use grove_api::{
    PodClique, PodCliqueScalingGroup, PodCliqueScalingGroupConfig, PodCliqueScalingGroupSpec, PodCliqueSet,
    PodCliqueTemplateSpec, names,
};
use k8s_openapi::api::core::v1::{Service, ServiceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::patches;
use super::pod_clique_object::{CliquePosition, pod_clique};
use super::pod_gang_names::PodGangNames;
use crate::cache::ownership::owner_reference;
use crate::faults::fault;

pub(crate) fn service(pcs: &PodCliqueSet, i: i32) -> Service {
    let pcs_name = pcs.name_any();
    let name = names::headless_service(&pcs_name, i);
    let mut selector = names::managed_labels(&pcs_name);
    if !fault!("services-select-all-replicas") {
        selector.insert(names::LABEL_PCS_REPLICA_INDEX.to_owned(), i.to_string());
    }
    let config = pcs.spec.template.headless_service_config.clone().unwrap_or_default();
    let spec = ServiceSpec {
        cluster_ip: Some("None".to_owned()),
        selector: Some(selector),
        publish_not_ready_addresses: Some(
            config.publish_not_ready_addresses && !fault!("unready-addresses-hidden"),
        ),
        ..ServiceSpec::default()
    };
    let metadata = metadata(pcs, i, name, names::COMPONENT_HEADLESS_SERVICE, BTreeMap::new());
    Service { metadata, spec: Some(spec), status: None }
}

pub(crate) fn standalone_cliques(pcs: &PodCliqueSet, i: i32, gang_names: PodGangNames) -> Vec<PodClique> {
    let pcs_name = pcs.name_any();
    let pod_gang = gang_names.base(pcs, i);
    let position = CliquePosition { replica: i, pod_gang, base_pod_gang: None, group: None };
    let clique = |clique: &PodCliqueTemplateSpec| {
        let name = names::standalone_pod_clique(&pcs_name, i, &clique.name);
        pod_clique(pcs, clique, name, &position, owner_reference(pcs))
    };
    pcs.spec.template.standalone_cliques().map(clique).collect()
}

pub(crate) fn scaling_group(
    pcs: &PodCliqueSet,
    i: i32,
    config: &PodCliqueScalingGroupConfig,
) -> PodCliqueScalingGroup {
    let name = names::scaling_group(&pcs.name_any(), i, &config.name);
    let spec = PodCliqueScalingGroupSpec {
        replicas: config.replicas.unwrap_or(1),
        min_available: Some(config.min_available.unwrap_or(1)),
        clique_names: config.clique_names.clone(),
    };
    let mut annotations = config.annotations.clone();
    annotations.retain(|key, _| !names::is_operator_state(key));
    let metadata = metadata(pcs, i, name, names::COMPONENT_SCALING_GROUP, annotations);
    PodCliqueScalingGroup { metadata, spec, status: None }
}

fn metadata(
    pcs: &PodCliqueSet,
    i: i32,
    name: String,
    component: &str,
    annotations: BTreeMap<String, String>,
) -> ObjectMeta {
    let mut labels = names::object_labels(&pcs.name_any(), &name, component);
    labels.insert(names::LABEL_PCS_REPLICA_INDEX.to_owned(), i.to_string());
    ObjectMeta {
        name: Some(name),
        namespace: pcs.namespace(),
        labels: Some(labels),
        annotations: Some(annotations).filter(|annotations| !annotations.is_empty()),
        owner_references: owner_reference(pcs).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    }
}

/// Compares only the fields of a Service that Grove sets, because the API server defaults many others.
pub(crate) fn service_change(existing: &Service, wanted: &Service) -> serde_json::Result<Option<Value>> {
    let grove_fields = |service: &Service| {
        let spec = service.spec.as_ref();
        let publish = spec.and_then(|spec| spec.publish_not_ready_addresses).unwrap_or(false);
        json!({"selector": spec.and_then(|spec| spec.selector.as_ref()), "publishNotReadyAddresses": publish})
    };
    Ok(patches::change(existing, wanted, [grove_fields(existing), grove_fields(wanted)]))
}

/// Keeps `replicas`, because other clients scale the group.
pub(crate) fn scaling_group_change(
    existing: &PodCliqueScalingGroup,
    wanted: &PodCliqueScalingGroup,
) -> serde_json::Result<Option<Value>> {
    let mut spec = serde_json::to_value(&wanted.spec)?;
    spec["replicas"] = json!(existing.spec.replicas);
    Ok(patches::change(existing, wanted, [serde_json::to_value(&existing.spec)?, spec]))
}
