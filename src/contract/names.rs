//! Names of Grove and Kubernetes as this suite expects them. The suite repeats them on purpose, so that a
//! misspelling in the operator is not also in the checks. Source: upstream's API (grove.io/v1alpha1,
//! scheduler.grove.io/v1alpha1) and Kubernetes 1.36 (scheduling.k8s.io/v1alpha2).

/// Label of pods and PodCliques: their PodGang.
pub const POD_GANG: &str = "grove.io/podgang";
/// Label of pods: their PodClique.
pub const POD_CLIQUE: &str = "grove.io/podclique";
/// Label: index of the PodCliqueSet replica.
pub const REPLICA_INDEX: &str = "grove.io/podcliqueset-replica-index";
/// Label: name of the scaling group.
pub const SCALING_GROUP: &str = "grove.io/podcliquescalinggroup";
/// Label: index of the scaling group's replica.
pub const SCALING_GROUP_REPLICA_INDEX: &str = "grove.io/podcliquescalinggroup-replica-index";
/// Label of pods: index within the PodClique.
pub const POD_INDEX: &str = "grove.io/podclique-pod-index";
/// Label of PodCliques and pods: hash of the pod template.
pub const POD_TEMPLATE_HASH: &str = "grove.io/pod-template-hash";
/// Label of PodGangs: the backend that schedules them.
pub const SCHEDULER_NAME: &str = "grove.io/scheduler-name";
/// Label of every object that Grove creates for a PodCliqueSet.
pub const PART_OF: &str = "app.kubernetes.io/part-of";
/// Label of every object that Grove creates.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The value of [`MANAGED_BY`].
pub const MANAGER: &str = "grove-operator";
/// The scheduler of pods whose `schedulerName` is not set.
pub const DEFAULT_SCHEDULER: &str = "default-scheduler";
/// Grove's scheduling gate.
pub const GATE: &str = "grove.io/podgang-pending-creation";
/// Annotation of a PodCliqueSet: the gang scope of kube-scheduler's backend.
pub const GANG_SCOPE: &str = "scheduling.grove.io/gang-scope";
/// Label of a PodGang whose gang resources are managed externally.
pub const EXTERNAL_WORKLOAD: &str = "grove.io/external-workload-managed";
/// Annotation of a PodCliqueSet: its queue, for Volcano's backend.
pub const VOLCANO_QUEUE: &str = "scheduling.grove.io/volcano-queue";
/// Label or annotation of a PodCliqueSet or of its cliques: the queue, for KAI's backend.
pub const KAI_QUEUE: &str = "kai.scheduler/queue";
/// Condition of a ClusterTopologyBinding: whether a scheduler's topology resource differs from it.
pub const TOPOLOGY_DRIFT: &str = "SchedulerTopologyDrift";

/// The resource name of GPUs.
pub const GPU: &str = "nvidia.com/gpu";
/// Environment variable of a container: the ids of its fake GPUs, separated by commas.
pub const GPU_DEVICES: &str = "FAKE_GPU_DEVICES";
/// Node label: the number of GPUs that the fake GPU plugin advertises.
pub const GPUS: &str = "conformance.grove.io/gpus";
/// Node annotation: the unhealthy GPUs, as `all` or as indices such as `0,3`.
pub const UNHEALTHY_GPUS: &str = "conformance.grove.io/unhealthy-gpus";
/// Name of the lease for leader election of the reference operator.
pub const CONTROLLER_LEASE: &str = "grove-backend-controller";

/// Label and taint of the nodes of one case: its namespace.
pub const POOL: &str = "conformance.grove.io/pool";
/// Name of Kueue's ClusterQueue, in which all gangs and canaries of the harness wait.
pub const CLUSTER_QUEUE: &str = "conformance";
/// Label of every simulated node.
pub const SIMULATED: &str = "conformance.grove.io/simulated";
/// Label of pods that the harness creates without an operator: their gang.
pub const GANG: &str = "conformance.grove.io/gang";
/// Annotation of a pod in a manifest: how many such pods the gang has.
pub const GANG_SIZE: &str = "conformance.grove.io/gang-size";
/// Label of the harness's canary pods.
pub const CANARY: &str = "conformance.grove.io/canary";
/// Scheduling gate of a third party that cases add to pods, like the gate of Kueue.
pub const FOREIGN_GATE: &str = "example.com/review";
/// Name of the ClusterTopologyBinding that all cases may use: block, rack and host, with upstream's keys.
pub const TOPOLOGY: &str = "conformance-topology";
/// Name prefix of the harness's canary PodCliqueSets.
pub const CANARY_SET: &str = "canary-set-";
/// Label of namespaces and nodes: their run.
pub const RUN: &str = "conformance.grove.io/run";
/// Node label of a rack.
pub const RACK: &str = "topology.kubernetes.io/rack";
/// Node label of a block.
pub const BLOCK: &str = "topology.kubernetes.io/block";
/// Node label of a host.
pub const HOST: &str = "kubernetes.io/hostname";

/// Fields of a pod's spec that Grove sets regardless of the template.
pub const POD_FIELDS_OF_GROVE: [&str; 4] = ["schedulingGates", "hostname", "subdomain", "schedulerName"];
