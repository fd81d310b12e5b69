//! All caches of the controller. An index key is `namespace/name` of the object one level up: PodCliqueSet
//! for its children, PodClique for its pods, PodGang for its PodCliques and gang resources.

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

type DynamicCaches = Vec<Informer<DynamicObject>>;
type DynamicFeeds = Vec<(ApiResource, Feed<DynamicObject>)>;

/// Defines the cache and the feed of each kind. The function returns an object's index keys.
macro_rules! cached_kinds {
    ($($(#[$doc:meta])* $name:ident: $kind:ty => $keys:expr,)+) => {
        #[derive(Clone)]
        pub(crate) struct Caches {
            $($(#[$doc])* pub $name: Informer<$kind>,)+
            pub gang_resources: DynamicCaches,
            /// Includes the topology resources of other owners.
            pub topology_resources: DynamicCaches,
            /// Names and labels of the nodes; only if an enabled backend has topology resources.
            pub nodes: Option<Informer<Node>>,
        }

        pub(crate) struct Feeds {
            $(pub $name: Feed<$kind>,)+
            pub gang_resources: DynamicFeeds,
            pub topology_resources: DynamicFeeds,
            pub nodes: Option<Feed<Node>>,
        }

        pub(crate) fn caches(kinds: BackendKinds) -> (Caches, Feeds) {
            $(let $name = informer::<$kind>((), $keys);)+
            let of_gangs = dynamic(kinds.gang_resources, pod_gang_keys);
            let of_topologies = dynamic(kinds.topology_resources, |_| Vec::new());
            let (nodes, node_feed) = kinds.reads_nodes.then(|| informer::<Node>((), |_| Vec::new())).unzip();
            (
                Caches {
                    $($name: $name.0,)+
                    gang_resources: of_gangs.0,
                    topology_resources: of_topologies.0,
                    nodes,
                },
                Feeds {
                    $($name: $name.1,)+
                    gang_resources: of_gangs.1,
                    topology_resources: of_topologies.1,
                    nodes: node_feed,
                },
            )
        }

        impl Caches {
            pub(crate) async fn wait_until_synced(&self) {
                $(self.$name.wait_until_synced().await;)+
                for cache in self.gang_resources.iter().chain(&self.topology_resources) {
                    cache.wait_until_synced().await;
                }
                if let Some(nodes) = &self.nodes {
                    nodes.wait_until_synced().await;
                }
            }
        }
    };
}

cached_kinds! {
    pod_clique_sets: PodCliqueSet => |_| Vec::new(),
    /// Also indexed by scaling group ([`group_key`]), PodGang ([`gang_key`]) and base PodGang ([`base_key`]).
    pod_cliques: PodClique => pod_clique_keys,
    scaling_groups: PodCliqueScalingGroup => |object| by_label(object, LABEL_PART_OF),
    pod_gangs: PodGang => |object| by_label(object, LABEL_PART_OF),
    pods: Pod => |object| by_label(object, LABEL_POD_CLIQUE),
    services: Service => |object| by_label(object, LABEL_PART_OF),
    /// HorizontalPodAutoscalers of any owner.
    autoscalers: HorizontalPodAutoscaler => |object| by_label(object, LABEL_PART_OF),
    resource_claims: ResourceClaim => |object| by_label(object, LABEL_PART_OF),
    topologies: ClusterTopologyBinding => |_| Vec::new(),
}

pub(crate) struct BackendKinds {
    pub gang_resources: Vec<ApiResource>,
    pub topology_resources: Vec<ApiResource>,
    pub reads_nodes: bool,
}

pub(crate) fn object_key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

pub(crate) fn group_key(namespace: &str, pcsg: &str) -> String {
    format!("group:{namespace}/{pcsg}")
}

pub(crate) fn gang_key(namespace: &str, pod_gang: &str) -> String {
    format!("gang:{namespace}/{pod_gang}")
}

/// Index key of the PodCliques whose PodGang is scaled and waits for this base PodGang.
pub(crate) fn base_key(namespace: &str, base: &str) -> String {
    format!("base:{namespace}/{base}")
}

fn dynamic(
    resources: Vec<ApiResource>,
    keys: fn(&DynamicObject) -> Vec<String>,
) -> (DynamicCaches, DynamicFeeds) {
    let all = resources.into_iter().map(|resource| {
        let (cache, feed) = informer(resource.clone(), keys);
        (cache, (resource, feed))
    });
    all.unzip()
}

impl Caches {
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
        let managed = || watcher::Config::default().labels(&format!("{LABEL_MANAGED_BY}={MANAGED_BY_GROVE}"));
        tasks.spawn(self.pod_clique_sets.run(Api::all(client.clone()), all(), unchanged));
        tasks.spawn(self.pod_cliques.run(Api::all(client.clone()), all(), shared_templates::shared));
        tasks.spawn(self.scaling_groups.run(Api::all(client.clone()), all(), unchanged));
        tasks.spawn(self.pod_gangs.run(Api::all(client.clone()), all(), unchanged));
        tasks.spawn(self.pods.run(Api::all(client.clone()), managed(), |pod: Pod, ()| pod.trimmed()));
        tasks.spawn(self.services.run(Api::all(client.clone()), managed(), unchanged));
        tasks.spawn(self.autoscalers.run(Api::all(client.clone()), all(), unchanged));
        tasks.spawn(self.resource_claims.run(Api::all(client.clone()), managed(), unchanged));
        tasks.spawn(self.topologies.run(Api::all(client.clone()), all(), unchanged));
        for (resource, feed) in self.gang_resources.into_iter().chain(self.topology_resources) {
            tasks.spawn(feed.run(Api::all_with(client.clone(), &resource), all(), with_types));
        }
        if let Some(nodes) = self.nodes {
            tasks.spawn(nodes.run(Api::all(client.clone()), all(), without_status));
        }
    }
}

fn unchanged<K>(object: K, (): &()) -> K {
    object
}

/// The status of a node is large and changes often, so it is not requested.
fn without_status(node: PartialObjectMeta<Node>, (): &()) -> Node {
    Node { metadata: ObjectMeta { annotations: None, ..node.metadata }, ..Node::default() }
}

/// Sets `apiVersion` and `kind`, which the items of a list lack.
fn with_types(object: DynamicObject, resource: &ApiResource) -> DynamicObject {
    let types = TypeMeta { api_version: resource.api_version.clone(), kind: resource.kind.clone() };
    DynamicObject { types: Some(types), ..object }
}

fn pod_clique_keys(object: &PodClique) -> Vec<String> {
    let namespace = object.namespace().unwrap_or_default();
    let keyed = |label: &str, key: fn(&str, &str) -> String| {
        object.labels().get(label).map(|value| key(&namespace, value))
    };
    let keys = [
        keyed(LABEL_PART_OF, object_key),
        keyed(LABEL_SCALING_GROUP, group_key),
        keyed(LABEL_POD_GANG, gang_key),
        keyed(LABEL_BASE_POD_GANG, base_key),
    ];
    keys.into_iter().flatten().collect()
}

fn pod_gang_keys(object: &DynamicObject) -> Vec<String> {
    let namespace = object.namespace().unwrap_or_default();
    pod_gang_of(object).map(|pod_gang| object_key(&namespace, &pod_gang)).into_iter().collect()
}

fn by_label(object: &impl ResourceExt, label: &str) -> Vec<String> {
    let value = object.labels().get(label);
    value.map(|value| object_key(&object.namespace().unwrap_or_default(), value)).into_iter().collect()
}

pub(crate) fn pod_gang_of(object: &DynamicObject) -> Option<String> {
    let mut owners = object.owner_references().iter();
    owners.find(|owner| owner.kind == PodGang::kind(&())).map(|owner| owner.name.clone())
}
