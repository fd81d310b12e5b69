//! Injects faults into writes: a layer corrupts gang resources and the startup order of pods in requests. A
//! repair causes no loop, because its request is corrupted in the same way and changes nothing.

use std::task::{Context, Poll};

use futures::FutureExt;
use grove_api::PodGang;
use grove_api::names::{INIT_CONTAINER, LABEL_GENERATION, LABEL_PART_OF, LABEL_PCS_REPLICA_INDEX};
use http::{Method, Request};
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams,
};
use kube::client::Body;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tower::{Layer, Service};

use crate::cache::ownership::owner_reference;
use crate::faults::fault;

const VOLCANO: &str = "scheduling.volcano.sh";
const KAI: &str = "scheduling.run.ai";
const KUBE: &str = "scheduling.k8s.io";
const ANNOTATION_SEEN: &str = "grove.io/seen";
/// Koordinator's annotation: a JSON list of the gangs that are scheduled together.
const GROUPS: &str = "gang.scheduling.koordinator.sh/groups";

pub(crate) fn corrupts_writes() -> bool {
    corrupts_gang_resources() || corrupts_startup_order()
}

fn corrupts_gang_resources() -> bool {
    let faults =
        [fault!("forget-member"), fault!("wrong-queue"), fault!("omit-subgroups"), fault!("low-group-count")];
    faults.contains(&true)
}

fn corrupts_startup_order() -> bool {
    let faults =
        [fault!("wait-for-one-pod"), fault!("wait-for-next-replica"), fault!("recreated-pods-do-not-wait")];
    faults.contains(&true)
}

pub(crate) struct CorruptingLayer;

impl<S> Layer<S> for CorruptingLayer {
    type Service = CorruptingApi<S>;

    fn layer(&self, inner: S) -> CorruptingApi<S> {
        CorruptingApi { inner }
    }
}

#[derive(Clone)]
pub(crate) struct CorruptingApi<S> {
    inner: S,
}

impl<S: Service<Request<Body>>> Service<Request<Body>> for CorruptingApi<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> S::Future {
        if let Some(body) = corrupted_body(&request) {
            *request.body_mut() = body;
        }
        self.inner.call(request)
    }
}

fn corrupted_body(request: &Request<Body>) -> Option<Body> {
    let (is_create, path) = (request.method() == Method::POST, request.uri().path());
    let is_write = is_create || request.method() == Method::PATCH;
    let group = group_of_gangs(path).filter(|_| is_write && corrupts_gang_resources());
    let is_pod = is_create && path.ends_with("/pods") && corrupts_startup_order();
    if group.is_none() && !is_pod {
        return None;
    }
    // Bodies that this process sends are entirely in memory.
    let bytes = request.body().try_clone()?.collect_bytes().now_or_never()?.ok()?;
    let mut object = serde_json::from_slice(&bytes).ok()?;
    match group {
        Some(group) => corrupt_gang_resource(group, is_create, &mut object),
        None => corrupt_startup_order(&mut object),
    }
    serde_json::to_vec(&object).ok().map(Body::from)
}

fn corrupt_startup_order(pod: &mut Value) {
    let labels = pod["metadata"]["labels"].clone();
    let label = |key: &str| labels[key].as_str().unwrap_or_default();
    let Some(inits) = pod["spec"]["initContainers"].as_array_mut() else { return };
    if fault!("recreated-pods-do-not-wait") && !label(LABEL_GENERATION).is_empty() {
        inits.retain(|container| container["name"] != INIT_CONTAINER);
    }
    let replica: u32 = label(LABEL_PCS_REPLICA_INDEX).parse().unwrap_or_default();
    let name_prefix = |replica: u32| format!("={}-{replica}-", label(LABEL_PART_OF));
    let arguments = inits.iter_mut().filter_map(|container| container["args"].as_array_mut()).flatten();
    for argument in arguments {
        let mut parent = argument.as_str().unwrap_or_default().to_owned();
        if fault!("wait-for-next-replica") {
            parent = parent.replace(&name_prefix(replica), &name_prefix(replica + 1));
        }
        if fault!("wait-for-one-pod")
            && let Some((clique, _)) = parent.rsplit_once(':')
        {
            parent = format!("{clique}:1");
        }
        *argument = json!(parent);
    }
}

fn group_of_gangs(path: &str) -> Option<&str> {
    let parts: Vec<_> = path.trim_matches('/').split('/').collect();
    match parts[..] {
        ["apis", group, _version, "namespaces", _namespace, "podgroups" | "compositepodgroups", ..] => {
            Some(group)
        }
        _ => None,
    }
}

