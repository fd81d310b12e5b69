use serde::Deserialize;

use super::GangScope;

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct DefaultSchedulerConfig {
    /// If false, pods only get the schedulerName and no gang resources are created (KUBE-13).
    pub gang_scheduling: bool,
    /// The scope of PodCliqueSets that choose none, if the cluster does not serve CompositePodGroup.
    pub gang_scope: GangScope,
    pub scheduler_feature_gates: SchedulerFeatureGates,
}

/// kube-scheduler's feature gates, as declared: no API exposes them (KUBE-17). An omitted gate is on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields, default)]
pub struct SchedulerFeatureGates {
    pub generic_workload: bool,
    pub gang_scheduling: bool,
    pub topology_aware_workload_scheduling: bool,
    /// The scheduler binds trees of CompositePodGroups as a whole (Kubernetes 1.37).
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
    fn the_default_is_pass_through() {
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
