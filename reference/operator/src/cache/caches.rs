//! All caches of the controller, and the indexes that relate objects.
//!
//! An index key is `namespace/name` of the object one level up:
//! - the PodCliqueSet for its children
//! - the PodClique for its pods
//! - the PodGang for its PodCliques and gang resources

use std::sync::Arc;

use grove_api::names::{
    ANNOTATION_TOPOLOGY_NAME, LABEL_BASE_POD_GANG, LABEL_MANAGED_BY, LABEL_PART_OF, LABEL_POD_CLIQUE,
    LABEL_POD_GANG, LABEL_SCALING_GROUP, MANAGED_BY_GROVE,
};
use grove_api::{ClusterTopologyBinding, PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang};
use k8s_openapi::api::core::v1::{Node, Service};
use kube::api::{ApiResource, DynamicObject, ObjectMeta, PartialObjectMeta, TypeMeta};
use kube::runtime::watcher;
use kube::{Api, Client, Resource, ResourceExt};
use tokio::task::JoinSet;

use super::informer::{Feed, Informer, informer};
use super::kinds::{HorizontalPodAutoscaler, ResourceClaim};
use super::observed_pod::Pod;
use super::shared_templates;

/// Read side. Unless noted, caches of objects below a PodCliqueSet are indexed by it.
#[derive(Clone)]
pub(crate) struct Caches {
    pub pod_clique_sets: Informer<PodCliqueSet>,
    /// Indexed by PodCliqueSet ([`of`]), scaling group ([`of_group`]), PodGang ([`of_gang`]) and base PodGang
    /// ([`of_base`]).
    pub pod_cliques: Informer<PodClique>,
    pub scaling_groups: Informer<PodCliqueScalingGroup>,
    pub pod_gangs: Informer<PodGang>,
    /// Grove's pods, indexed by PodClique ([`of`]).
    pub pods: Informer<Pod>,
    /// Only Services that Grove manages.
    pub services: Informer<Service>,
    /// All HorizontalPodAutoscalers, regardless of owner.
    pub autoscalers: Informer<HorizontalPodAutoscaler>,
    /// Only ResourceClaims that Grove manages.
    pub resource_claims: Informer<ResourceClaim>,
    pub topologies: Informer<ClusterTopologyBinding>,
    /// Gang resources of the backends, one cache per kind, indexed by PodGang ([`of`]).
    pub gang_resources: Vec<Informer<DynamicObject>>,
    /// Topology resources of the backends, regardless of owner, one cache per kind.
    pub topology_resources: Vec<Informer<DynamicObject>>,
    /// Names and labels of the nodes; only if an enabled backend has topology resources.
    pub nodes: Option<Informer<Node>>,
}

/// Write side of [`Caches`].
pub(crate) struct Feeds {
    pub pod_clique_sets: Feed<PodCliqueSet>,
    pub pod_cliques: Feed<PodClique>,
    pub scaling_groups: Feed<PodCliqueScalingGroup>,
    pub pod_gangs: Feed<PodGang>,
    pub pods: Feed<Pod>,
    pub services: Feed<Service>,
    pub autoscalers: Feed<HorizontalPodAutoscaler>,
    pub resource_claims: Feed<ResourceClaim>,
    pub topologies: Feed<ClusterTopologyBinding>,
    pub gang_resources: Vec<(ApiResource, Feed<DynamicObject>)>,
    pub topology_resources: Vec<(ApiResource, Feed<DynamicObject>)>,
    pub nodes: Option<Feed<Node>>,
}

/// The kinds of the enabled backends, which are cached in addition to Grove's own.
pub(crate) struct BackendKinds {
    pub gang_resources: Vec<ApiResource>,
    pub topology_resources: Vec<ApiResource>,
    /// Whether a backend derives topology resources from nodes.
    pub reads_nodes: bool,
}

