use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Arc, Mutex};

use http::{Method, Request, Response};
use kube::client::Body;
use kube::runtime::watcher::Event;
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tower_test::mock;

use super::Context;
use super::queues::{Inboxes, queues};
use crate::backend::{DefaultScheduler, DefaultSchedulerConfig, Registry, SchedulerBackend};
use crate::cache::caches::{Feeds, caches};
use crate::cache::informer::Feed;

pub(crate) struct World {
    pub context: Arc<Context>,
    pub feeds: Feeds,
    pub inboxes: Inboxes,
    writes: Arc<Mutex<Vec<(String, Value)>>>,
    deleted: Arc<Mutex<BTreeSet<String>>>,
}

impl World {
    pub(crate) fn new() -> Self {
        let config = DefaultSchedulerConfig { gang_scheduling: true, ..DefaultSchedulerConfig::default() };
        Self::with_backend(|client| Arc::new(DefaultScheduler::new(client.clone(), config, "grove-system")))
    }

    pub(crate) fn with_backend(backend: impl FnOnce(&Client) -> Arc<dyn SchedulerBackend>) -> Self {
        let (service, handle) = mock::pair::<Request<Body>, Response<Body>>();
        let (writes, deleted) = (Arc::default(), Arc::default());
        tokio::spawn(respond(handle, Arc::clone(&writes), Arc::clone(&deleted)));
        let client = Client::new(service, "default");
        let backend = backend(&client);
        let registry = Registry::new(backend.name().to_owned(), [backend]).unwrap();
        let (caches, feeds) = caches(registry.cached_kinds());
        let (queues, inboxes) = queues();
        queues.open(&caches);
        let context = Context::new(client, registry, caches, queues, "initc:test".to_owned());
        Self { context: Arc::new(context), feeds, inboxes, writes, deleted }
    }

    /// Deletes a PodClique or PodGang from the API server without a watch event. All others exist there.
    pub(crate) fn delete_without_event(&self, name: &str) {
        self.deleted.lock().unwrap().insert(name.to_owned());
    }

    pub(crate) fn written(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut *self.writes.lock().unwrap())
    }

    pub(crate) fn deliver(&mut self, written: &[(String, Value)]) {
        for (_, object) in written.iter().filter(|(request, _)| request.starts_with("POST")) {
            let mut object = object.clone();
            object["metadata"]["uid"] =
                json!(format!("uid-of-{}", object["metadata"]["name"].as_str().unwrap()));
            object["metadata"]["generation"] = json!(1);
            object["metadata"]["resourceVersion"] = json!("1");
            let feeds = &mut self.feeds;
            match object["kind"].as_str().unwrap() {
                "Service" => feeds.services.apply(object),
                "HorizontalPodAutoscaler" => feeds.autoscalers.apply(object),
                "ResourceClaim" => feeds.resource_claims.apply(object),
                "PodClique" => feeds.pod_cliques.apply(object),
                "PodCliqueScalingGroup" => feeds.scaling_groups.apply(object),
                "PodGang" => feeds.pod_gangs.apply(object),
                "Pod" => feeds.pods.apply(object),
                kind => {
                    let (_, feed) =
                        feeds.gang_resources.iter_mut().find(|(resource, _)| resource.kind == kind).unwrap();
                    feed.apply(object);
                }
            }
        }
    }
}

impl<K> Feed<K>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    K::DynamicType: Hash + Eq + Clone + Send + Sync,
{
    pub(crate) fn apply(&mut self, object: Value) {
        self.take(Event::Apply(serde_json::from_value(object).unwrap()));
    }
}

/// The ownerReferences of an object with this controller.
pub(crate) fn owned_by(kind: &str, name: &str) -> Value {
    let uid = format!("uid-of-{name}");
    json!([{"apiVersion": "grove.io/v1alpha1", "kind": kind, "name": name, "uid": uid, "controller": true}])
}

/// The PodCliqueSet `wl`.
pub(crate) fn set_without_cliques() -> Value {
    json!({
        "metadata": {"name": "wl", "namespace": "ns", "uid": "uid-of-wl"},
        "spec": {"replicas": 1, "template": {"cliques": []}},
    })
}

async fn respond(
    mut handle: mock::Handle<Request<Body>, Response<Body>>,
    writes: Arc<Mutex<Vec<(String, Value)>>>,
    deleted: Arc<Mutex<BTreeSet<String>>>,
) {
    while let Some((request, send)) = handle.next_request().await {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let is_dry_run = request.uri().query().is_some_and(|query| query.contains("dryRun=All"));
        let body = request.into_body().collect_bytes().await.unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let (code, response) = match method {
            // The Workload API of 1.36, which keeps every field of a dry run.
            Method::GET if path == "/apis/scheduling.k8s.io/v1alpha2" => (200, workload_api()),
            Method::GET
                if requested_object(&path)
                    .is_some_and(|(name, _)| !deleted.lock().unwrap().contains(name)) =>
            {
                let (name, uid) = requested_object(&path).unwrap_or_default();
                let metadata = json!({"name": name, "uid": uid});
                (
                    200,
                    json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": metadata}),
                )
            }
            Method::GET => {
                (404, json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}))
            }
            Method::PATCH => (200, minimal_object(&path)),
            Method::DELETE => (200, json!({"kind": "Status", "apiVersion": "v1", "status": "Success"})),
            _ => (201, body.clone()),
        };
        if method != Method::GET && !is_dry_run {
            writes.lock().unwrap().push((format!("{method} {path}"), body));
        }
        let response = Body::from(serde_json::to_vec(&response).unwrap());
        send.send_response(Response::builder().status(code).body(response).unwrap());
    }
}

fn requested_object(path: &str) -> Option<(&str, String)> {
    let pod_clique = path.split_once("/podcliques/").map(|(_, name)| (name, format!("uid-of-{name}")));
    pod_clique.or_else(|| path.split_once("/podgangs/").map(|(_, name)| (name, "uid-of-gang".to_owned())))
}

fn workload_api() -> Value {
    let resource = |(name, kind)| json!({"name": name, "singularName": "", "namespaced": true, "kind": kind, "verbs": []});
    let resources = [("workloads", "Workload"), ("podgroups", "PodGroup")].map(resource);
    json!({"groupVersion": "scheduling.k8s.io/v1alpha2", "resources": resources})
}

fn minimal_object(path: &str) -> Value {
    let name = path.trim_end_matches("/status").rsplit('/').next().unwrap_or_default();
    let is_plural =
        |part: &&str| ["pod", "cluster", "horizontal"].iter().any(|start| part.starts_with(start));
    let spec = match path.split('/').rev().find(is_plural) {
        Some("clustertopologybindings") => json!({"levels": []}),
        Some("podgangs") => json!({"podgroups": []}),
        Some("podcliquesets") => json!({"template": {"cliques": []}}),
        Some("podcliquescalinggroups") => json!({"cliqueNames": []}),
        Some("podcliques") => json!({"podSpec": {}, "replicas": 1}),
        Some("horizontalpodautoscalers") => json!({"scaleTargetRef": {}, "maxReplicas": 1}),
        _ => json!({"containers": []}),
    };
    json!({"metadata": {"name": name}, "spec": spec})
}
