//! Negative controls: a cluster or a controller is broken on purpose, and the clauses that this must break turn red.
//!
//! A suite that stays green on a broken backend is worth nothing, and one that turns red elsewhere cannot be
//! believed: each control names what must turn red and what may; anything else that does, is a defect of the suite.

use serde_json::json;

use super::target::{Target, Variant};
use crate::cluster::local::{ClusterSpec, ControllerSpec};

/// A deliberate breakage.
#[derive(Debug, Clone, Copy)]
pub struct Control {
    /// Its name.
    pub name: &'static str,
    /// What is broken, in a line.
    pub title: &'static str,
    /// The cluster.
    pub spec: fn() -> ClusterSpec,
    /// In which variant it is run.
    pub variant: Variant,
    /// At least one of each of these sets must turn red.
    pub must: &'static [&'static [&'static str]],
    /// These may.
    pub may: &'static [&'static str],
}

/// All of them.
pub const CONTROLS: &[Control] = &[
    Control {
        name: "scheduler-without-gang-scheduling",
        title: "kube-scheduler with the gate GangScheduling off",
        spec: || scheduler_gate("GangScheduling"),
        variant: Variant::PodGroup,
        must: &[&["AON-02"]],
        may: &["AON-04", "AON-05", "AON-07", "AON-09"],
    },
    Control {
        name: "scheduler-without-topology",
        title: "kube-scheduler with the gate TopologyAwareWorkloadScheduling off",
        spec: || scheduler_gate("TopologyAwareWorkloadScheduling"),
        variant: Variant::PodGroup,
        must: &[&["TOPO-02"]],
        may: &["TOPO-01", "TOPO-03", "TOPO-06", "TOPO-10"],
    },
    Control {
        name: "backend-without-gang-scheduling",
        title: "the default-scheduler profile with gangScheduling: false",
        spec: || controller(ControllerSpec::with_profile(json!({"gangScheduling": false}))),
        variant: Variant::PodGroup,
        must: &[&["AON-02"]],
        may: &[],
    },
    Control {
        name: "no-owner-references",
        title: "a controller that creates objects without owner references",
        spec: || fault("no-owner-references"),
        variant: Variant::PodGroup,
        must: &[&["GANG-01", "GANG-08"], &["DEL-01"]],
        may: &[],
    },
    Control {
        name: "early-ungating",
        title: "a controller that removes scheduling gates as soon as it sees a pod",
        spec: || fault("early-ungate"),
        variant: Variant::PodGroup,
        must: &[&["GANG-07"]],
        may: &[],
    },
    Control {
        name: "podgroup-dropped",
        title: "a controller that leaves the last podgroup out of each PodGang",
        spec: || fault("drop-podgroup"),
        variant: Variant::PodGroup,
        must: &[&["GANG-02"]],
        may: &[],
    },
    Control {
        name: "restless",
        title: "a controller that writes on every reconcile",
        spec: || fault("write-on-reconcile"),
        variant: Variant::PodGroup,
        must: &[&["GANG-11"]],
        may: &[],
    },
];

fn scheduler_gate(off: &str) -> ClusterSpec {
    let spec = ClusterSpec::default();
    ClusterSpec { scheduler_gates: spec.scheduler_gates.with(off, false), ..spec }
}

fn controller(controller: ControllerSpec) -> ClusterSpec {
    ClusterSpec { controller, ..ClusterSpec::default() }
}

fn fault(name: &str) -> ClusterSpec {
    controller(ControllerSpec::default().with_fault(name))
}

/// What a control's run says about the suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The clauses that turned red.
    pub red: Vec<String>,
    /// Sets of which none turned red, though one had to.
    pub missing: Vec<Vec<&'static str>>,
    /// Clauses that turned red and may not.
    pub unexpected: Vec<String>,
}

impl Control {
    /// The target it is run on.
    pub fn target(&self) -> Target {
        Target { backend: super::target::Backend::DefaultScheduler, variant: self.variant }
    }

    /// Holds the clauses that turned red against what the control says.
    pub fn judge(&self, red: Vec<String>) -> Outcome {
        let is_red = |id: &str| red.iter().any(|clause| clause == id);
        let missing =
            self.must.iter().filter(|set| !set.iter().any(|id| is_red(id))).map(|set| set.to_vec()).collect();
        let allowed = |id: &String| {
            self.may.contains(&id.as_str()) || self.must.iter().any(|set| set.contains(&id.as_str()))
        };
        let unexpected = red.iter().filter(|id| !allowed(id)).cloned().collect();
        Outcome { red, missing, unexpected }
    }
}

impl Outcome {
    /// Whether the suite saw what it had to, and nothing else.
    pub fn is_sound(&self) -> bool {
        self.missing.is_empty() && self.unexpected.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(red: &[&str]) -> Outcome {
        CONTROLS[3].judge(red.iter().map(|id| (*id).to_owned()).collect())
    }

    #[test]
    fn one_of_each_set_must_be_red() {
        assert!(judge(&["GANG-08", "DEL-01"]).is_sound());
        assert_eq!(judge(&["GANG-08"]).missing, [["DEL-01"]]);
        assert_eq!(judge(&["DEL-01"]).missing, [["GANG-01", "GANG-08"]]);
    }

    #[test]
    fn nothing_else_may_be() {
        assert_eq!(judge(&["GANG-01", "DEL-01", "AON-01"]).unexpected, ["AON-01"]);
    }
}
