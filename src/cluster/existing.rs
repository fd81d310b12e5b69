//! A cluster that someone else runs: nothing is installed in it, and everything that a run creates there is
//! removed.
//!
//! Cases get nodes that KWOK simulates, with their own taint, so that the cluster's own nodes and workloads are
//! left alone; or some of the cluster's own, which are given back as they were. Before the first case, all permissions that the kubeconfig's identity lacks are reported together,
//! and so are Grove workloads that are not the run's.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use conformance_contract::kinds::Kind;
use conformance_contract::scheduler::Scheduler;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DynamicObject, ListParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::discovery::{Discovery, Scope, verbs};
use kube::runtime::wait::{await_condition, conditions::is_pod_running};
use kube::{Client, ResourceExt};
use serde_json::json;

use super::node_pools::NodePools;
use super::provider::{Logs, Provider};
use super::schedulers::volcano;
use super::sweep::{self, RunLabel};
use super::workers::Workers;
use super::{ClusterError, deploy};
use crate::access::Access;

/// Concurrent requests to the API server.
const AT_ONCE: usize = 16;
/// The API server answers its first question.
const ANSWER: Duration = Duration::from_secs(15);
/// KWOK takes a new node.
const TAKEN: Duration = Duration::from_secs(15);
/// Between two tries to create its pod.
const PAUSE: Duration = Duration::from_millis(200);

/// Something that a run does there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// What, such as `list`.
    pub verb: &'static str,
    /// The API group; empty for Kubernetes' core.
    pub group: String,
    /// The plural, with its subresource if it is about one, such as `nodes/status`.
    pub resource: String,
    /// It is done only where one of these `GROUP/VERSION` is served; nothing, if it is done everywhere.
    pub served_in: Vec<String>,
}

impl std::fmt::Display for Right {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { verb, group, resource, .. } = self;
        if group.is_empty() { write!(f, "{verb} {resource}") } else { write!(f, "{verb} {resource}.{group}") }
    }
}

/// How a run uses such a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// How it is reached.
    pub access: Access,
    /// Whether other workloads there are no obstacle.
    pub beside_others: bool,
    /// The cluster's own nodes that cases may have; without any they are simulated by KWOK.
    pub lent: Option<LentNodes>,
    /// Whether a run of the same id may have begun before, and was killed: what it has left is removed first.
    pub again: bool,
}

/// Nodes of a cluster that are lent to cases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LentNodes {
    /// The label that they carry, `KEY=VALUE`.
    pub selector: String,
    /// Where several runs share them out: which share this is, from 0, of how many. Nodes are dealt in turn, by name.
    pub share: Option<(usize, usize)>,
}

/// A cluster that the harness did not create.
#[derive(Debug)]
pub struct ExistingCluster {
    node_pools: NodePools,
    /// `key=value` of the nodes that the run makes.
    run: (String, String),
}

impl ExistingCluster {
    /// Connects, and looks whether the run may do there what it has to: what is `needed`, and to list every kind that a
    /// namespace may hold, for that is how leftovers are found; and whether the `kinds` of the schedulers are served. `run` is
    /// the label of everything that it makes.
    ///
    /// # Errors
    /// [`ClusterError::Kubeconfig`]; [`ClusterError::Unreachable`]; [`ClusterError::ForeignWorkloads`] for a cluster with
    /// workloads of others unless `beside_others`; [`ClusterError::Rights`] with everything that is not allowed;
    /// [`ClusterError::NotServed`], [`ClusterError::QueueNotOpen`]; [`ClusterError::NoNodes`].
    pub async fn connect(
        way: &Connection,
        run: (&str, &str),
        mut needed: Vec<Right>,
        kinds: &[Kind],
    ) -> Result<Self, ClusterError> {
        if way.lent.is_some() {
            let of_nodes = ["get", "patch"].map(|verb| Right {
                verb,
                group: String::new(),
                resource: "nodes".into(),
                served_in: Vec::new(),
            });
            needed.extend(of_nodes);
        }
        let client = reached(&way.access).await?;
        let served = Served::by(&client).await?;
        allowed(&client, &served, needed).await?;
        served.holds(kinds)?;
        if kinds.iter().any(|kind| kind.scheduler == Some(volcano::SCHEDULER)) {
            volcano::queue_is_open(&client).await?;
        }
        if way.again {
            sweep::removed(&client, RunLabel { key: run.0, run: Some(run.1) }).await?;
        }
        if !way.beside_others {
            no_others(&client, run.0).await?;
        }
        let node_pools = match &way.lent {
            None => NodePools::Simulated(client),
            Some(lent) => match Workers::of_somebody_else(client.clone(), lent, run).await {
                Ok(workers) => NodePools::Workers(workers),
                Err(error) => {
                    // What it has done by then is undone.
                    sweep::remove_all(&client, RunLabel { key: run.0, run: Some(run.1) }).await?;
                    return Err(error);
                }
            },
        };
        Ok(Self { node_pools, run: (run.0.to_owned(), run.1.to_owned()) })
    }

