use std::collections::BTreeMap;

use conformance_contract::kubernetes::Kubernetes;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gates(pub BTreeMap<String, bool>);

impl Gates {
    pub fn workload_api(kubernetes: Kubernetes) -> Self {
        kubernetes.workload_gates().iter().fold(Self::default(), |gates, name| gates.with(name, true))
    }

    #[must_use]
    pub fn with(mut self, name: &str, on: bool) -> Self {
        self.0.insert(name.into(), on);
        self
    }

    #[must_use]
    pub fn only(&self, names: &[&str]) -> Self {
        let mut gates = self.clone();
        gates.0.retain(|name, _| names.contains(&name.as_str()));
        gates
    }

    /// Kubernetes turns all gates of the Workload API off by default.
    pub fn is_on(&self, name: &str) -> bool {
        self.0.get(name).copied().unwrap_or(false)
    }

    pub fn flag(&self) -> Option<String> {
        let all: Vec<_> = self.0.iter().map(|(name, on)| format!("{name}={on}")).collect();
        (!all.is_empty()).then(|| format!("--feature-gates={}", all.join(",")))
    }
}
