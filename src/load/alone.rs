//! Measures the scheduler alone. While no operator runs, the harness creates copies of the operator's pods,
//! gang resources and Services in another namespace.
//!
//! The copies have no owners, and lack fields that were not recorded. Services are copied because
//! kube-scheduler spreads their pods over nodes, and counts all of them for each pod. Like an operator, the
//! harness gates pods at creation, and releases a gang once all its pods and gang resources exist. A scaled
//! PodGang does not wait for its base here.

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

/// The label key that replaces `app.kubernetes.io/managed-by` in the copies.
const COPIED_MANAGED_BY: &str = "app.kubernetes.io/made-by";
const SERVICE: &str = "Service";
/// How many gangs are created concurrently, and how many pods of each.
const GANGS: usize = 8;
const PODS: usize = 8;
const INTERVAL: Duration = Duration::from_millis(250);

/// The objects for the scheduler, as JSON text. Parsed values would take ten times as much memory.
pub(super) struct Load {
    namespace: String,
    /// The objects that belong to no PodGang. They are created first.
    shared: GangObjects,
    gangs: Vec<GangObjects>,
}

#[derive(Default)]
struct GangObjects {
    /// Gang resources with their kinds, parents first.
    resources: Vec<(&'static str, String)>,
    pods: Vec<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SchedulerAlone {
    pub(super) begin: Timestamp,
    pub(super) pods: usize,
    pub(super) bound: usize,
    pub(super) bindings: Option<Bindings>,
}

impl Load {
    /// Copies the operator's objects from a history that ends when everything has converged: the last version
    /// of gang resources, and pods as created, with the gang membership of their last version.
    pub(super) fn of(history: &History) -> Self {
        let (from, to) = (&history.header.namespace, format!("{}-alone", history.header.namespace));
        let mut pods: BTreeMap<&str, (&Value, &Value)> = BTreeMap::new();
        for version in history.pods() {
            pods.entry(version.uid()).or_insert((version.object, version.object)).1 = version.object;
        }
        let expectations = schedulers::of(history.header.target);
        let mut gangs: BTreeMap<String, GangObjects> = BTreeMap::new();
        let mut gang_of_resource: BTreeMap<String, String> = BTreeMap::new();
        for (first, last) in pods.into_values() {
            let gang = text(&last["metadata"]["labels"][names::POD_GANG]).to_owned();
            if let Some(group) = expectations.named_by(conformance_history::Pod(last)) {
                gang_of_resource.insert(group.to_owned(), gang.clone());
            }
            let mut pod = without_status(first);
            add_membership(&mut pod, last);
            let name = text(&pod["metadata"]["name"]).to_owned();
            gangs.entry(gang).or_default().pods.push((name, moved(pod, from, &to).to_string()));
        }
        let end = history.end();
        let mut shared = GangObjects::default();
        let services = end.of(SERVICE).map(|service| moved(without_status(service), from, &to).to_string());
        shared.resources.extend(services.map(|service| (SERVICE, service)));
        for kind in expectations.kinds().iter().copied() {
            for object in end.of(kind) {
                let owners = list(&object["metadata"]["ownerReferences"]);
                let owner = owners.iter().find(|owner| owner["kind"] == "PodGang");
                let owner = owner.map(|owner| text(&owner["name"]));
                let by_pods = || gang_of_resource.get(text(&object["metadata"]["name"])).map(String::as_str);
                let gang = owner.or_else(by_pods).and_then(|gang| gangs.get_mut(gang));
                let resource = moved(without_status(object), from, &to).to_string();
                gang.unwrap_or(&mut shared).resources.push((kind, resource));
            }
        }
        Self { namespace: to, shared, gangs: gangs.into_values().collect() }
    }

    pub(super) async fn measure(self, test: &TestContext, limit: Limit) -> Result<SchedulerAlone, Stop> {
        let recorder = &test.test_cluster.recorder;
        let namespace = self.namespace.clone();
        let _tracked = recorder.track_part(&namespace, |_| false, keep::bindings);
        let home = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": namespace, "labels": {names::RUN: test.test_cluster.run}}});
        deploy::create_unless_exists(recorder.client(), &home).await?;
        let pods = self.gangs.iter().map(|gang| gang.pods.len()).sum::<usize>();
        let (begin, since) = (Timestamp::now(), Instant::now());
        self.create(recorder).await?;
        let bound = || recorder.look(&namespace, Live::bound);
        let mut changes = recorder.follow(&namespace);
        while bound() < pods && since.elapsed() < test.length(limit) {
            tokio::time::sleep(INTERVAL).await;
            // If the scheduler stops binding, no more changes arrive, so this wait has a limit.
            let _ = tokio::time::timeout(Duration::from_secs(1), changes.changed()).await;
        }
        let header = Header::new(test.case.id, test.target, &namespace, BTreeMap::new());
        let bindings = Bindings::of(&recorder.history(header));
        Ok(SchedulerAlone { begin, pods, bound: bound(), bindings })
    }

    async fn create(self, recorder: &Recorder) -> Result<(), ClusterError> {
        let namespace = self.namespace.as_str();
        self.shared.create(recorder, namespace).await?;
        stream::iter(self.gangs.into_iter().map(Ok))
            .try_for_each_concurrent(GANGS, |gang| gang.create(recorder, namespace))
            .await
    }
}

impl GangObjects {
    async fn create(self, recorder: &Recorder, namespace: &str) -> Result<(), ClusterError> {
        let client = recorder.client();
        let path = |kind: &str| recorder.kind(kind).map(|kind| (kind.path(Some(namespace)), kind.kind()));
        for (kind, resource) in self.resources {
            if let Some((path, kind)) = path(kind) {
                post(client, &path, with_kind(&resource, kind)).await?;
            }
        }
        let Some((pods, _)) = path("Pod") else { return Ok(()) };
        let (names, objects): (Vec<String>, Vec<String>) = self.pods.into_iter().unzip();
        let creations = stream::iter(objects).map(|pod| post(client, &pods, pod)).buffer_unordered(PODS);
        creations.try_collect::<()>().await?;
        let releases = stream::iter(names).map(|name| release(client, format!("{pods}/{name}")));
        releases.buffer_unordered(PODS).try_collect::<()>().await
    }
}

/// Sets the kind that the API server knows: histories rename kinds that exist in two API groups.
fn with_kind(object: &str, kind: &str) -> String {
    let mut object: Value = serde_json::from_str(object).unwrap_or_default();
    object["kind"] = kind.into();
    object.to_string()
}

fn without_status(object: &Value) -> Value {
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

/// Adds the fields of a pod's last version, because a backend may add the gang membership at release.
/// Containers stay unchanged, because later versions are recorded without parts of them.
fn add_membership(pod: &mut Value, last: &Value) {
    for key in ["labels", "annotations"] {
        pod["metadata"][key] = last["metadata"][key].clone();
    }
    for (field, value) in last["spec"].as_object().into_iter().flatten() {
        if !["nodeName", "schedulingGates", "containers", "initContainers"].contains(&field.as_str()) {
            pod["spec"][field] = value.clone();
        }
    }
}

/// Moves an object to another namespace. Labels and annotations may contain it, such as Koordinator's gang
/// groups. So may node selectors, which stay: the copies use the same nodes.
fn moved(mut object: Value, from: &str, to: &str) -> Value {
    for key in ["labels", "annotations"] {
        for value in object["metadata"][key].as_object_mut().into_iter().flat_map(|all| all.values_mut()) {
            if let Some(text) = value.as_str().filter(|text| text.contains(from)) {
                *value = text.replace(from, to).into();
            }
        }
    }
    // A webhook of the stopped operator may select this label, so the copies have another key. Services
    // select pods by it. Without selected pods, kube-scheduler would have half the work.
    for place in ["/metadata/labels", "/spec/selector"] {
        if let Some(labels) = object.pointer_mut(place).and_then(Value::as_object_mut)
            && let Some(operator) = labels.remove(names::MANAGED_BY)
        {
            labels.insert(COPIED_MANAGED_BY.into(), operator);
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
    fn a_copied_pod_has_its_first_containers_and_its_last_membership() {
        let mut bound = pod("s0-0-a-x", "s0-0", Some("n"));
        bound["spec"]["group"] = "g".into();
        bound["spec"]["containers"] = json!([{}]);
        let story = Story::on(Target::KUBE_POD_GANG).added(pod("s0-0-a-x", "s0-0", None)).modified(bound);
        let mut history = story.added(pod("s0-1-a-y", "s0-1", None)).end();
        history.header.namespace = "ns".into();
        let load = Load::of(&history);
        assert_eq!((load.namespace.as_str(), load.gangs.len()), ("ns-alone", 2));
        let (name, copy) = &load.gangs[0].pods[0];
        assert_eq!(name, "s0-0-a-x");
        let copy: Value = serde_json::from_str(copy).unwrap();
        let metadata = json!({"name": "s0-0-a-x", "namespace": "ns-alone",
            "labels": {"grove.io/podgang": "s0-0", (COPIED_MANAGED_BY): "grove-operator"},
            "annotations": {"groups": "[\"ns-alone/s0-0\"]"}});
        let containers = json!([{"name": "main"}]);
        let spec =
            json!({"nodeName": null, "nodeSelector": {"pool": "ns"}, "containers": containers, "group": "g"});
        assert_eq!(copy, json!({"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec}));
    }

    #[test]
    fn copied_services_select_the_copied_pods() {
        let service = json!({"kind": "Service", "apiVersion": "v1", "metadata": {"name": "s0-0", "namespace": "ns"}, "spec": {
            "selector": {"app.kubernetes.io/managed-by": "grove-operator", "app.kubernetes.io/part-of": "s0"}}});
        let load = Load::of(&Story::on(Target::KUBE_POD_GANG).added(service).end());
        let (kind, copy) = &load.shared.resources[0];
        let copy: Value = serde_json::from_str(copy).unwrap();
        assert_eq!(
            (*kind, &copy["spec"]["selector"]),
            ("Service", &json!({(COPIED_MANAGED_BY): "grove-operator", "app.kubernetes.io/part-of": "s0"}))
        );
    }

    #[test]
    fn gang_resources_are_created_with_the_gang_that_owns_them() {
        let kinds = schedulers::of(Target::KUBE_POD_GANG).kinds();
        let resource = |name: &str, owner: &str| {
            json!({"kind": kinds[0], "apiVersion": "g/v1", "metadata": {"name": name, "uid": name,
                "ownerReferences": [{"kind": owner, "name": "s0-0"}]}, "spec": {}})
        };
        let story = Story::on(Target::KUBE_POD_GANG).added(pod("s0-0-a-x", "s0-0", None));
        let load =
            Load::of(&story.added(resource("a", "PodGang")).added(resource("b", "PodCliqueSet")).end());
        let names = |made: &GangObjects| made.resources.iter().map(|(kind, _)| *kind).collect::<Vec<_>>();
        assert_eq!((names(&load.gangs[0]), names(&load.shared)), (vec![kinds[0]], vec![kinds[0]]));
    }
}
