//! Every cache of the controller, and how objects find each other in them.
//!
//! Index keys are `namespace/name` of the object one level up: the PodCliqueSet for what it made, the
//! PodClique for its pods, the PodGang for its PodCliques and gang resources.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Pod, Service};
use kube::api::{ApiResource, DynamicObject, TypeMeta};
use kube::runtime::watcher;
use kube::{Api, Client, Resource, ResourceExt};
use tokio::task::JoinSet;

use super::informer::{Feed, Informer, informer};
use crate::api::names::{
    LABEL_BASE_POD_GANG, LABEL_MANAGED_BY, LABEL_PART_OF, LABEL_POD_CLIQUE, LABEL_POD_GANG,
    LABEL_SCALING_GROUP, MANAGED_BY_GROVE,
};
use crate::api::{ClusterTopologyBinding, PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang};

/// The reading ends.
#[derive(Clone)]
pub struct Caches {
    /// PodCliqueSets.
    pub pod_clique_sets: Informer<PodCliqueSet>,
    /// PodCliques by PodCliqueSet ([`of`]), scaling group ([`of_group`]), PodGang ([`of_gang`]) and base
    /// PodGang ([`of_base`]).
    pub pod_cliques: Informer<PodClique>,
    /// PodCliqueScalingGroups by PodCliqueSet.
    pub scaling_groups: Informer<PodCliqueScalingGroup>,
    /// PodGangs by PodCliqueSet.
    pub pod_gangs: Informer<PodGang>,
    /// Grove's pods by PodClique ([`of`]).
    pub pods: Informer<Pod>,
    /// Grove's Services by PodCliqueSet.
    pub services: Informer<Service>,
    /// ClusterTopologyBindings.
    pub topologies: Informer<ClusterTopologyBinding>,
    /// The backends' gang resources, one cache per kind, by PodGang ([`of`]).
    pub gang_resources: Vec<Informer<DynamicObject>>,
}

/// The writing ends.
pub struct Feeds {
    /// See [`Caches::pod_clique_sets`].
    pub pod_clique_sets: Feed<PodCliqueSet>,
    /// See [`Caches::pod_cliques`].
    pub pod_cliques: Feed<PodClique>,
    /// See [`Caches::scaling_groups`].
    pub scaling_groups: Feed<PodCliqueScalingGroup>,
    /// See [`Caches::pod_gangs`].
    pub pod_gangs: Feed<PodGang>,
    /// See [`Caches::pods`].
    pub pods: Feed<Pod>,
    /// See [`Caches::services`].
    pub services: Feed<Service>,
    /// See [`Caches::topologies`].
    pub topologies: Feed<ClusterTopologyBinding>,
    /// See [`Caches::gang_resources`].
    pub gang_resources: Vec<(ApiResource, Feed<DynamicObject>)>,
}

