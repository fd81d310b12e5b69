//! Measures the scheduler alone. The harness creates the operator's pods, gang resources and Services again
//! in another namespace, while no operator runs.
//!
//! The copies are equal except for owners and fields that were not recorded. Services are included because
//! kube-scheduler spreads the pods of a Service over nodes, and counts all of them for each pod. Like an
//! operator, the harness gates pods at creation, and releases a gang once all its pods and gang resources
//! exist. Here a scaled PodGang does not wait for its base, because that is the operator's task.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use conformance_cluster::{ClusterError, deploy};
use conformance_contract::names;
use conformance_driver::context::{Stop, TestContext};
use conformance_driver::limits::Limit;
use conformance_driver::recorder::Recorder;
use conformance_expect::schedulers;
use conformance_history::{Header, History, Live, list, text};
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};

use super::figures::Bindings;
use super::keep;

/// Replaces the key of the operator's own label in the copies.
const STANDS_FOR_MANAGED_BY: &str = "app.kubernetes.io/made-by";
const SERVICE: &str = "Service";
/// Gangs that are created concurrently, and pods per gang.
const GANGS: usize = 8;
const PODS: usize = 8;
/// Pause between two checks.
const PACE: Duration = Duration::from_millis(250);

/// The objects for the scheduler, as text. Parsed values would take ten times as much memory.
pub(super) struct Load {
    namespace: String,
    /// Objects without a PodGang.
    first: Made,
    gangs: Vec<Made>,
}

