use std::sync::Arc;

use conformance_contract::kubernetes::Kubernetes;

use crate::gates::Gates;
use crate::operator::Operator;

#[derive(Debug, Clone, PartialEq)]
pub struct Upgrade {
    pub from: Option<Arc<Operator>>,
    pub to: Option<Arc<Operator>>,
    /// Faults of the reference operator after the upgrade. Only mutants use this.
    pub faults: Vec<String>,
    /// The other control plane of the upgrade: the old one in the specification of a run, and the new one in
    /// the specification of a cluster before its upgrade.
    pub control_plane: Option<ControlPlane>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ControlPlane {
    pub kubernetes: Kubernetes,
    pub api_gates: Gates,
    pub scheduler_gates: Gates,
    pub runtime_config: Vec<String>,
}

impl ControlPlane {
    pub fn of(kubernetes: Kubernetes) -> Self {
        let gates = Gates::workload_api(kubernetes);
        Self {
            kubernetes,
            api_gates: gates.clone(),
            scheduler_gates: gates,
            runtime_config: kubernetes.workload_apis().iter().map(|api| (*api).into()).collect(),
        }
    }
}

impl Upgrade {
    pub fn of_kubernetes(from: Kubernetes, operator: Option<Arc<Operator>>) -> Self {
        let control_plane = Some(ControlPlane::of(from));
        Self { from: operator.clone(), to: operator, faults: Vec::new(), control_plane }
    }

    pub fn replaced(&self) -> &'static str {
        if self.control_plane.is_some() { "kubernetes" } else { "operator" }
    }

    /// Returns what the upgrade replaces, before and after, as text. `now` is the version before it.
    pub fn titles(&self, now: Kubernetes) -> [String; 2] {
        match &self.control_plane {
            Some(next) => [now, next.kubernetes].map(|version| format!("Kubernetes {version}")),
            None => [&self.from, &self.to].map(|operator| title(operator.as_deref())),
        }
    }
}

fn title(operator: Option<&Operator>) -> String {
    operator.map_or("the reference controller".into(), |operator| {
        format!("{} {}", operator.description.name, operator.version)
    })
}