fn corrupt_gang_resource(group: &str, is_create: bool, object: &mut Value) {
    if fault!("forget-member")
        && let Some(groups) = object.pointer_mut(&pointer(&["metadata", "annotations", GROUPS]))
        && let Some(without_last) = groups.as_str().and_then(without_last)
    {
        *groups = json!(without_last);
    }
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let has_queue = [VOLCANO, KAI].contains(&group) && (is_create || spec.contains_key("queue"));
    if fault!("wrong-queue") && has_queue {
        spec.insert("queue".to_owned(), json!("wrong"));
    }
    if fault!("omit-subgroups") && group == KAI {
        spec.remove("subGroups");
    }
    let gang = spec.get_mut("schedulingPolicy").and_then(|policy| policy.pointer_mut("/gang/minGroupCount"));
    if let Some(count) = gang.filter(|count| fault!("low-group-count") && count.as_u64() > Some(1)) {
        *count = json!(count.as_u64().unwrap_or(2) - 1);
    }
}

fn pointer(keys: &[&str]) -> String {
    keys.iter().map(|key| format!("/{}", key.replace('~', "~0").replace('/', "~1"))).collect()
}

fn without_last(list: &str) -> Option<String> {
    let mut entries: Vec<Value> = serde_json::from_str(list).ok()?;
    entries.pop().filter(|_| !entries.is_empty())?;
    serde_json::to_string(&entries).ok()
}

/// The fault `foreign-resource`: creates a Volcano PodGroup, regardless of the PodGang's backend.
pub(crate) async fn create_foreign_resource(client: &Client, pod_gang: &PodGang) {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(VOLCANO, "v1beta1", "PodGroup"));
    let mut pod_group = DynamicObject::new(&pod_gang.name_any(), &resource)
        .data(json!({"spec": {"minMember": 1, "queue": "default"}}));
    pod_group.metadata.owner_references = owner_reference(pod_gang).map(|owner| vec![owner]);
    let namespace = pod_gang.namespace().unwrap_or_default();
    let api = Api::<DynamicObject>::namespaced_with(client.clone(), &namespace, &resource);
    // The create fails if the PodGroup already exists or Volcano is not installed.
    if let Err(error) = api.create(&PostParams::default(), &pod_group).await {
        tracing::debug!(%error, "fault: no foreign resource");
    }
}

fn workload_of(client: &Client, pod_gang: &PodGang) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(KUBE, "v1alpha2", "Workload"));
    Api::namespaced_with(client.clone(), &pod_gang.namespace().unwrap_or_default(), &resource)
}

/// The fault `touch-gang-resources`: annotates the Workload with the last seen version of its PodGang.
pub(crate) async fn touch_workload(client: &Client, pod_gang: &PodGang) {
    let seen = json!({"metadata": {"annotations": {ANNOTATION_SEEN: pod_gang.metadata.resource_version}}});
    let patch = Patch::Merge(&seen);
    let touched =
        workload_of(client, pod_gang).patch(&pod_gang.name_any(), &PatchParams::default(), &patch).await;
    if let Err(error) = touched {
        tracing::debug!(%error, "fault: failed to annotate the Workload");
    }
}

/// The fault `recreate-gang-resources`: deletes the Workload of an earlier generation of the PodGang.
pub(crate) async fn delete_workload_of_old(client: &Client, pod_gang: &PodGang) {
    let (workloads, name) = (workload_of(client, pod_gang), pod_gang.name_any());
    let generation = pod_gang.metadata.generation.unwrap_or_default().to_string();
    let Ok(Some(workload)) = workloads.get_opt(&name).await else { return };
    let seen = workload.annotations().get(ANNOTATION_SEEN).cloned();
    let result = match seen {
        Some(seen) if seen != generation => {
            workloads.delete(&name, &DeleteParams::background()).await.map(drop)
        }
        Some(_) => Ok(()),
        None => {
            let patch = json!({"metadata": {"annotations": {ANNOTATION_SEEN: generation}}});
            workloads.patch(&name, &PatchParams::default(), &Patch::Merge(&patch)).await.map(drop)
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "fault: the Workload stays");
    }
}

#[cfg(test)]
mod tests {
    use grove_api::PodGangSpec;

    use super::*;
    use crate::context::test_api::World;

    #[tokio::test]
    async fn a_foreign_resource_has_the_name_and_owner_of_its_pod_gang() {
        let world = World::new();
        let mut pod_gang = PodGang::new("wl-0", PodGangSpec::default());
        pod_gang.metadata.namespace = Some("ns".to_owned());
        pod_gang.metadata.uid = Some("u".to_owned());
        create_foreign_resource(&world.context.client, &pod_gang).await;
        let written = world.written();
        let (request, object) = &written[0];
        assert_eq!(request, "POST /apis/scheduling.volcano.sh/v1beta1/namespaces/ns/podgroups");
        assert_eq!(object["metadata"]["name"], "wl-0");
        assert_eq!(object["metadata"]["ownerReferences"][0]["uid"], "u");
    }
}
