//! The state that all reconcilers share. `triggers` fills the `queues`, and `runtime` drains them.

pub(crate) mod action;
mod changes;
pub(crate) mod children;
pub(crate) mod error;
pub(crate) mod events;
pub(crate) mod failures;
pub(crate) mod fault_injection;
pub(crate) mod flow;
mod gang_triggers;
pub(crate) mod init_access;
pub(crate) mod metrics;
pub(crate) mod namespace_termination;
pub(crate) mod queues;
pub(crate) mod releases;
pub(crate) mod stable_messages;
pub(crate) mod synced_gangs;
#[cfg(test)]
pub(crate) mod test_api;
pub(crate) mod triggers;
mod wakes;
pub(crate) mod writes;

use grove_api::PodGang;
use grove_api::names::LABEL_SCHEDULER_NAME;
use kube::{Client, ResourceExt};

use crate::backend::{Registry, Served};
use crate::cache::caches::Caches;
use crate::cache::evictions::Evictions;
use crate::cache::expectations::Expectations;
use crate::cache::remembered_replicas::RememberedReplicas;
use crate::cache::written_versions::WrittenVersions;
use crate::plan::pod_gang_names::PodGangNames;
use events::Events;
use flow::Flow;
use init_access::InitAccess;
use metrics::Metrics;
use namespace_termination::TerminatingNamespaces;
use queues::Queues;
use releases::Releases;
use stable_messages::StableMessages;
use synced_gangs::SyncedGangs;

pub(crate) struct Context {
    pub client: Client,
    pub registry: Registry,
    pub caches: Caches,
    pub queues: Queues,
    pub events: Events,
    pub metrics: Metrics,
    pub synced: SyncedGangs,
    pub messages: StableMessages,
    pub releases: Releases,
    pub flow: Flow,
    pub expectations: Expectations,
    pub written: WrittenVersions,
    pub remembered: RememberedReplicas,
    pub evictions: Evictions,
    pub init_access: InitAccess,
    pub init_image: String,
    pub terminating: TerminatingNamespaces,
    pub pod_gang_names: PodGangNames,
}

impl Context {
    pub(crate) fn new(
        client: Client,
        registry: Registry,
        caches: Caches,
        queues: Queues,
        init_image: String,
    ) -> Self {
        Self {
            events: Events::new(client.clone()),
            client,
            registry,
            caches,
            queues,
            metrics: Metrics::default(),
            synced: SyncedGangs::default(),
            messages: StableMessages::default(),
            releases: Releases::default(),
            flow: Flow::default(),
            expectations: Expectations::default(),
            written: WrittenVersions::default(),
            remembered: RememberedReplicas::default(),
            evictions: Evictions::default(),
            init_access: InitAccess::default(),
            init_image,
            terminating: TerminatingNamespaces::default(),
            pod_gang_names: PodGangNames::default(),
        }
    }

    pub(crate) fn serve(&self, pod_gang: &PodGang) -> Served {
        let scheduler = pod_gang.labels().get(LABEL_SCHEDULER_NAME).map(String::as_str);
        self.registry.serve(scheduler, self.caches.pod_clique_set_of(pod_gang).as_deref())
    }
}
