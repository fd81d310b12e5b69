//! Most names come from upstream Grove, and users and schedulers rely on them. `<pcs>` is the name of the
//! PodCliqueSet, `i` the index of its replica, and `<clique>` the name in the template. `<sg>` is the name of
//! the scaling group in the template and `j` the index of its replica.

use std::collections::BTreeMap;

pub const GROVE_GROUP: &str = "grove.io";
/// Prefix of Grove's label and annotation keys. Such keys are never mirrored from a PodCliqueSet.
pub const GROVE_PREFIX: &str = "grove.io/";

pub const LABEL_MANAGED_BY: &str = "app.kubernetes.io/managed-by";
pub const MANAGED_BY_GROVE: &str = "grove-operator";
/// Label: name of the PodCliqueSet.
pub const LABEL_PART_OF: &str = "app.kubernetes.io/part-of";
pub const LABEL_NAME: &str = "app.kubernetes.io/name";
pub const LABEL_COMPONENT: &str = "app.kubernetes.io/component";

pub const COMPONENT_HEADLESS_SERVICE: &str = "pcs-headless-service";
pub const COMPONENT_SCALING_GROUP: &str = "pcs-podcliquescalinggroup";
pub const COMPONENT_AUTOSCALER: &str = "pcs-hpa";
pub const COMPONENT_INIT_SERVICE_ACCOUNT: &str = "pod-service-account";
pub const COMPONENT_INIT_TOKEN: &str = "pod-sa-token-secret";
pub const COMPONENT_INIT_ROLE: &str = "pod-role";
pub const COMPONENT_INIT_ROLE_BINDING: &str = "pod-role-binding";
pub const COMPONENT_RESOURCE_CLAIM: &str = "resource-claim";
pub const COMPONENT_POD_GANG: &str = "podgang";
pub const COMPONENT_STANDALONE_POD_CLIQUE: &str = "pcs-podclique";
pub const COMPONENT_SCALING_GROUP_POD_CLIQUE: &str = "pcsg-podclique";

pub const LABEL_POD_CLIQUE: &str = "grove.io/podclique";
pub const LABEL_POD_GANG: &str = "grove.io/podgang";
/// Label of PodCliques and pods of a scaled PodGang: name of the base PodGang.
pub const LABEL_BASE_POD_GANG: &str = "grove.io/base-podgang";
pub const LABEL_PCS_REPLICA_INDEX: &str = "grove.io/podcliqueset-replica-index";
pub const LABEL_SCALING_GROUP: &str = "grove.io/podcliquescalinggroup";
pub const LABEL_SCALING_GROUP_REPLICA_INDEX: &str = "grove.io/podcliquescalinggroup-replica-index";
pub const LABEL_POD_INDEX: &str = "grove.io/podclique-pod-index";
/// Label of PodCliques and pods: opaque hash of the clique template.
pub const LABEL_POD_TEMPLATE_HASH: &str = "grove.io/pod-template-hash";
/// Label of PodGangs: name of the backend (GANG-04).
pub const LABEL_SCHEDULER_NAME: &str = "grove.io/scheduler-name";
/// Label of PodGangs whose pods already have a scheduling group (KUBE-15).
pub const LABEL_EXTERNAL_WORKLOAD: &str = "grove.io/external-workload-managed";

/// Annotation of a PodGang with constraints: name of the ClusterTopologyBinding.
pub const ANNOTATION_TOPOLOGY_NAME: &str = "grove.io/topology-name";
/// Annotation of a PodCliqueSet or clique that requests a multi-node NVLink group. Admission refuses it.
pub const ANNOTATION_MNNVL_GROUP: &str = "grove.io/mnnvl-group";
/// Former key of [`ANNOTATION_MNNVL_GROUP`], which upstream's proposals still use.
pub const ANNOTATION_AUTO_MNNVL: &str = "grove.io/auto-mnnvl";
/// Immutable annotation of a PodCliqueSet: gang scope on kube-scheduler, `PodGroup` or `PodGang` (KUBE-08).
pub const ANNOTATION_GANG_SCOPE: &str = "scheduling.grove.io/gang-scope";

/// Annotation of a PodClique: the template of its current pods, until an update reaches them.
pub const ANNOTATION_PREVIOUS_TEMPLATE: &str = "grove.io/previous-template";
/// Annotation of a PodGang: how often gang termination has replaced its pods. Absent means never.
pub const ANNOTATION_GENERATION: &str = "grove.io/generation";
/// Annotation of a PodCliqueScalingGroup, JSON: replica index to number of its own gang terminations.
pub const ANNOTATION_RECYCLED_REPLICAS: &str = "grove.io/recycled-replicas";
/// Annotation of a PodCliqueScalingGroup, JSON: replica index to number of updates that replaced it.
pub const ANNOTATION_UPDATED_REPLICAS: &str = "grove.io/updated-replicas";
/// Annotation of a PodGang: JSON list of its podgroups that are scaled to 0, with their positions.
pub const ANNOTATION_IDLE_PODGROUPS: &str = "grove.io/idle-podgroups";
/// Annotation of a PodGang, JSON: podgroup name to number of removals. Absent means never.
pub const ANNOTATION_IDLE_COUNTS: &str = "grove.io/idle-counts";
/// Label of pods: how often gang termination or an update has replaced them. Absent means 0.
pub const LABEL_GENERATION: &str = "grove.io/generation";
/// Scheduling gate of a pod whose gang is not ready to be scheduled.
pub const POD_GANG_GATE: &str = "grove.io/podgang-pending-creation";

