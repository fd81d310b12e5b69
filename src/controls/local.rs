//! Controls on clusters of local processes: a gate or a plugin of a scheduler is off, or the controller has a fault.

use conformance_cluster::local::{ClusterSpec, ControllerSpec};
use conformance_cluster::schedulers::{kai, koord_scheduler, volcano};
use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::Target;
use serde_json::json;

use super::Control;

/// The gate of trees.
const COMPOSITE: &str = "CompositePodGroup";

/// All of them.
pub(super) const CONTROLS: &[Control] = &[
    Control {
        name: "scheduler-without-gang-scheduling",
        title: "kube-scheduler with the gate GangScheduling off",
        spec: || scheduler_gate("GangScheduling"),
        target: Target::KUBE_POD_GROUP,
        cases: &[],
        must: &[&["AON-02"]],
        // TOPO-02: the pods that one domain has room for are bound, each for itself. AON-01: beside a namesake that is
        // bound in part, a gang that fits finds its room taken.
        may: &["AON-01", "AON-04", "AON-05", "AON-07", "AON-09", "TOPO-02"],
        unproven: None,
    },
    Control {
        name: "scheduler-without-topology",
        title: "kube-scheduler with the gate TopologyAwareWorkloadScheduling off",
        spec: || scheduler_gate("TopologyAwareWorkloadScheduling"),
        target: Target::KUBE_POD_GROUP,
        cases: &[],
        must: &[&["TOPO-02"]],
        may: &["TOPO-01", "TOPO-03", "TOPO-06", "TOPO-10"],
        unproven: None,
    },
    Control {
        name: "backend-without-gang-scheduling",
        title: "the default-scheduler profile with gangScheduling: false",
        spec: || controller(ControllerSpec::with_profile(json!({"gangScheduling": false}))),
        target: Target::KUBE_POD_GROUP,
        cases: &["aon"],
        must: &[&["AON-02"]],
        // AON-08: the scheduler's known deviation is no excuse for pods that are in no gang.
        may: &["AON-01", "AON-04", "AON-05", "AON-07", "AON-08", "AON-09"],
        unproven: None,
    },
    Control {
        name: "no-owner-references",
        title: "a controller that creates objects without owner references",
        spec: || fault("no-owner-references"),
        target: Target::KUBE_POD_GROUP,
        cases: &[],
        must: &[&["GANG-01", "GANG-08"], &["DEL-01"]],
        // What is scaled in or deleted leaves its PodGang behind, and that its gang resources.
        may: &["GANG-10", "DEL-02", "DEL-03", "DEL-04", "DEL-08"],
        unproven: None,
    },
    Control {
        name: "early-ungating",
        title: "a controller that removes scheduling gates as soon as it sees a pod",
        spec: || fault("early-ungate"),
        target: Target::KUBE_POD_GROUP,
        cases: &[],
        must: &[&["GANG-07"]],
        // Pods of a scaled PodGang are in the scheduler's hands before their base is bound.
        may: &["AON-06", "AON-07"],
        unproven: None,
    },
    Control {
        name: "podgroup-dropped",
        title: "a controller that leaves the last podgroup out of each PodGang",
        spec: || fault("drop-podgroup"),
        target: Target::KUBE_POD_GROUP,
        cases: &[],
        must: &[&["GANG-02"]],
        // The pods of the dropped podgroup are never referred to (GANG-06) and stay gated for ever (GANG-07); TOPO-06's
        // constrained clique is one, and the PodGroup that KUBE-07 looks for.
        may: &[
            "GANG-06", "GANG-07", "AON-01", "AON-02", "AON-03", "AON-04", "AON-05", "AON-06", "AON-07",
            "AON-09", "AON-10", "AON-11", "TOPO-06", "KUBE-07",
        ],
        unproven: None,
    },
    Control {
        name: "restless",
        title: "a controller that writes on every reconcile",
        spec: || fault("write-on-reconcile"),
        target: Target::KUBE_POD_GROUP,
        cases: &[],
        must: &[&["GANG-11"]],
        // They hold resourceVersions of objects that should not be touched against each other.
        may: &["GANG-10", "DEL-02"],
        unproven: None,
    },
    Control {
        name: "tree-without-its-api",
        title: "an API server of 1.37 with the gate CompositePodGroup off, and a tree asked for",
        spec: || {
            let spec = ClusterSpec::of(Kubernetes::V1_37);
            let (api_gates, scheduler_gates) =
                (spec.api_gates.with(COMPOSITE, false), spec.scheduler_gates.with(COMPOSITE, false));
            ClusterSpec { api_gates, scheduler_gates, ..ClusterSpec::of(Kubernetes::V1_37) }
        },
        target: Target::KUBE_TREE,
        cases: &["aon"],
        // Nothing else is taken for the tree: every PodCliqueSet is refused, and the gate named.
        must: &[],
        may: &["AON-01"],
        unproven: Some((&["AON-02", "AON-08"], COMPOSITE)),
    },
    Control {
        name: "scheduler-without-trees",
        title: "kube-scheduler 1.37 with the gate CompositePodGroup off",
        spec: || {
            let spec = ClusterSpec::of(Kubernetes::V1_37);
            ClusterSpec { scheduler_gates: spec.scheduler_gates.clone().with(COMPOSITE, false), ..spec }
        },
        target: Target::KUBE_TREE,
        cases: &["aon", "topo"],
        must: &[&["AON-08"], &["KUBE-11"]],
        // Each PodGroup is scheduled for itself, and no key above it counts.
        may: &[
            "AON-01", "AON-02", "AON-04", "AON-06", "AON-07", "AON-09", "TOPO-01", "TOPO-02", "TOPO-03",
            "TOPO-05", "TOPO-07", "TOPO-10",
        ],
        unproven: None,
    },
    Control {
        name: "tree-of-one-group-less",
        title: "a controller whose CompositePodGroups have a minGroupCount one too low",
        spec: || tree_fault("low-group-count"),
        target: Target::KUBE_TREE,
        cases: &["aon", "kube"],
        must: &[&["AON-08"], &["KUBE-10"]],
        may: &["KUBE-09", "KUBE-11", "AON-01", "AON-02", "AON-04", "AON-06", "AON-07", "AON-09"],
        unproven: None,
    },
    Control {
        name: "key-one-level-down",
        title: "a controller that gives a PodGang's key to its topology groups, and theirs to their podgroups",
        spec: || tree_fault("key-one-level-down"),
        target: Target::KUBE_TREE,
        cases: &["topo"],
        must: &[&["TOPO-07"]],
        may: &["KUBE-11", "TOPO-05", "TOPO-10"],
        unproven: None,
    },
    Control {
        name: "volcano-without-gang",
        title: "vc-scheduler without its plugin gang",
        spec: || plugin_off(volcano::SCHEDULER, volcano::GANG),
        target: Target::VOLCANO,
        cases: &["aon"],
        must: &[&["AON-02"]],
        // AON-01 and 03: a gang that has to wait, beside a namesake or in a closed queue, is bound in part.
        may: &["AON-01", "AON-03", "AON-04", "AON-05", "AON-06", "AON-07", "AON-08", "AON-09"],
        unproven: None,
    },
    Control {
        name: "volcano-without-topology",
        title: "vc-scheduler without its plugin network-topology-aware",
        spec: || plugin_off(volcano::SCHEDULER, volcano::NETWORK_TOPOLOGY),
        target: Target::VOLCANO,
        cases: &["topo"],
        must: &[&["TOPO-02"]],
        may: &["TOPO-01", "TOPO-03", "TOPO-06", "TOPO-10", "TOPO-11"],
        unproven: None,
    },
    Control {
        name: "koordinator-without-coscheduling",
        title: "koord-scheduler without its plugin Coscheduling",
        spec: || plugin_off(koord_scheduler::SCHEDULER, koord_scheduler::COSCHEDULING),
        target: Target::KOORDINATOR,
        cases: &["aon"],
        must: &[&["AON-02"]],
        may: &["AON-04", "AON-05", "AON-06", "AON-07", "AON-08", "AON-09"],
        unproven: None,
    },
    Control {
        name: "koordinator-without-topology",
        title: "koord-scheduler with awareNetworkTopology: false",
        spec: || plugin_off(koord_scheduler::SCHEDULER, koord_scheduler::NETWORK_TOPOLOGY),
        target: Target::KOORDINATOR,
        cases: &["topo"],
        // It does not ignore a constraint that it is not to know: at the second pod of the gang it panics.
        must: &[],
        may: &["TOPO-01", "TOPO-03", "TOPO-10", "TOPO-11"],
        unproven: Some((&["TOPO-01", "TOPO-02", "TOPO-03"], "koord-scheduler ended")),
    },
    Control {
        name: "koordinator-member-forgotten",
        title: "a controller that leaves the last member out of the groups annotation",
        spec: || fault_beside(koord_scheduler::SCHEDULER, "forget-member"),
        target: Target::KOORDINATOR,
        cases: &["gang", "koord"],
        must: &[&["KOORD-01", "KOORD-07"]],
        // What every member lists is looked at wherever a PodGroup is. AON-02: a gang whose members do not know of each
        // other is bound in part.
        may: &["AON-02", "GANG-08", "GANG-10", "GANG-12", "KOORD-05"],
        unproven: None,
    },
    Control {
        name: "volcano-wrong-queue",
        title: "a controller that sends every gang to a queue that nobody asked for",
        spec: || fault_beside(volcano::SCHEDULER, "wrong-queue"),
        target: Target::VOLCANO,
        cases: &["vol"],
        must: &[&["VOL-03"]],
        may: &["VOL-01", "VOL-02", "VOL-05"],
        unproven: None,
    },
    Control {
        name: "kai-without-subgroups",
        title: "a controller whose PodGroups have no subgroups",
        spec: || fault_beside(kai::SCHEDULER, "omit-subgroups"),
        target: Target::KAI,
        cases: &["gang", "kai"],
        must: &[&["KAI-01"]],
        may: &["GANG-08", "GANG-10", "GANG-12", "KAI-06"],
        unproven: None,
    },
    Control {
        name: "foreign-resource",
        title: "a controller that writes another backend's gang resource",
        spec: || fault_beside(volcano::SCHEDULER, "foreign-resource"),
        target: Target::KUBE_POD_GROUP,
        cases: &["coex"],
        must: &[&["COEX-02"]],
        may: &[],
        unproven: None,
    },
];