/// Index key of what belongs to the object of that name.
pub fn of(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

/// Index key of the PodCliques of a scaling group.
pub fn of_group(namespace: &str, pcsg: &str) -> String {
    format!("group:{namespace}/{pcsg}")
}

/// Index key of the PodCliques of a PodGang.
pub fn of_gang(namespace: &str, pod_gang: &str) -> String {
    format!("gang:{namespace}/{pod_gang}")
}

/// Index key of the PodCliques that wait for a base PodGang.
pub fn of_base(namespace: &str, base: &str) -> String {
    format!("base:{namespace}/{base}")
}

/// All caches, empty. `gang_resources` are the kinds of the enabled backends.
pub fn caches(gang_resources: Vec<ApiResource>) -> (Caches, Feeds) {
    let (pod_clique_sets, pcs_feed) = informer((), |_: &PodCliqueSet| Vec::new());
    let (pod_cliques, pclq_feed) = informer((), pod_clique_keys);
    let (scaling_groups, pcsg_feed) =
        informer((), |object: &PodCliqueScalingGroup| by_label(object, LABEL_PART_OF));
    let (pod_gangs, pod_gang_feed) = informer((), |object: &PodGang| by_label(object, LABEL_PART_OF));
    let (pods, pod_feed) = informer((), |object: &Pod| by_label(object, LABEL_POD_CLIQUE));
    let (services, service_feed) = informer((), |object: &Service| by_label(object, LABEL_PART_OF));
    let (topologies, topology_feed) = informer((), |_: &ClusterTopologyBinding| Vec::new());
    let (gang_caches, gang_feeds) = gang_resources
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
    let caches = Caches {
        pod_clique_sets,
        pod_cliques,
        scaling_groups,
        pod_gangs,
        pods,
        services,
        topologies,
        gang_resources: gang_caches,
    };
    let feeds = Feeds {
        pod_clique_sets: pcs_feed,
        pod_cliques: pclq_feed,
        scaling_groups: pcsg_feed,
        pod_gangs: pod_gang_feed,
        pods: pod_feed,
        services: service_feed,
        topologies: topology_feed,
        gang_resources: gang_feeds,
    };
    (caches, feeds)
}

impl Caches {
    /// Returns once every cache is complete.
    pub async fn settled(&self) {
        self.pod_clique_sets.settled().await;
        self.pod_cliques.settled().await;
        self.scaling_groups.settled().await;
        self.pod_gangs.settled().await;
        self.pods.settled().await;
        self.services.settled().await;
        self.topologies.settled().await;
        for cache in &self.gang_resources {
            cache.settled().await;
        }
    }

    /// The gang resources that `pod_gang` controls.
    pub fn gang_resources_of(&self, pod_gang: &PodGang) -> Vec<Arc<DynamicObject>> {
        let key = of(&pod_gang.namespace().unwrap_or_default(), &pod_gang.name_any());
        let found = self.gang_resources.iter().flat_map(|cache| cache.indexed(&key));
        found.filter(|object| super::ownership::is_controlled_by(&**object, pod_gang)).collect()
    }
}

impl Feeds {
    /// Starts all watches.
    pub fn watch(self, client: &Client, tasks: &mut JoinSet<()>) {
        let all = watcher::Config::default;
        let ours = || watcher::Config::default().labels(&format!("{LABEL_MANAGED_BY}={MANAGED_BY_GROVE}"));
        tasks.spawn(self.pod_clique_sets.run(Api::all(client.clone()), all(), |_, ()| {}));
        tasks.spawn(self.pod_cliques.run(Api::all(client.clone()), all(), |_, ()| {}));
        tasks.spawn(self.scaling_groups.run(Api::all(client.clone()), all(), |_, ()| {}));
        tasks.spawn(self.pod_gangs.run(Api::all(client.clone()), all(), |_, ()| {}));
        tasks.spawn(self.pods.run(Api::all(client.clone()), ours(), |pod, ()| trim_pod(pod)));
        tasks.spawn(self.services.run(Api::all(client.clone()), ours(), |_, ()| {}));
        tasks.spawn(self.topologies.run(Api::all(client.clone()), all(), |_, ()| {}));
        for (resource, feed) in self.gang_resources {
            let api = Api::all_with(client.clone(), &resource);
            tasks.spawn(feed.run(api, all(), |object, resource| object.types = Some(type_meta(resource))));
        }
    }
}

/// Takes off what only a kubelet needs; there may be thousands of pods.
fn trim_pod(pod: &mut Pod) {
    pod.annotations_mut().clear();
    if let Some(spec) = &mut pod.spec {
        spec.containers.clear();
        spec.init_containers = None;
        spec.volumes = None;
        spec.tolerations = None;
    }
}

/// Items of a list do not say what they are.
fn type_meta(resource: &ApiResource) -> TypeMeta {
    TypeMeta { api_version: resource.api_version.clone(), kind: resource.kind.clone() }
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

/// Name of the PodGang that owns a gang resource.
pub fn pod_gang_of(object: &DynamicObject) -> Option<String> {
    let mut owners = object.owner_references().iter();
    owners.find(|owner| owner.kind == PodGang::kind(&())).map(|owner| owner.name.clone())
}