pub const INIT_CONTAINER: &str = "grove-initc";
/// Argument of the init container, once per parent: PodClique and number of Ready pods, as in `wl-0-a:2`.
pub const INIT_PARENT: &str = "--podcliques";
pub const INIT_TOKEN_VOLUME: (&str, &str) =
    ("sa-token-secret-vol", "/var/run/secrets/kubernetes.io/serviceaccount");
pub const INIT_POD_INFO_VOLUME: (&str, &str) = ("pod-info-vol", "/var/grove/pod-info");

pub const ENV_PCS_NAME: &str = "GROVE_PCS_NAME";
pub const ENV_PCS_INDEX: &str = "GROVE_PCS_INDEX";
pub const ENV_PCLQ_NAME: &str = "GROVE_PCLQ_NAME";
pub const ENV_HEADLESS_SERVICE: &str = "GROVE_HEADLESS_SERVICE";
pub const ENV_PCLQ_POD_INDEX: &str = "GROVE_PCLQ_POD_INDEX";
pub const ENV_PCSG_NAME: &str = "GROVE_PCSG_NAME";
pub const ENV_PCSG_INDEX: &str = "GROVE_PCSG_INDEX";
/// Environment variable of scaling-group members: pods per replica of the group, from the template.
pub const ENV_PCSG_TEMPLATE_NUM_PODS: &str = "GROVE_PCSG_TEMPLATE_NUM_PODS";
pub const ENV_OF_ALL: [&str; 5] =
    [ENV_PCS_NAME, ENV_PCS_INDEX, ENV_PCLQ_NAME, ENV_HEADLESS_SERVICE, ENV_PCLQ_POD_INDEX];
pub const ENV_OF_MEMBERS: [&str; 3] = [ENV_PCSG_NAME, ENV_PCSG_INDEX, ENV_PCSG_TEMPLATE_NUM_PODS];

/// Condition of a PodGang: every pod exists and is referenced (GANG-06).
pub const CONDITION_INITIALIZED: &str = "Initialized";
pub const REASON_PODS_CREATION_PENDING: &str = "PodGangPodsCreationPending";
pub const REASON_PODS_CREATED: &str = "PodGangPodsCreated";
pub const CONDITION_POD_GANG_SCHEDULED: &str = "Scheduled";
pub const CONDITION_POD_GANG_READY: &str = "Ready";
/// Condition of a PodGang: the minimum of some podgroup was scheduled and is no longer available.
pub const CONDITION_POD_GANG_UNHEALTHY: &str = "Unhealthy";
/// Condition of a PodGang: a scheduler evicts or has evicted pods, and the minimum is not bound again.
pub const CONDITION_POD_GANG_DISRUPTION_TARGET: &str = "DisruptionTarget";
pub const CONDITION_BACKEND_READY: &str = "SchedulingBackendReady";
pub const CONDITION_POD_CLIQUE_SCHEDULED: &str = "PodCliqueScheduled";
pub const REASON_SUFFICIENT_SCHEDULED_PODS: &str = "SufficientScheduledPods";
pub const REASON_INSUFFICIENT_SCHEDULED_PODS: &str = "InsufficientScheduledPods";
/// Condition of PodCliques and PodCliqueScalingGroups: fewer than the minimum are healthy.
pub const CONDITION_MIN_AVAILABLE_BREACHED: &str = "MinAvailableBreached";
/// Condition of a PodClique, not in upstream: its minimum was bound in the generation that the reason names.
pub const CONDITION_MIN_AVAILABLE_HELD: &str = "MinAvailableHeld";
/// Condition of a PodClique: its containers wait for pods of other PodCliques.
pub const CONDITION_HELD_BY_STARTUP_ORDER: &str = "HeldByStartupOrder";
pub const CONDITION_GANG_TERMINATION_IN_PROGRESS: &str = "GangTerminationInProgress";
/// Condition of a PodCliqueSet: its ClusterTopologyBinding lacks a domain that the PodCliqueSet names.
pub const CONDITION_TOPOLOGY_LEVELS_UNAVAILABLE: &str = "TopologyLevelsUnavailable";
/// Condition of a ClusterTopologyBinding: a scheduler's topology resource differs from the levels.
pub const CONDITION_SCHEDULER_TOPOLOGY_DRIFT: &str = "SchedulerTopologyDrift";

