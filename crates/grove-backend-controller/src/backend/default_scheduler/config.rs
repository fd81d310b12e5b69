//! The `config` of the profile `default-scheduler`.
//!
//! Parsed strictly: an unknown field or value prevents the start, and the error has its path (the caller adds the
//! profile's). Whether the cluster supports what is configured is up to `detection`.

use serde::Deserialize;

use super::GangScope;

/// The profile's `config`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct DefaultSchedulerConfig {
    /// Hand gangs to kube-scheduler. Off, pods only get the schedulerName, and nothing is created (KUBE-13).
    pub gang_scheduling: bool,
    /// What is bound together where the PodCliqueSet does not say and CompositePodGroup is not served.
    pub gang_scope: GangScope,
    /// The scheduler's own feature gates, which no API shows.
    pub scheduler_feature_gates: SchedulerFeatureGates,
}

/// What the administrator declares about the feature gates of the scheduler process (KUBE-17). A gate that is
/// not mentioned is taken to be on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields, default)]
pub struct SchedulerFeatureGates {
    /// Reads Workload and PodGroup at all.
    pub generic_workload: bool,
    /// Binds the pods of a PodGroup together.
    pub gang_scheduling: bool,
    /// Honours a PodGroup's topology key.
    pub topology_aware_workload_scheduling: bool,
    /// Binds trees of CompositePodGroups whole; Kubernetes 1.37.
    pub composite_pod_group: bool,
}

impl Default for SchedulerFeatureGates {
    fn default() -> Self {
        Self {
            generic_workload: true,
            gang_scheduling: true,
            topology_aware_workload_scheduling: true,
            composite_pod_group: true,
        }
    }
}

impl SchedulerFeatureGates {
    /// The gate that is declared off although gangs need it.
    pub(super) fn missing_for_gangs(&self) -> Option<&'static str> {
        match (self.generic_workload, self.gang_scheduling) {
            (false, _) => Some("GenericWorkload"),
            (true, false) => Some("GangScheduling"),
            (true, true) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_said_is_pass_through() {
        let config: DefaultSchedulerConfig = serde_json::from_str("{}").unwrap();
        assert!(!config.gang_scheduling);
        assert_eq!(config.gang_scope, GangScope::PodGroup);
        assert_eq!(config.scheduler_feature_gates.missing_for_gangs(), None);
    }

    #[rstest::rstest]
    #[case(r#"{"gangScheduling": "yes"}"#)]
    #[case(r#"{"gangScope": "Pod"}"#)]
    #[case(r#"{"gangscope": "PodGang"}"#)]
    #[case(r#"{"schedulerFeatureGates": {"Gang": true}}"#)]
    fn unknown_fields_and_values_are_errors(#[case] config: &str) {
        assert!(serde_json::from_str::<DefaultSchedulerConfig>(config).is_err());
    }

    #[test]
    fn a_gate_declared_off_is_named() {
        let config: DefaultSchedulerConfig =
            serde_json::from_str(r#"{"schedulerFeatureGates": {"GangScheduling": false}}"#).unwrap();
        assert_eq!(config.scheduler_feature_gates.missing_for_gangs(), Some("GangScheduling"));
    }
}
