//! Controls on clusters of containers: what only real kubelets show. The fault is in the controller, or in the
//! plugin that provides the kubelets' GPUs.
//!
//! Each control creates its own cluster, so it runs only the cases that must detect the fault. If the controller or
//! the plugin does not do what a case waits for, the wait times out, and the judge reports what did not happen.

use conformance_cluster::local::ClusterSpec;
use conformance_contract::target::Target;

use super::Control;

/// All of them.
pub(super) const CONTROLS: &[Control] = &[
    Control {
        name: "ready-when-scheduled",
        title: "a controller that counts pods as ready as soon as they are scheduled",
        spec: || of_controller("ready-counts-scheduled"),
        target: Target::KUBE_POD_GROUP,
        cases: &["klt/containers-run", "klt/image-missing"],
        must: &[&["KLT-01"], &["KLT-06"]],
        may: &[],
        unproven: None,
    },
    Control {
        name: "gpus-allocated-twice",
        title: "a plugin that tells every container of the first GPUs of its node",
        spec: || of_plugin("same-gpus"),
        target: Target::KUBE_POD_GROUP,
        cases: &["klt/gpus-allocated-once"],
        must: &[&["KLT-02"]],
        may: &[],
        unproven: None,
    },
    Control {
        name: "unhealthy-gpus-unnoticed",
        title: "a plugin that does not hear which GPUs are unhealthy",
        spec: || of_plugin("deaf"),
        target: Target::KUBE_POD_GROUP,
        cases: &["klt/gpus-unhealthy"],
        must: &[&["KLT-03"]],
        may: &[],
        unproven: None,
    },
    Control {
        name: "kubelet-restart-unnoticed",
        title: "a plugin that does not register again with a kubelet that has restarted",
        spec: || of_plugin("restart-unnoticed"),
        target: Target::KUBE_POD_GROUP,
        cases: &["klt/kubelet-restarted"],
        must: &[&["KLT-04"]],
        may: &[],
        unproven: None,
    },
    Control {
        name: "lost-pods-not-replaced",
        title: "a controller to which a pod counts until its node has confirmed its end",
        spec: || of_controller("terminating-counts"),
        target: Target::KUBE_POD_GROUP,
        cases: &["klt/node-lost"],
        must: &[&["KLT-05"]],
        may: &[],
        unproven: None,
    },
    Control {
        name: "every-replica-leads",
        title: "a controller whose replicas take the lease whoever holds it",
        spec: || of_controller("lease-always-taken"),
        target: Target::KUBE_POD_GROUP,
        cases: &["klt/controller-rolled"],
        must: &[&["KLT-07"]],
        may: &[],
        unproven: None,
    },
];

/// A cluster, and a controller with a fault.
fn of_controller(fault: &str) -> ClusterSpec {
    let spec = ClusterSpec::default();
    ClusterSpec { controller: spec.controller.clone().with_fault(fault), ..spec }
}

/// A cluster, and a fake GPU plugin with a fault.
fn of_plugin(fault: &str) -> ClusterSpec {
    ClusterSpec::default().with_gpu_plugin_fault(fault)
}
