//! The `config` of the profile `koord-scheduler` (KOORD-06).

use serde::Deserialize;

use super::layers::LayerMappings;

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct KoordinatorConfig {
    pub gang_mode: GangMode,
    pub match_policy: MatchPolicy,
    pub schedule_timeout_seconds: ScheduleTimeout,
    #[serde(rename = "defaultQoSClass")]
    pub default_qos_class: Option<QosClass>,
    /// Node-label keys and their layers, in addition to the well-known keys.
    pub topology_key_mappings: LayerMappings,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum GangMode {
    /// If one pod cannot be placed, all waiting pods of the GangGroup give up their nodes.
    #[default]
    Strict,
    /// Waiting pods keep their nodes until the timeout.
    NonStrict,
}

impl GangMode {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "Strict",
            Self::NonStrict => "NonStrict",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchPolicy {
    /// Once the minimum was reached, the gang stays satisfied and later pods are bound one by one.
    #[default]
    OnceSatisfied,
    OnlyWaiting,
    WaitingAndRunning,
}

impl MatchPolicy {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::OnceSatisfied => "once-satisfied",
            Self::OnlyWaiting => "only-waiting",
            Self::WaitingAndRunning => "waiting-and-running",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum QosClass {
    /// Exclusive CPUs.
    Lse,
    /// Reserved CPUs that are lent while idle.
    Lsr,
    /// Shared CPUs.
    Ls,
    Be,
}

impl QosClass {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Lse => "LSE",
            Self::Lsr => "LSR",
            Self::Ls => "LS",
            Self::Be => "BE",
        }
    }
}

/// A number of seconds, at least 1. The scheduler itself waits at most 15 minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "i64")]
pub struct ScheduleTimeout(i32);

impl Default for ScheduleTimeout {
    fn default() -> Self {
        Self(30)
    }
}

impl ScheduleTimeout {
    pub fn seconds(self) -> i32 {
        self.0
    }
}

impl TryFrom<i64> for ScheduleTimeout {
    type Error = String;

    fn try_from(seconds: i64) -> Result<Self, Self::Error> {
        let valid = i32::try_from(seconds).ok().filter(|seconds| *seconds >= 1);
        valid.map(Self).ok_or_else(|| format!("{seconds}: must be from 1 to {} seconds", i32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::backend::koordinator::layers::Layer;

    #[test]
    fn the_defaults_are_those_of_the_proposal() {
        let config: KoordinatorConfig = serde_json::from_str("{}").unwrap();
        let values = (
            config.gang_mode.as_str(),
            config.match_policy.as_str(),
            config.schedule_timeout_seconds.seconds(),
            config.default_qos_class,
        );
        assert_eq!(values, ("Strict", "once-satisfied", 30, None));
    }

    #[test]
    fn every_field_is_read() {
        let config: KoordinatorConfig = serde_json::from_value(json!({
            "gangMode": "NonStrict", "matchPolicy": "waiting-and-running", "scheduleTimeoutSeconds": 90,
            "defaultQoSClass": "LSR", "topologyKeyMappings": {"example.com/rack": "rackLayer"},
        }))
        .unwrap();
        let values = (
            config.gang_mode.as_str(),
            config.match_policy.as_str(),
            config.schedule_timeout_seconds.seconds(),
            config.default_qos_class.map(QosClass::as_str),
            config.topology_key_mappings.layer("example.com/rack"),
        );
        assert_eq!(values, ("NonStrict", "waiting-and-running", 90, Some("LSR"), Some(Layer::Rack)));
    }

    #[rstest::rstest]
    #[case::field(json!({"gangmode": "Strict"}), "gangmode")]
    #[case::mode(json!({"gangMode": "strict"}), "gangMode")]
    #[case::policy(json!({"matchPolicy": "Once"}), "matchPolicy")]
    #[case::zero_time(json!({"scheduleTimeoutSeconds": 0}), "scheduleTimeoutSeconds")]
    #[case::negative_time(json!({"scheduleTimeoutSeconds": -1}), "scheduleTimeoutSeconds")]
    #[case::too_long(json!({"scheduleTimeoutSeconds": 2_147_483_648_u32}), "scheduleTimeoutSeconds")]
    #[case::duration_text(json!({"scheduleTimeoutSeconds": "30s"}), "scheduleTimeoutSeconds")]
    #[case::qos(json!({"defaultQoSClass": "SYSTEM"}), "defaultQoSClass")]
    #[case::layer(json!({"topologyKeyMappings": {"rack": "zoneLayer"}}), "topologyKeyMappings.rack")]
    #[case::key(json!({"topologyKeyMappings": {"a b": "rackLayer"}}), "topologyKeyMappings")]
    #[case::changed_well_known_key(
        json!({"topologyKeyMappings": {"kubernetes.io/hostname": "rackLayer"}}),
        "topologyKeyMappings"
    )]
    fn an_invalid_value_is_reported_with_its_path(#[case] config: serde_json::Value, #[case] path: &str) {
        let error = serde_path_to_error::deserialize::<_, KoordinatorConfig>(config).unwrap_err();
        assert_eq!(error.path().to_string(), path, "{error}");
    }
}
