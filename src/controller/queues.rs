//! The reconcilers' inboxes.

use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use kube::Resource;
use kube::runtime::reflector::ObjectRef;

use crate::api::{PodClique, PodCliqueScalingGroup, PodCliqueSet, PodGang};

/// The sending end of an inbox. What is sent twice before it is handled is handled once.
pub struct Queue<K: Resource<DynamicType = ()>>(UnboundedSender<ObjectRef<K>>);

impl<K: Resource<DynamicType = ()>> Clone for Queue<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K: Resource<DynamicType = ()>> Queue<K> {
    /// Asks for a reconciliation.
    pub fn wake(&self, namespace: Option<&str>, name: &str) {
        let mut object = ObjectRef::new(name);
        object.namespace = namespace.map(str::to_owned);
        // An error means that the reconciler has ended with the program.
        let _ = self.0.unbounded_send(object);
    }
}

/// The receiving end of an inbox.
pub type Inbox<K> = UnboundedReceiver<ObjectRef<K>>;

/// The sending ends. Objects and status of a kind are separate reconcilers: a status is written after a pause
/// in which changes gather, objects at once.
#[derive(Clone)]
pub struct Queues {
    pub pod_clique_sets: Queue<PodCliqueSet>,
    pub pod_clique_set_status: Queue<PodCliqueSet>,
    pub scaling_groups: Queue<PodCliqueScalingGroup>,
    pub scaling_group_status: Queue<PodCliqueScalingGroup>,
    pub pod_cliques: Queue<PodClique>,
    pub pod_clique_status: Queue<PodClique>,
    pub pod_gangs: Queue<PodGang>,
}

/// The receiving ends.
pub struct Inboxes {
    pub pod_clique_sets: Inbox<PodCliqueSet>,
    pub pod_clique_set_status: Inbox<PodCliqueSet>,
    pub scaling_groups: Inbox<PodCliqueScalingGroup>,
    pub scaling_group_status: Inbox<PodCliqueScalingGroup>,
    pub pod_cliques: Inbox<PodClique>,
    pub pod_clique_status: Inbox<PodClique>,
    pub pod_gangs: Inbox<PodGang>,
}

/// All inboxes, empty.
pub fn queues() -> (Queues, Inboxes) {
    fn queue<K: Resource<DynamicType = ()>>() -> (Queue<K>, Inbox<K>) {
        let (sender, inbox) = unbounded();
        (Queue(sender), inbox)
    }
    let (pod_clique_sets, pcs) = queue();
    let (pod_clique_set_status, pcs_status) = queue();
    let (scaling_groups, pcsg) = queue();
    let (scaling_group_status, pcsg_status) = queue();
    let (pod_cliques, pclq) = queue();
    let (pod_clique_status, pclq_status) = queue();
    let (pod_gangs, gangs) = queue();
    let queues = Queues {
        pod_clique_sets,
        pod_clique_set_status,
        scaling_groups,
        scaling_group_status,
        pod_cliques,
        pod_clique_status,
        pod_gangs,
    };
    let inboxes = Inboxes {
        pod_clique_sets: pcs,
        pod_clique_set_status: pcs_status,
        scaling_groups: pcsg,
        scaling_group_status: pcsg_status,
        pod_cliques: pclq,
        pod_clique_status: pclq_status,
        pod_gangs: gangs,
    };
    (queues, inboxes)
}