    /// Waits until a simulated node works, KWOK acting as its kubelet: a pod created with that `nodeName` runs.
    /// `namespace` is made for it, with the run's label, and goes with it.
    ///
    /// # Errors
    /// [`ClusterError::NotReady`], [`ClusterError::Api`].
    pub async fn simulates(&self, namespace: &str, node: &str) -> Result<(), ClusterError> {
        let client = self.client();
        let made = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": namespace, "labels": {(&self.run.0): self.run.1}}});
        deploy::create_unless_there(&client, &made).await?;
        let runs = Box::pin(self.probe(namespace, node)).await;
        deploy::delete_namespace(&client, namespace).await?;
        runs
    }

    async fn probe(&self, namespace: &str, node: &str) -> Result<(), ClusterError> {
        let client = self.client();
        let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "probe", "namespace": namespace},
        "spec": {
            "nodeName": node,
            "automountServiceAccountToken": false,
            "terminationGracePeriodSeconds": 0,
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "pause", "image": "registry.k8s.io/pause:3.10"}],
        }});
        let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
        let runs = async {
            // A namespace has no service account in its first moment, and then takes no pods.
            while let Err(refused) = deploy::create_unless_there(&client, &pod).await {
                tracing::debug!(%refused, "the probe pod is tried again");
                tokio::time::sleep(PAUSE).await;
            }
            let running = await_condition(pods, "probe", is_pod_running()).await;
            running.map_err(|source| ClusterError::Watch {
                what: "the probe pod".into(),
                source: Box::new(source),
            })
        };
        match tokio::time::timeout(TAKEN, runs).await {
            Ok(runs) => runs.map(drop),
            Err(_) => {
                // Where it was never taken, why is the better answer.
                deploy::create_unless_there(&client, &pod).await?;
                Err(ClusterError::NotReady {
                    what: format!("a kubelet for the simulated node {node}"),
                    seconds: TAKEN.as_secs(),
                    last: "nobody runs its pods; run KWOK there, managing nodes with annotation \
                           kwok.x-k8s.io/node=fake"
                        .into(),
                })
            }
        }
    }
}

/// A client of a server that has answered.
///
/// # Errors
/// [`ClusterError::Kubeconfig`], [`ClusterError::ServiceAccount`]; [`ClusterError::Unreachable`].
pub async fn reached(access: &Access) -> Result<Client, ClusterError> {
    reached_in(access, ANSWER).await
}

async fn reached_in(access: &Access, limit: Duration) -> Result<Client, ClusterError> {
    let config = access.config().await?;
    let server = config.cluster_url.to_string();
    let unreachable = |reason: String| ClusterError::Unreachable { access: access.clone(), server, reason };
    let client = match Client::try_from(config) {
        Ok(client) => client,
        Err(error) => return Err(unreachable(format!("cannot be connected to: {error}"))),
    };
    match tokio::time::timeout(limit, client.apiserver_version()).await {
        Ok(Ok(_)) => Ok(client),
        Ok(Err(kube::Error::Api(status))) if status.code == 401 => {
            Err(unreachable(format!("does not know its user: {}", status.message)))
        }
        // Who may not ask for the version may be allowed what a run needs.
        Ok(Err(kube::Error::Api(_))) => Ok(client),
        Ok(Err(error)) => Err(unreachable(format!("does not answer: {}", causes(&error)))),
        Err(_) => Err(unreachable(format!("did not answer within {} s", limit.as_secs()))),
    }
}

