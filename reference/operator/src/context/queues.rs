//! The inboxes of the reconcilers. They stay closed while this process waits for leadership, because no
//! reconciler reads them yet.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use grove_api::{ClusterTopologyBinding, PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang};
use kube::runtime::reflector::ObjectRef;
use kube::{Resource, ResourceExt};

use crate::cache::caches::Caches;

pub(crate) struct Queue<K: Resource<DynamicType = ()>> {
    sender: UnboundedSender<ObjectRef<K>>,
    open: Arc<AtomicBool>,
}

impl<K: Resource<DynamicType = ()>> Clone for Queue<K> {
    fn clone(&self) -> Self {
        Self { sender: self.sender.clone(), open: Arc::clone(&self.open) }
    }
}

impl<K: Resource<DynamicType = ()>> Queue<K> {
    pub(crate) fn wake(&self, namespace: Option<&str>, name: &str) {
        if !self.open.load(Ordering::Acquire) {
            return;
        }
        let mut object = ObjectRef::new(name);
        object.namespace = namespace.map(str::to_owned);
        // Sending fails only if the reconciler has ended with the program.
        let _ = self.sender.unbounded_send(object);
    }
}

pub(crate) type Inbox<K> = UnboundedReceiver<ObjectRef<K>>;

/// Reconcilers of objects react at once. Reconcilers of statuses react after a pause that collects changes.
#[derive(Clone)]
pub(crate) struct Queues {
    pub pod_clique_sets: Queue<PodCliqueSet>,
    pub pod_clique_set_status: Queue<PodCliqueSet>,
    pub gang_terminations: Queue<PodCliqueSet>,
    pub scaling_groups: Queue<PodCliqueScalingGroup>,
    pub scaling_group_status: Queue<PodCliqueScalingGroup>,
    pub pod_cliques: Queue<PodClique>,
    pub pod_clique_status: Queue<PodClique>,
    pub pod_gangs: Queue<PodGang>,
    pub pod_gang_status: Queue<PodGang>,
    pub topologies: Queue<ClusterTopologyBinding>,
    open: Arc<AtomicBool>,
}

impl Queues {
    pub(crate) fn open(&self, caches: &Caches) {
        self.open.store(true, Ordering::Release);
        for pcs in caches.pod_clique_sets.store.state() {
            self.pod_clique_sets.wake(pcs.namespace().as_deref(), &pcs.name_any());
            self.pod_clique_set_status.wake(pcs.namespace().as_deref(), &pcs.name_any());
            self.gang_terminations.wake(pcs.namespace().as_deref(), &pcs.name_any());
        }
        for pcsg in caches.scaling_groups.store.state() {
            self.scaling_groups.wake(pcsg.namespace().as_deref(), &pcsg.name_any());
            self.scaling_group_status.wake(pcsg.namespace().as_deref(), &pcsg.name_any());
        }
        for pclq in caches.pod_cliques.store.state() {
            self.pod_cliques.wake(pclq.namespace().as_deref(), &pclq.name_any());
            self.pod_clique_status.wake(pclq.namespace().as_deref(), &pclq.name_any());
        }
        for pod_gang in caches.pod_gangs.store.state() {
            self.pod_gangs.wake(pod_gang.namespace().as_deref(), &pod_gang.name_any());
            self.pod_gang_status.wake(pod_gang.namespace().as_deref(), &pod_gang.name_any());
        }
        self.wake_topologies(caches);
    }

    pub(crate) fn wake_topologies(&self, caches: &Caches) {
        for binding in caches.topologies.store.state() {
            self.topologies.wake(None, &binding.name_any());
        }
    }
}

pub(crate) struct Inboxes {
    pub pod_clique_sets: Inbox<PodCliqueSet>,
    pub pod_clique_set_status: Inbox<PodCliqueSet>,
    pub gang_terminations: Inbox<PodCliqueSet>,
    pub scaling_groups: Inbox<PodCliqueScalingGroup>,
    pub scaling_group_status: Inbox<PodCliqueScalingGroup>,
    pub pod_cliques: Inbox<PodClique>,
    pub pod_clique_status: Inbox<PodClique>,
    pub pod_gangs: Inbox<PodGang>,
    pub pod_gang_status: Inbox<PodGang>,
    pub topologies: Inbox<ClusterTopologyBinding>,
}

pub(crate) fn queues() -> (Queues, Inboxes) {
    fn queue<K: Resource<DynamicType = ()>>(open: &Arc<AtomicBool>) -> (Queue<K>, Inbox<K>) {
        let (sender, inbox) = unbounded();
        (Queue { sender, open: Arc::clone(open) }, inbox)
    }
    let open = Arc::new(AtomicBool::new(false));
    let (pod_clique_sets, pcs) = queue(&open);
    let (pod_clique_set_status, pcs_status) = queue(&open);
    let (gang_terminations, terminations) = queue(&open);
    let (scaling_groups, pcsg) = queue(&open);
    let (scaling_group_status, pcsg_status) = queue(&open);
    let (pod_cliques, pclq) = queue(&open);
    let (pod_clique_status, pclq_status) = queue(&open);
    let (pod_gangs, gangs) = queue(&open);
    let (pod_gang_status, gang_status) = queue(&open);
    let (topologies, bindings) = queue(&open);
    let queues = Queues {
        pod_clique_sets,
        pod_clique_set_status,
        gang_terminations,
        scaling_groups,
        scaling_group_status,
        pod_cliques,
        pod_clique_status,
        pod_gangs,
        pod_gang_status,
        topologies,
        open,
    };
    let inboxes = Inboxes {
        pod_clique_sets: pcs,
        pod_clique_set_status: pcs_status,
        gang_terminations: terminations,
        scaling_groups: pcsg,
        scaling_group_status: pcsg_status,
        pod_cliques: pclq,
        pod_clique_status: pclq_status,
        pod_gangs: gangs,
        pod_gang_status: gang_status,
        topologies: bindings,
    };
    (queues, inboxes)
}
