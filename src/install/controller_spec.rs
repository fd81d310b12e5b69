use std::collections::BTreeSet;

use conformance_contract::scheduler::{EXTERNAL_SCHEDULER, Scheduler};
use serde_json::{Value, json};

use crate::schedulers;

#[derive(Debug, Clone, PartialEq)]
pub struct ControllerSpec {
    pub configuration: Value,
    /// Faults. Only mutants use them.
    pub faults: Vec<String>,
    pub leader_election: bool,
}

impl Default for ControllerSpec {
    fn default() -> Self {
        Self::with_profile(json!({"gangScheduling": true}))
    }
}

impl ControllerSpec {
    /// The default-scheduler profile with this `config`, and the profile of [`EXTERNAL_SCHEDULER`].
    pub fn with_profile(config: Value) -> Self {
        let configuration = json!({
            "apiVersion": "operator.config.grove.io/v1alpha1",
            "kind": "OperatorConfiguration",
            "scheduler": {
                "defaultProfileName": "default-scheduler",
                "profiles": [
                    {"name": "default-scheduler", "config": config},
                    {"name": EXTERNAL_SCHEDULER, "type": "External"},
                ],
            },
        });
        Self { configuration, faults: Vec::new(), leader_election: false }
    }

    pub fn for_schedulers(schedulers: &BTreeSet<Scheduler>) -> Self {
        Self::default().with_schedulers(schedulers)
    }

    /// Adds an empty profile for each of these schedulers that PodCliqueSets can use, unless it has one.
    #[must_use]
    pub fn with_schedulers(mut self, wanted: &BTreeSet<Scheduler>) -> Self {
        for scheduler in schedulers::of_pod_clique_sets().filter(|scheduler| wanted.contains(scheduler)) {
            self.profile(scheduler.name());
        }
        self
    }

    #[must_use]
    pub fn with_profile_config(mut self, name: &str, config: Value) -> Self {
        if let Some(profile) = self.profile(name) {
            profile["config"] = config;
        }
        self
    }

    /// A missing profile is inserted before the External one.
    fn profile(&mut self, name: &str) -> Option<&mut Value> {
        let profiles = self.configuration["scheduler"]["profiles"].as_array_mut()?;
        let index = profiles.iter().position(|profile| profile["name"] == name).unwrap_or_else(|| {
            let external = profiles.iter().position(|profile| profile["type"] == "External");
            let index = external.unwrap_or(profiles.len());
            profiles.insert(index, json!({"name": name}));
            index
        });
        profiles.get_mut(index)
    }

    #[must_use]
    pub fn without_profile(mut self, name: &str) -> Self {
        if let Some(profiles) = self.configuration["scheduler"]["profiles"].as_array_mut() {
            profiles.retain(|profile| profile["name"] != name);
        }
        self
    }

    #[must_use]
    pub fn with_fault(mut self, fault: impl Into<String>) -> Self {
        self.faults.push(fault.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::{kai, koord_scheduler, volcano};

    #[test]
    fn the_controller_has_a_profile_for_each_scheduler() {
        let schedulers = [volcano::SCHEDULER, koord_scheduler::SCHEDULER, kai::SCHEDULER];
        let spec = ControllerSpec::for_schedulers(&schedulers.into())
            .with_profile_config("koord-scheduler", json!({"gangMode": "Strict"}));
        insta::assert_yaml_snapshot!(spec.configuration["scheduler"]["profiles"], @r"
        - config:
            gangScheduling: true
          name: default-scheduler
        - name: volcano
        - config:
            gangMode: Strict
          name: koord-scheduler
        - name: kai-scheduler
        - name: conformance-external
          type: External
        ");
        assert_eq!(ControllerSpec::for_schedulers(&[Scheduler::KUBE].into()), ControllerSpec::default());
    }
}
