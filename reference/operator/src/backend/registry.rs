//! The enabled backends by schedulerName, even those whose scheduler API is missing (ADM-19).

use std::collections::BTreeMap;
use std::sync::Arc;

use grove_api::PodCliqueSet;

use super::{BUILT_IN, SchedulerBackend};
use crate::cache::caches::BackendKinds;

pub const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// A name that Grove reserves for a backend that this operator does not have.
const LPX_SCHEDULER: &str = "lpx-scheduler";

pub(super) fn is_reserved(name: &str) -> bool {
    name == LPX_SCHEDULER || BUILT_IN.iter().any(|built_in| built_in.name == name)
}

#[derive(Clone)]
pub struct Registry {
    default_name: String,
    backends: BTreeMap<String, Arc<dyn SchedulerBackend>>,
}

#[derive(Debug, thiserror::Error)]
#[error("the default backend {0:?} is not enabled")]
pub struct DefaultNotEnabled(String);

pub enum Served {
    By(Arc<dyn SchedulerBackend>),
    /// The backend of this name is not enabled, or no longer enabled: leave the gang unchanged (ADM-11).
    Disabled(String),
}

impl Registry {
    pub fn new(
        default_name: impl Into<String>,
        backends: impl IntoIterator<Item = Arc<dyn SchedulerBackend>>,
    ) -> Result<Self, DefaultNotEnabled> {
        let default_name = default_name.into();
        let backends: BTreeMap<_, _> = backends.into_iter().map(|b| (b.name().to_owned(), b)).collect();
        if !backends.contains_key(&default_name) {
            return Err(DefaultNotEnabled(default_name));
        }
        Ok(Self { default_name, backends })
    }

    pub fn default_name(&self) -> &str {
        &self.default_name
    }

    pub fn get(&self, name: &str) -> Option<Arc<dyn SchedulerBackend>> {
        self.backends.get(name).cloned()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn SchedulerBackend>> {
        self.backends.values()
    }

    pub(crate) fn cached_kinds(&self) -> BackendKinds {
        let topology_backends = || self.iter().filter_map(|backend| backend.topology());
        BackendKinds {
            gang_resources: self.iter().flat_map(|backend| backend.gang_resources()).collect(),
            topology_resources: topology_backends()
                .flat_map(|backend| backend.topology_resources())
                .collect(),
            reads_nodes: topology_backends().next().is_some(),
        }
    }

    pub fn scheduler_name<'a>(&'a self, pcs: &'a PodCliqueSet) -> &'a str {
        let named =
            pcs.spec.template.cliques.iter().filter_map(|clique| clique.spec.pod_spec.scheduler_name());
        named.into_iter().find(|name| !name.is_empty()).unwrap_or(&self.default_name)
    }

    pub fn resolve(&self, pcs: &PodCliqueSet) -> Option<Arc<dyn SchedulerBackend>> {
        self.get(self.scheduler_name(pcs))
    }

    /// An absent or invalid `label` (`grove.io/scheduler-name`) means the default (GANG-04). A name without
    /// an enabled backend is a disabled scheduler if it is built in or requested, and a typo otherwise.
    pub fn serve(&self, label: Option<&str>, pcs: Option<&PodCliqueSet>) -> Served {
        let name = label.unwrap_or(&self.default_name);
        let is_requested = || pcs.is_some_and(|pcs| self.scheduler_name(pcs) == name);
        match (self.get(name), self.get(&self.default_name)) {
            (Some(backend), _) => Served::By(backend),
            (None, Some(default)) if !is_reserved(name) && !is_requested() => Served::By(default),
            _ => Served::Disabled(name.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::backend::{External, ExternalConfig};

    fn pcs_with_scheduler(scheduler: &str) -> PodCliqueSet {
        let clique = json!({"name": "a", "spec": {"replicas": 1, "podSpec": {"schedulerName": scheduler}}});
        let spec = json!({"replicas": 1, "template": {"cliques": [clique]}});
        serde_json::from_value(json!({"metadata": {"name": "wl"}, "spec": spec})).unwrap()
    }

    #[rstest::rstest]
    #[case::absent(None, None, Some("default"))]
    #[case::enabled(Some("other"), None, Some("other"))]
    #[case::no_scheduler(Some("slip"), None, Some("default"))]
    #[case::no_scheduler_and_not_requested(Some("slip"), Some("default"), Some("default"))]
    #[case::built_in(Some("volcano"), None, None)]
    #[case::disabled_since(Some("gone"), Some("gone"), None)]
    fn a_pod_gang_is_served_by_the_backend_of_its_label(
        #[case] label: Option<&str>,
        #[case] requested: Option<&str>,
        #[case] served_by: Option<&str>,
    ) {
        let backends = ["default", "other"].map(|name| {
            Arc::new(External::new(name, ExternalConfig::default())) as Arc<dyn SchedulerBackend>
        });
        let registry = Registry::new("default", backends).unwrap();
        let found = match registry.serve(label, requested.map(pcs_with_scheduler).as_ref()) {
            Served::By(backend) => Some(backend.name().to_owned()),
            Served::Disabled(name) => {
                assert_eq!(Some(name.as_str()), label);
                None
            }
        };
        assert_eq!(found.as_deref(), served_by);
    }
}