#[derive(Default)]
struct Made {
    /// Gang resources by kind, parents first.
    resources: Vec<(&'static str, String)>,
    pods: Vec<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Alone {
    pub(super) begin: Timestamp,
    pub(super) pods: usize,
    pub(super) bound: usize,
    pub(super) bindings: Option<Bindings>,
}

impl Load {
    /// Copies what the operator had created when everything had converged. Gang resources are copied in that
    /// state. Pods are copied as created, with their membership in that state.
    pub(super) fn of(history: &History) -> Self {
        let (from, to) = (&history.header.namespace, format!("{}-alone", history.header.namespace));
        let mut pods: BTreeMap<&str, (&Value, &Value)> = BTreeMap::new();
        for version in history.pods() {
            pods.entry(version.uid()).or_insert((version.object, version.object)).1 = version.object;
        }
        let expectations = schedulers::of(history.header.target);
        let mut gangs: BTreeMap<String, Made> = BTreeMap::new();
        let mut joined: BTreeMap<String, String> = BTreeMap::new();
        for (first, last) in pods.into_values() {
            let gang = text(&last["metadata"]["labels"][names::POD_GANG]).to_owned();
            if let Some(group) = expectations.named_by(conformance_history::Pod(last)) {
                joined.insert(group.to_owned(), gang.clone());
            }
            let mut pod = bare(first);
            join(&mut pod, last);
            let name = text(&pod["metadata"]["name"]).to_owned();
            gangs.entry(gang).or_default().pods.push((name, moved(pod, from, &to).to_string()));
        }
        let end = history.end();
        let mut first = Made::default();
        let services = end.of(SERVICE).map(|service| moved(bare(service), from, &to).to_string());
        first.resources.extend(services.map(|service| (SERVICE, service)));
        for kind in expectations.kinds().iter().copied() {
            for object in end.of(kind) {
                let owners = list(&object["metadata"]["ownerReferences"]);
                let owner = owners.iter().find(|owner| owner["kind"] == "PodGang");
                let owner = owner.map(|owner| text(&owner["name"]));
                let named = || joined.get(text(&object["metadata"]["name"])).map(String::as_str);
                let gang = owner.or_else(named).and_then(|gang| gangs.get_mut(gang));
                let resource = moved(bare(object), from, &to).to_string();
                gang.unwrap_or(&mut first).resources.push((kind, resource));
            }
        }
        Self { namespace: to, first, gangs: gangs.into_values().collect() }
    }

    /// Creates all objects, and waits until all pods are bound or the limit has passed.
    pub(super) async fn measure(self, test: &TestContext, limit: Limit) -> Result<Alone, Stop> {
        let recorder = &test.test_cluster.recorder;
        let namespace = self.namespace.clone();
        let _tracked = recorder.track_part(&namespace, |_| false, keep::bindings);
        let home = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": namespace, "labels": {names::RUN: test.test_cluster.run}}});
        deploy::create_unless_there(recorder.client(), &home).await?;
        let pods = self.gangs.iter().map(|gang| gang.pods.len()).sum::<usize>();
        let (begin, since) = (Timestamp::now(), Instant::now());
        self.give(recorder).await?;
        let bound = || recorder.look(&namespace, Live::bound);
        let mut changes = recorder.follow(&namespace);
        while bound() < pods && since.elapsed() < test.length(limit) {
            tokio::time::sleep(PACE).await;
            // A scheduler that has stopped binding causes no more changes.
            let _ = tokio::time::timeout(Duration::from_secs(1), changes.changed()).await;
        }
        let header = Header::new(test.case.id, test.target, &namespace, BTreeMap::new());
        let bindings = Bindings::of(&recorder.history(header));
        Ok(Alone { begin, pods, bound: bound(), bindings })
    }

    async fn give(self, recorder: &Recorder) -> Result<(), ClusterError> {
        let namespace = self.namespace.as_str();
        self.first.make(recorder, namespace).await?;
        stream::iter(self.gangs.into_iter().map(Ok))
            .try_for_each_concurrent(GANGS, |gang| gang.make(recorder, namespace))
            .await
    }
}

impl Made {
    async fn make(self, recorder: &Recorder, namespace: &str) -> Result<(), ClusterError> {
        let client = recorder.client();
        let path = |kind: &str| recorder.kind(kind).map(|kind| (kind.path(Some(namespace)), kind.kind()));
        for (kind, resource) in self.resources {
            if let Some((path, kind)) = path(kind) {
                post(client, &path, of_kind(&resource, kind)).await?;
            }
        }
        let Some((pods, _)) = path("Pod") else { return Ok(()) };
        let (names, objects): (Vec<String>, Vec<String>) = self.pods.into_iter().unzip();
        let made = stream::iter(objects).map(|pod| post(client, &pods, pod)).buffer_unordered(PODS);
        made.try_collect::<()>().await?;
        let released = stream::iter(names).map(|name| release(client, format!("{pods}/{name}")));
        released.buffer_unordered(PODS).try_collect::<()>().await
    }
}

/// Sets the kind of the API server, which does not know the names of histories for equal kinds.
fn of_kind(object: &str, kind: &str) -> String {
    let mut object: Value = serde_json::from_str(object).unwrap_or_default();
    object["kind"] = kind.into();
    object.to_string()
}

fn bare(object: &Value) -> Value {
    let metadata = &object["metadata"];
    json!({
        "apiVersion": object["apiVersion"],
        "kind": object["kind"],
        "metadata": {
            "name": metadata["name"], "labels": metadata["labels"], "annotations": metadata["annotations"],
        },
        "spec": object["spec"],
    })
}

/// Adds to a pod the fields of its last version, because a backend may add the membership at release.
/// Containers stay as they are, because less of them is recorded in later versions.
fn join(pod: &mut Value, last: &Value) {
    for key in ["labels", "annotations"] {
        pod["metadata"][key] = last["metadata"][key].clone();
    }
    for (field, value) in last["spec"].as_object().into_iter().flatten() {
        if !["nodeName", "schedulingGates", "containers", "initContainers"].contains(&field.as_str()) {
            pod["spec"][field] = value.clone();
        }
    }
}

/// Moves an object to another namespace. Labels and annotations may contain the namespace (Koordinator's gang
/// groups do). The node placement of a pod contains it too, but stays: the copies use the case's nodes.
fn moved(mut object: Value, from: &str, to: &str) -> Value {
    for key in ["labels", "annotations"] {
        for value in object["metadata"][key].as_object_mut().into_iter().flat_map(|all| all.values_mut()) {
            if let Some(text) = value.as_str().filter(|text| text.contains(from)) {
                *value = text.replace(from, to).into();
            }
        }
    }
    // A webhook of the operator, which is down, may select its label. Services select pods by this label, and
    // schedulers compare selected pods. Without it kube-scheduler would have half the work, so another key
    // replaces it.
    for place in ["/metadata/labels", "/spec/selector"] {
        if let Some(labels) = object.pointer_mut(place).and_then(Value::as_object_mut)
            && let Some(operator) = labels.remove(names::MANAGED_BY)
        {
            labels.insert(STANDS_FOR_MANAGED_BY.into(), operator);
        }
    }
    object["metadata"]["namespace"] = to.into();
    object
}

async fn post(client: &Client, path: &str, object: String) -> Result<(), ClusterError> {
    request(client, http::Method::POST, path, "application/json", object).await
}

async fn release(client: &Client, path: String) -> Result<(), ClusterError> {
    let patch = json!({"spec": {"schedulingGates": null}}).to_string();
    request(client, http::Method::PATCH, &path, "application/merge-patch+json", patch).await
}

async fn request(
    client: &Client,
    method: http::Method,
    path: &str,
    content: &str,
    body: String,
) -> Result<(), ClusterError> {
    let failed = |source| ClusterError::api(format!("{method} {path}"), source);
    let request = http::Request::builder()
        .method(method.clone())
        .uri(path)
        .header(http::header::CONTENT_TYPE, content)
        .body(body.into_bytes())
        .map_err(|error| failed(kube::Error::HttpError(error)))?;
    client.request::<Value>(request).await.map(drop).map_err(failed)
}

#[cfg(test)]
mod tests {
    use conformance_contract::target::Target;
    use conformance_history::testing::Story;

    use super::*;

    fn pod(name: &str, gang: &str, node: Option<&str>) -> Value {
        json!({"kind": "Pod", "apiVersion": "v1",
            "metadata": {"name": name, "uid": name, "namespace": "ns", "ownerReferences": [{}],
                "labels": {"grove.io/podgang": gang, "app.kubernetes.io/managed-by": "grove-operator"},
                "annotations": {"groups": "[\"ns/s0-0\"]"}},
            "spec": {"nodeName": node, "nodeSelector": {"pool": "ns"}, "containers": [{"name": "main"}]}})
    }

    #[test]
    fn the_load_is_what_was_created_in_another_namespace() {
        let mut bound = pod("s0-0-a-x", "s0-0", Some("n"));
        bound["spec"]["group"] = "g".into();
        bound["spec"]["containers"] = json!([{}]);
        let story = Story::on(Target::KUBE_POD_GANG).added(pod("s0-0-a-x", "s0-0", None)).modified(bound);
        let mut history = story.added(pod("s0-1-a-y", "s0-1", None)).end();
        history.header.namespace = "ns".into();
        let load = Load::of(&history);
        assert_eq!((load.namespace.as_str(), load.gangs.len()), ("ns-alone", 2));
        let (name, made) = &load.gangs[0].pods[0];
        assert_eq!(name, "s0-0-a-x");
        let made: Value = serde_json::from_str(made).unwrap();
        let metadata = json!({"name": "s0-0-a-x", "namespace": "ns-alone",
            "labels": {"grove.io/podgang": "s0-0", (STANDS_FOR_MANAGED_BY): "grove-operator"},
            "annotations": {"groups": "[\"ns-alone/s0-0\"]"}});
        let containers = json!([{"name": "main"}]);
        let spec =
            json!({"nodeName": null, "nodeSelector": {"pool": "ns"}, "containers": containers, "group": "g"});
        assert_eq!(made, json!({"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec}));
    }

    #[test]
    fn services_select_pods_as_before() {
        let service = json!({"kind": "Service", "apiVersion": "v1", "metadata": {"name": "s0-0", "namespace": "ns"}, "spec": {
            "selector": {"app.kubernetes.io/managed-by": "grove-operator", "app.kubernetes.io/part-of": "s0"}}});
        let load = Load::of(&Story::on(Target::KUBE_POD_GANG).added(service).end());
        let (kind, made) = &load.first.resources[0];
        let made: Value = serde_json::from_str(made).unwrap();
        assert_eq!(
            (*kind, &made["spec"]["selector"]),
            (
                "Service",
                &json!({(STANDS_FOR_MANAGED_BY): "grove-operator", "app.kubernetes.io/part-of": "s0"})
            )
        );
    }

    #[test]
    fn gang_resources_are_made_with_the_gang_that_owns_them() {
        let kinds = schedulers::of(Target::KUBE_POD_GANG).kinds();
        let resource = |name: &str, owner: &str| {
            json!({"kind": kinds[0], "apiVersion": "g/v1", "metadata": {"name": name, "uid": name,
                "ownerReferences": [{"kind": owner, "name": "s0-0"}]}, "spec": {}})
        };
        let story = Story::on(Target::KUBE_POD_GANG).added(pod("s0-0-a-x", "s0-0", None));
        let load =
            Load::of(&story.added(resource("a", "PodGang")).added(resource("b", "PodCliqueSet")).end());
        let names = |made: &Made| made.resources.iter().map(|(kind, _)| *kind).collect::<Vec<_>>();
        assert_eq!((names(&load.gangs[0]), names(&load.first)), (vec![kinds[0]], vec![kinds[0]]));
    }
}
