//! The inboxes of the reconcilers. They stay closed until this process is the leader and reads them.

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

macro_rules! inboxes {
    ($($name:ident: $kind:ty,)+) => {
        /// Reconcilers of objects react at once, those of statuses after a pause that collects changes.
        #[derive(Clone)]
        pub(crate) struct Queues {
            $(pub $name: Queue<$kind>,)+
            open: Arc<AtomicBool>,
        }

        pub(crate) struct Inboxes {
            $(pub $name: Inbox<$kind>,)+
        }

        pub(crate) fn queues() -> (Queues, Inboxes) {
            let open = Arc::new(AtomicBool::new(false));
            $(let $name = queue::<$kind>(&open);)+
            (Queues { $($name: $name.0,)+ open }, Inboxes { $($name: $name.1,)+ })
        }
    };
}

inboxes! {
    pod_clique_sets: PodCliqueSet,
    pod_clique_set_status: PodCliqueSet,
    gang_terminations: PodCliqueSet,
    scaling_groups: PodCliqueScalingGroup,
    scaling_group_status: PodCliqueScalingGroup,
    pod_cliques: PodClique,
    pod_clique_status: PodClique,
    pod_gangs: PodGang,
    pod_gang_status: PodGang,
    topologies: ClusterTopologyBinding,
}

fn queue<K: Resource<DynamicType = ()>>(open: &Arc<AtomicBool>) -> (Queue<K>, Inbox<K>) {
    let (sender, inbox) = unbounded();
    (Queue { sender, open: Arc::clone(open) }, inbox)
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