/// Condition of a PodCliqueSet: some of its objects cannot be created. Absent otherwise.
pub const CONDITION_REPLICA_FAILURE: &str = "ReplicaFailure";

/// Whether Grove sets this label on PodCliques and pods, and overwrites it in a clique template.
pub fn is_set_by_grove(label: &str) -> bool {
    [LABEL_MANAGED_BY, LABEL_PART_OF, LABEL_NAME, LABEL_COMPONENT].contains(&label)
        || label.starts_with(GROVE_PREFIX)
}

/// The operator stores its own state in these annotations, and does not copy them from a template.
pub fn is_operator_state(annotation: &str) -> bool {
    [
        ANNOTATION_TOPOLOGY_NAME,
        ANNOTATION_PREVIOUS_TEMPLATE,
        ANNOTATION_RECYCLED_REPLICAS,
        ANNOTATION_UPDATED_REPLICAS,
    ]
    .contains(&annotation)
}

pub fn base_pod_gang(pcs: &str, i: i32) -> String {
    format!("{pcs}-{i}")
}

pub fn headless_service(pcs: &str, i: i32) -> String {
    format!("{pcs}-{i}")
}

pub fn headless_service_address(pcs: &str, i: i32, namespace: &str) -> String {
    format!("{}.{namespace}.svc.cluster.local", headless_service(pcs, i))
}

pub fn standalone_pod_clique(pcs: &str, i: i32, clique: &str) -> String {
    format!("{pcs}-{i}-{clique}")
}

pub fn scaling_group(pcs: &str, i: i32, sg: &str) -> String {
    format!("{pcs}-{i}-{sg}")
}

/// The topology group config of replica `j` of the PodCliqueScalingGroup object `pcsg`.
pub fn scaling_group_replica(pcsg: &str, j: i32) -> String {
    format!("{pcsg}-{j}")
}

/// PodClique in replica `j` of the PodCliqueScalingGroup object `pcsg`: `<pcs>-<i>-<sg>-<j>-<clique>`.
pub fn scaling_group_pod_clique(pcsg: &str, j: i32, clique: &str) -> String {
    format!("{pcsg}-{j}-{clique}")
}

/// Scaled PodGangs count from zero (GANG-03).
pub fn scaled_pod_gang(pcsg: &str, j: i32, min_available: i32) -> String {
    format!("{pcsg}-{}", j - min_available)
}

pub fn pod_hostname(pclq: &str, index: i32) -> String {
    format!("{pclq}-{index}")
}

pub fn pod_generate_name(pclq: &str) -> String {
    format!("{pclq}-")
}

/// `owner` is the name of a PodCliqueSet, scaling group or PodClique.
pub fn claim_of_all_replicas(owner: &str, template: &str) -> String {
    format!("{owner}-all-{template}")
}

pub fn claim_of_replica(owner: &str, index: i32, template: &str) -> String {
    format!("{owner}-{index}-{template}")
}

pub fn init_service_account(pcs: &str) -> String {
    pcs.to_owned()
}

pub fn init_token(pcs: &str) -> String {
    format!("{pcs}-ic-sat")
}

pub fn init_role(pcs: &str) -> String {
    format!("{GROVE_GROUP}:pcs:{pcs}")
}

pub fn managed_labels(pcs: &str) -> BTreeMap<String, String> {
    BTreeMap::from([
        (LABEL_MANAGED_BY.to_owned(), MANAGED_BY_GROVE.to_owned()),
        (LABEL_PART_OF.to_owned(), pcs.to_owned()),
    ])
}

pub fn object_labels(pcs: &str, name: &str, component: &str) -> BTreeMap<String, String> {
    let mut labels = managed_labels(pcs);
    labels.insert(LABEL_NAME.to_owned(), name.to_owned());
    labels.insert(LABEL_COMPONENT.to_owned(), component.to_owned());
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_pod_clique_set() {
        let pcsg = scaling_group("wl", 1, "sg-x");
        let names = [
            base_pod_gang("wl", 1),
            headless_service_address("wl", 1, "team"),
            standalone_pod_clique("wl", 1, "pc-a"),
            pcsg.clone(),
            scaling_group_replica(&pcsg, 0),
            scaling_group_pod_clique(&pcsg, 2, "pc-b"),
            scaled_pod_gang(&pcsg, 2, 2),
            pod_hostname("wl-1-pc-a", 3),
            claim_of_all_replicas(&pcsg, "nic"),
            claim_of_replica("wl", 1, "nic"),
        ];
        insta::assert_snapshot!(names.join("\n"), @r"
        wl-1
        wl-1.team.svc.cluster.local
        wl-1-pc-a
        wl-1-sg-x
        wl-1-sg-x-0
        wl-1-sg-x-2-pc-b
        wl-1-sg-x-0
        wl-1-pc-a-3
        wl-1-sg-x-all-nic
        wl-1-nic
        ");
    }
}