/// An error with all that is behind it: that of a connection is told by its last cause.
fn causes(error: &dyn std::error::Error) -> String {
    let (mut said, mut error) = (error.to_string(), error.source());
    while let Some(cause) = error {
        // Some tell their cause already.
        if !said.contains(&cause.to_string()) {
            said = format!("{said}: {cause}");
        }
        error = cause.source();
    }
    said
}

/// What an API server serves.
#[derive(Debug, Default)]
struct Served {
    /// `GROUP/VERSION`, or `v1`.
    versions: BTreeSet<String>,
    /// Group and plural of what can be listed, and whether it lives in namespaces.
    listed: BTreeSet<(String, String, bool)>,
}

impl Served {
    async fn by(client: &Client) -> Result<Self, ClusterError> {
        let failed = |source| ClusterError::api("discover the kinds of the API server", source);
        let discovery = Discovery::new(client.clone()).run().await.map_err(failed)?;
        let mut served = Self::default();
        for group in discovery.groups() {
            served.versions.extend(group.versions().map(|version| match group.name() {
                "" => version.to_owned(),
                name => format!("{name}/{version}"),
            }));
            let listed = group.resources_by_stability().into_iter();
            let listed = listed.filter(|(_, able)| able.supports_operation(verbs::LIST));
            served.listed.extend(
                listed.map(|(kind, able)| (kind.group, kind.plural, able.scope == Scope::Namespaced)),
            );
        }
        Ok(served)
    }

    /// Whether all of these are served. A scheduler that misses one waits for it and binds no pod at all; only its log says so.
    fn holds(&self, kinds: &[Kind]) -> Result<(), ClusterError> {
        let is_served = |kind: &&Kind| {
            let group = kind.api_version.split_once('/').map_or("", |(group, _)| group);
            kind.served(&self.versions).is_some_and(|kind| self.versions.contains(kind.api_version))
                && self.listed.contains(&(group.to_owned(), kind.plural.to_owned(), kind.namespaced))
        };
        let missing: Vec<_> = kinds
            .iter()
            .filter(|kind| !is_served(kind))
            .map(|kind| format!("{} of {}", kind.plural, kind.api_version))
            .collect();
        if missing.is_empty() { Ok(()) } else { Err(ClusterError::NotServed { missing }) }
    }
}

/// Asks the API server about everything that a run does.
async fn allowed(client: &Client, served: &Served, needed: Vec<Right>) -> Result<(), ClusterError> {
    let in_namespaces = served.listed.iter().filter(|(.., namespaced)| *namespaced);
    let mut rights: BTreeSet<_> = in_namespaces
        .map(|(group, plural, _)| Right {
            verb: "list",
            group: group.clone(),
            resource: plural.clone(),
            served_in: Vec::new(),
        })
        .collect();
    let is_done = |right: &Right| {
        right.served_in.is_empty() || right.served_in.iter().any(|version| served.versions.contains(version))
    };
    let needed = needed.into_iter().filter(is_done);
    rights.extend(needed.map(|right| Right { served_in: Vec::new(), ..right }));
    granted(client, rights).await
}

/// Asks the API server whether the client's user has these rights, in every namespace.
///
/// # Errors
/// [`ClusterError::Rights`] with those that are missing; [`ClusterError::Api`].
pub async fn granted(client: &Client, rights: impl IntoIterator<Item = Right>) -> Result<(), ClusterError> {
    let reviews: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let answers = futures::stream::iter(rights).map(|right| is_missing(&reviews, right));
    let missing: Vec<Option<String>> = answers.buffered(AT_ONCE).try_collect().await?;
    let missing: Vec<String> = missing.into_iter().flatten().collect();
    if missing.is_empty() { Ok(()) } else { Err(ClusterError::Rights { missing }) }
}

