//! A cluster that someone else runs. A run installs nothing in it, and removes everything that it creates
//! there.
//!
//! Cases get nodes that KWOK simulates, with their own taint, so that the cluster's own nodes and workloads
//! stay untouched. Alternatively they lease some of the cluster's own nodes, which the harness restores
//! afterwards. Before the first case, the harness reports together all permissions that the kubeconfig's
//! identity lacks. It also reports Grove workloads that do not belong to the run.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use conformance_contract::kinds::Kind;
use conformance_contract::scheduler::Scheduler;
use conformance_install::schedulers::volcano;
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
use super::real_nodes::LentNodes;
use super::sweep::{self, RunLabel};
use super::workers::Workers;
use super::{ClusterError, deploy, volcano_queue};
use crate::access::Access;

/// Concurrent requests to the API server.
const AT_ONCE: usize = 16;
/// Timeout of the first request to the API server.
const ANSWER: Duration = Duration::from_secs(15);
/// How long KWOK may take to run a pod on a new node.
const TAKEN: Duration = Duration::from_secs(15);
/// Pause between attempts to create the probe pod.
const PAUSE: Duration = Duration::from_millis(200);

/// A permission that a run needs in the cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    pub verb: &'static str,
    pub group: String,
    /// The plural, with a subresource if needed, such as `nodes/status`.
    pub resource: String,
    /// The run needs this right only if the cluster serves one of these `GROUP/VERSION`. If empty, it always
    /// needs it.
    pub served_in: Vec<String>,
}

impl std::fmt::Display for Right {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { verb, group, resource, .. } = self;
        if group.is_empty() { write!(f, "{verb} {resource}") } else { write!(f, "{verb} {resource}.{group}") }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    pub access: Access,
    /// Whether the run may start although the cluster has other workloads.
    pub beside_others: bool,
    /// The cluster's own nodes that cases may lease. Without them, KWOK simulates nodes.
    pub lent: Option<LentNodes>,
    /// Whether an earlier run with the same id may have been killed. Its leftovers are removed first.
    pub again: bool,
}

#[derive(Debug)]
pub struct ExistingCluster {
    node_pools: NodePools,
    /// The `key=value` label of the nodes that the run creates.
    run: (String, String),
}

impl ExistingCluster {
    /// Connects, and checks that the run has the rights in `needed` and may list every namespaced kind,
    /// because that is how it finds leftovers. Also checks that the API server serves the `kinds` of the
    /// schedulers. `run` is the label of everything that the run creates.
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
            volcano_queue::is_open(&client).await?;
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
                    // Undo what the failed attempt has changed.
                    sweep::remove_all(&client, RunLabel { key: run.0, run: Some(run.1) }).await?;
                    return Err(error);
                }
            },
        };
        Ok(Self { node_pools, run: (run.0.to_owned(), run.1.to_owned()) })
    }

    /// Waits until KWOK acts as the kubelet of a simulated node: a pod created with that `nodeName` runs.
    /// Creates `namespace` with the run's label, and deletes it afterwards.
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
            // A new namespace has no service account at first, and then rejects pods.
            while let Err(refused) = deploy::create_unless_there(&client, &pod).await {
                tracing::debug!(%refused, "retrying to create the probe pod");
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
                // If the API server never accepted the pod, return its reason instead.
                deploy::create_unless_there(&client, &pod).await?;
                Err(ClusterError::NotReady {
                    what: format!("a kubelet for the simulated node {node}"),
                    seconds: TAKEN.as_secs(),
                    last:
                        "its pods are not started; run KWOK in the cluster, managing nodes with annotation \
                           kwok.x-k8s.io/node=fake"
                            .into(),
                })
            }
        }
    }
}

/// Returns a client after the server has answered.
pub async fn reached(access: &Access) -> Result<Client, ClusterError> {
    reached_in(access, ANSWER).await
}

async fn reached_in(access: &Access, limit: Duration) -> Result<Client, ClusterError> {
    let config = access.config().await?;
    let server = config.cluster_url.to_string();
    let unreachable = |reason: String| access.unreachable(server, reason);
    let client = match Client::try_from(config) {
        Ok(client) => client,
        Err(error) => return Err(unreachable(format!("cannot be connected to: {error}"))),
    };
    match tokio::time::timeout(limit, client.apiserver_version()).await {
        Ok(Ok(_)) => Ok(client),
        Ok(Err(kube::Error::Api(status))) if status.code == 401 => {
            Err(unreachable(format!("rejects the credentials: {}", status.message)))
        }
        // A user who may not read the version may still have the rights that a run needs.
        Ok(Err(kube::Error::Api(_))) => Ok(client),
        Ok(Err(error)) => Err(unreachable(format!("does not answer: {}", causes(&error)))),
        Err(_) => Err(unreachable(format!("did not answer within {} s", limit.as_secs()))),
    }
}

/// An error with all its causes. The last cause explains a connection failure.
fn causes(error: &dyn std::error::Error) -> String {
    let (mut said, mut error) = (error.to_string(), error.source());
    while let Some(cause) = error {
        // Some messages already contain their cause.
        if !said.contains(&cause.to_string()) {
            said = format!("{said}: {cause}");
        }
        error = cause.source();
    }
    said
}

#[derive(Debug, Default)]
struct Served {
    /// `GROUP/VERSION`, or `v1`.
    versions: BTreeSet<String>,
    /// Group and plural of each kind that can be listed, and whether it is namespaced.
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

    /// Checks that the API server serves all of these kinds. A scheduler that lacks one waits for it and
    /// binds no pod; only its log shows this.
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

/// Asks the API server whether the user has all rights that a run needs.
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

/// Asks the API server whether the client's user has these rights in every namespace.
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
        .map_err(|source| ClusterError::api("query the rights of the kubeconfig's user", source))?;
    Ok((!answer.status.is_some_and(|status| status.allowed)).then_some(words))
}

/// Fails if a PodCliqueSet exists that does not belong to a conformance run.
async fn no_others(client: &Client, run_label: &str) -> Result<(), ClusterError> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("grove.io", "v1alpha1", "PodCliqueSet"));
    let sets: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let found = match sets.list(&ListParams::default()).await {
        Ok(found) => found,
        // A cluster without Grove has no PodCliqueSets.
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
        Err(source) => return Err(ClusterError::api("list the existing PodCliqueSets", source)),
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

    /// The harness does not know where the cluster's owner keeps logs.
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

    /// An API server that serves pods and PodGangs, and grants every right that is not in `denied`.
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

    /// A kubeconfig for a server at this port, and the folder that contains it.
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