fn scheduler_gate(off: &str) -> ClusterSpec {
    let spec = ClusterSpec::default();
    ClusterSpec { scheduler_gates: spec.scheduler_gates.with(off, false), ..spec }
}

fn controller(controller: ControllerSpec) -> ClusterSpec {
    ClusterSpec { controller, ..ClusterSpec::default() }
}

/// A cluster with this scheduler, which lacks a plugin.
fn plugin_off(scheduler: Scheduler, plugin: &'static str) -> ClusterSpec {
    ClusterSpec { plugins_off: vec![(scheduler, plugin)], ..ClusterSpec::with([scheduler]) }
}

/// A cluster with this scheduler, and a controller with a fault.
fn fault_beside(scheduler: Scheduler, name: &str) -> ClusterSpec {
    let spec = ClusterSpec::with([scheduler]);
    ClusterSpec { controller: spec.controller.clone().with_fault(name), ..spec }
}

/// A cluster of 1.37, and a controller with a fault.
fn tree_fault(name: &str) -> ClusterSpec {
    let spec = ClusterSpec::of(Kubernetes::V1_37);
    ClusterSpec { controller: spec.controller.clone().with_fault(name), ..spec }
}

fn fault(name: &str) -> ClusterSpec {
    controller(ControllerSpec::default().with_fault(name))
}