/// The right as `VERB RESOURCE.GROUP`, unless the API server grants it.
async fn is_missing(
    reviews: &Api<SelfSubjectAccessReview>,
    right: Right,
) -> Result<Option<String>, ClusterError> {
    let words = right.to_string();
    let (resource, subresource) = match right.resource.split_once('/') {
        Some((resource, subresource)) => (resource.to_owned(), Some(subresource.to_owned())),
        None => (right.resource, None),
    };
    let attributes = ResourceAttributes {
        verb: Some(right.verb.into()),
        group: Some(right.group),
        resource: Some(resource),
        subresource,
        ..ResourceAttributes::default()
    };
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() },
        ..Default::default()
    };
    let answer = reviews
        .create(&PostParams::default(), &review)
        .await
        .map_err(|source| ClusterError::api("ask what the kubeconfig's user may do", source))?;
    Ok((!answer.status.is_some_and(|status| status.allowed)).then_some(words))
}

/// Whether every PodCliqueSet there is a conformance run's.
async fn no_others(client: &Client, run_label: &str) -> Result<(), ClusterError> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("grove.io", "v1alpha1", "PodCliqueSet"));
    let sets: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let found = match sets.list(&ListParams::default()).await {
        Ok(found) => found,
        // A cluster without Grove has none.
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
        Err(source) => return Err(ClusterError::api("list the PodCliqueSets there are", source)),
    };
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client.clone());
    let ours: Vec<String> = namespaces
        .list(&ListParams::default().labels(run_label))
        .await
        .map_err(|source| ClusterError::api("list the namespaces of runs", source))?
        .into_iter()
        .map(|namespace| namespace.name_any())
        .collect();
    let others: Vec<_> = found
        .into_iter()
        .filter(|set| set.namespace().is_none_or(|namespace| !ours.contains(&namespace)))
        .map(|set| format!("{}/{}", set.namespace().unwrap_or_default(), set.name_any()))
        .collect();
    if others.is_empty() {
        return Ok(());
    }
    Err(ClusterError::ForeignWorkloads { sets: others })
}