pub(crate) fn of(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

pub(crate) fn of_group(namespace: &str, pcsg: &str) -> String {
    format!("group:{namespace}/{pcsg}")
}

pub(crate) fn of_gang(namespace: &str, pod_gang: &str) -> String {
    format!("gang:{namespace}/{pod_gang}")
}

/// Index key of the PodCliques that wait for a base PodGang.
pub(crate) fn of_base(namespace: &str, base: &str) -> String {
    format!("base:{namespace}/{base}")
}

pub(crate) fn caches(kinds: BackendKinds) -> (Caches, Feeds) {
    let (pod_clique_sets, pcs_feed) = informer((), |_: &PodCliqueSet| Vec::new());
    let (pod_cliques, pclq_feed) = informer((), pod_clique_keys);
    let (scaling_groups, pcsg_feed) =
        informer((), |object: &PodCliqueScalingGroup| by_label(object, LABEL_PART_OF));
    let (pod_gangs, pod_gang_feed) = informer((), |object: &PodGang| by_label(object, LABEL_PART_OF));
    let (pods, pod_feed) = informer((), |object: &Pod| by_label(object, LABEL_POD_CLIQUE));
    let (services, service_feed) = informer((), |object: &Service| by_label(object, LABEL_PART_OF));
    let (autoscalers, autoscaler_feed) =
        informer((), |object: &HorizontalPodAutoscaler| by_label(object, LABEL_PART_OF));
    let (resource_claims, claim_feed) =
        informer((), |object: &ResourceClaim| by_label(object, LABEL_PART_OF));
    let (topologies, topology_feed) = informer((), |_: &ClusterTopologyBinding| Vec::new());
    let (gang_caches, gang_feeds) = kinds
        .gang_resources
        .into_iter()
        .map(|resource| {
            let (cache, feed) = informer(resource.clone(), |object: &DynamicObject| {
                pod_gang_of(object)
                    .map(|gang| of(&object.namespace().unwrap_or_default(), &gang))
                    .into_iter()
                    .collect()
            });
            (cache, (resource, feed))
        })
        .unzip();
    let (topology_caches, topology_feeds) = kinds
        .topology_resources
        .into_iter()
        .map(|resource| {
            let (cache, feed) = informer(resource.clone(), |_: &DynamicObject| Vec::new());
            (cache, (resource, feed))
        })
        .unzip();
    let (nodes, node_feed) = kinds.reads_nodes.then(|| informer((), |_: &Node| Vec::new())).unzip();
    let caches = Caches {
        pod_clique_sets,
        pod_cliques,
        scaling_groups,
        pod_gangs,
        pods,
        services,
        autoscalers,
        resource_claims,
        topologies,
        gang_resources: gang_caches,
        topology_resources: topology_caches,
        nodes,
    };
    let feeds = Feeds {
        pod_clique_sets: pcs_feed,
        pod_cliques: pclq_feed,
        scaling_groups: pcsg_feed,
        pod_gangs: pod_gang_feed,
        pods: pod_feed,
        services: service_feed,
        autoscalers: autoscaler_feed,
        resource_claims: claim_feed,
        topologies: topology_feed,
        gang_resources: gang_feeds,
        topology_resources: topology_feeds,
        nodes: node_feed,
    };
    (caches, feeds)
}

impl Caches {
    pub(crate) async fn settled(&self) {
        self.pod_clique_sets.settled().await;
        self.pod_cliques.settled().await;
        self.scaling_groups.settled().await;
        self.pod_gangs.settled().await;
        self.pods.settled().await;
        self.services.settled().await;
        self.autoscalers.settled().await;
        self.resource_claims.settled().await;
        self.topologies.settled().await;
        for cache in self.gang_resources.iter().chain(&self.topology_resources) {
            cache.settled().await;
        }
        if let Some(nodes) = &self.nodes {
            nodes.settled().await;
        }
    }

    pub(crate) fn topology_of(&self, pod_gang: &PodGang) -> Option<Arc<ClusterTopologyBinding>> {
        let name = pod_gang.annotations().get(ANNOTATION_TOPOLOGY_NAME)?;
        self.topologies.get(None, name)
    }

    pub(crate) fn topology_resources_of(&self, kinds: &[ApiResource]) -> Vec<Arc<DynamicObject>> {
        let caches = self.topology_resources.iter().filter(|cache| kinds.contains(&cache.dyntype));
        caches.flat_map(|cache| cache.store.state()).collect()
    }
}

impl Feeds {
    pub(crate) fn watch(self, client: &Client, tasks: &mut JoinSet<()>) {
        let all = watcher::Config::default;
        let ours = || watcher::Config::default().labels(&format!("{LABEL_MANAGED_BY}={MANAGED_BY_GROVE}"));
        tasks.spawn(self.pod_clique_sets.run(Api::all(client.clone()), all(), whole));
        tasks.spawn(self.pod_cliques.run(Api::all(client.clone()), all(), shared_templates::shared));
        tasks.spawn(self.scaling_groups.run(Api::all(client.clone()), all(), whole));
        tasks.spawn(self.pod_gangs.run(Api::all(client.clone()), all(), whole));
        tasks.spawn(self.pods.run(Api::all(client.clone()), ours(), |pod: Pod, ()| pod.trimmed()));
        tasks.spawn(self.services.run(Api::all(client.clone()), ours(), whole));
        tasks.spawn(self.autoscalers.run(Api::all(client.clone()), all(), whole));
        tasks.spawn(self.resource_claims.run(Api::all(client.clone()), ours(), whole));
        tasks.spawn(self.topologies.run(Api::all(client.clone()), all(), whole));
        for (resource, feed) in self.gang_resources.into_iter().chain(self.topology_resources) {
            tasks.spawn(feed.run(Api::all_with(client.clone(), &resource), all(), typed));
        }
        if let Some(nodes) = self.nodes {
            tasks.spawn(nodes.run(Api::all(client.clone()), all(), labelled));
        }
    }
}

fn whole<K>(object: K, (): &()) -> K {
    object
}

/// Keeps a node's name and labels. Its status is large and changes often, so it is not even requested.
fn labelled(node: PartialObjectMeta<Node>, (): &()) -> Node {
    Node { metadata: ObjectMeta { annotations: None, ..node.metadata }, ..Node::default() }
}

/// Items of a list lack `apiVersion` and `kind`.
fn typed(object: DynamicObject, resource: &ApiResource) -> DynamicObject {
    let types = TypeMeta { api_version: resource.api_version.clone(), kind: resource.kind.clone() };
    DynamicObject { types: Some(types), ..object }
}

fn pod_clique_keys(object: &PodClique) -> Vec<String> {
    let namespace = object.namespace().unwrap_or_default();
    let keyed = |label: &str, key: fn(&str, &str) -> String| {
        object.labels().get(label).map(|value| key(&namespace, value))
    };
    let keys = [
        keyed(LABEL_PART_OF, of),
        keyed(LABEL_SCALING_GROUP, of_group),
        keyed(LABEL_POD_GANG, of_gang),
        keyed(LABEL_BASE_POD_GANG, of_base),
    ];
    keys.into_iter().flatten().collect()
}

fn by_label(object: &impl ResourceExt, label: &str) -> Vec<String> {
    let value = object.labels().get(label);
    value.map(|value| of(&object.namespace().unwrap_or_default(), value)).into_iter().collect()
}

pub(crate) fn pod_gang_of(object: &DynamicObject) -> Option<String> {
    let mut owners = object.owner_references().iter();
    owners.find(|owner| owner.kind == PodGang::kind(&())).map(|owner| owner.name.clone())
}