#[async_trait]
impl Provider for ExistingCluster {
    fn name(&self) -> &'static str {
        "existing"
    }

    fn client(&self) -> Client {
        self.node_pools.client()
    }

    fn node_pools(&self) -> &NodePools {
        &self.node_pools
    }

    fn logs(&self, scheduler: Scheduler) -> Logs {
        Logs::now(scheduler)
    }

    /// Where its owner keeps logs is not known.
    async fn export_logs(&self, _: &Logs, _: &Path) -> Result<(), ClusterError> {
        Ok(())
    }

    async fn end(&self, _: bool) -> Result<(), ClusterError> {
        sweep::remove_all(&self.client(), RunLabel { key: &self.run.0, run: Some(&self.run.1) }).await
    }
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::Value;
    use tower_test::mock;

    use super::*;

    /// An API server that serves pods and PodGangs, and grants what is not denied.
    fn client(denied: &'static [&'static str]) -> Client {
        let (service, mut handle) = mock::pair::<Request<Body>, Response<Body>>();
        tokio::spawn(async move {
            while let Some((request, send)) = handle.next_request().await {
                let resources = |group_version: &str, plural: &str, kind: &str| {
                    json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": [
                        {"name": plural, "singularName": "", "namespaced": true, "kind": kind, "verbs": ["list"]}]})
                };
                let path = request.uri().path().to_owned();
                let body = match path.as_str() {
                    "/apis" => json!({"kind": "APIGroupList", "groups": [{"name": "scheduler.grove.io",
                        "versions": [{"groupVersion": "scheduler.grove.io/v1alpha1", "version": "v1alpha1"}]}]}),
                    "/api" => {
                        json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
                    }
                    "/api/v1" => resources("v1", "pods", "Pod"),
                    "/apis/scheduler.grove.io/v1alpha1" => {
                        resources("scheduler.grove.io/v1alpha1", "podgangs", "PodGang")
                    }
                    _ => {
                        let raw = request.into_body().collect_bytes().await.unwrap();
                        let mut review: Value = serde_json::from_slice(&raw).unwrap();
                        let asked = &review["spec"]["resourceAttributes"];
                        let part = |key: &str| asked[key].as_str().unwrap_or_default();
                        let words = format!("{} {}/{}", part("verb"), part("resource"), part("subresource"));
                        review["status"] = json!({"allowed": !denied.contains(&words.as_str())});
                        review
                    }
                };
                let body = Body::from(body.to_string().into_bytes());
                send.send_response(Response::builder().status(200).body(body).unwrap());
            }
        });
        Client::new(service, "default")
    }

    /// A kubeconfig for a server at that port, and the folder that it lies in.
    fn kubeconfig(port: u16) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
             clusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:{port}'}}}}]\n\
             contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\nusers: [{{name: u, user: {{}}}}]\n"
        );
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[tokio::test]
    async fn a_server_that_does_not_answer_is_named_with_its_file() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let (_folder, path) = kubeconfig(silent.local_addr().unwrap().port());
        let access = Access::Kubeconfig(path.clone());
        let error = reached_in(&access, Duration::from_secs(1)).await.err().unwrap().to_string();
        assert!(error.contains("did not answer within 1 s") && error.contains("http://127.0.0.1"), "{error}");
        drop(silent);
        let error = reached(&access).await.err().unwrap().to_string();
        let says = ["does not answer: ", "refused", "http://127.0.0.1", &path.display().to_string()];
        assert!(says.iter().all(|words| error.contains(words)), "{error}");
    }

    #[rstest::rstest]
    #[case::all_granted(&[], &[])]
    #[case::several(&["watch pods/", "patch nodes/status"], &["patch nodes/status", "watch pods"])]
    #[case::leftovers_could_not_be_found(&["list podgangs/"], &["list podgangs.scheduler.grove.io"])]
    #[case::not_served_there(&["watch hypernodes/"], &[])]
    #[tokio::test]
    async fn everything_that_is_missing_is_named(
        #[case] denied: &'static [&'static str],
        #[case] missing: &[&str],
    ) {
        let right = |verb: &'static str, group: &str, resource: &str, served_in: &[&str]| Right {
            verb,
            group: group.into(),
            resource: resource.into(),
            served_in: served_in.iter().map(|version| (*version).to_owned()).collect(),
        };
        let needed = vec![
            right("watch", "", "pods", &["v1"]),
            right("patch", "", "nodes/status", &[]),
            right("watch", "topology.volcano.sh", "hypernodes", &["topology.volcano.sh/v1alpha1"]),
        ];
        let client = client(denied);
        let served = Served::by(&client).await.unwrap();
        match allowed(&client, &served, needed).await {
            Ok(()) => assert!(missing.is_empty()),
            Err(ClusterError::Rights { missing: found }) => assert_eq!(found, missing),
            Err(other) => panic!("{other}"),
        }
    }

    #[rstest::rstest]
    #[case::all(&["queues"], &["v1beta1"], &[])]
    #[case::one_lacks(&[], &["v1beta1"], &["queues of scheduling.volcano.sh/v1beta1"])]
    #[case::another_version(&["queues"], &["v2"], &["podgroups of scheduling.volcano.sh/v1beta1", "queues of scheduling.volcano.sh/v1beta1"])]
    fn kinds_that_a_scheduler_would_wait_for_are_named(
        #[case] besides: &[&str],
        #[case] versions: &[&str],
        #[case] wanted: &[&str],
    ) {
        let group = "scheduling.volcano.sh";
        let listed = besides.iter().map(|plural| (group.to_owned(), (*plural).to_owned(), false));
        let served = Served {
            versions: versions.iter().map(|version| format!("{group}/{version}")).collect(),
            listed: listed.chain([(group.to_owned(), "podgroups".to_owned(), true)]).collect(),
        };
        let kinds = ["PodGroup.scheduling.volcano.sh", "Queue.scheduling.volcano.sh"];
        let kinds: Vec<Kind> = kinds.iter().filter_map(|name| Kind::named(name)).copied().collect();
        match served.holds(&kinds) {
            Ok(()) => assert!(wanted.is_empty()),
            Err(ClusterError::NotServed { missing }) => assert_eq!(missing, wanted),
            Err(other) => panic!("{other}"),
        }
    }
}
