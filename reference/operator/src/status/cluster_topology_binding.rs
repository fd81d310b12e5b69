//! The status of a ClusterTopologyBinding. In addition to upstream, the condition's message names the
//! schedulers. Three reasons are new: a scheduler is not installed, must wait, or refuses the binding.

use std::sync::Arc;

use grove_api::names::CONDITION_SCHEDULER_TOPOLOGY_DRIFT;
use grove_api::{
    ClusterTopologyBinding, ClusterTopologyBindingStatus, SchedulerTopologyBinding, SchedulerTopologyStatus,
};
use kube::ResourceExt;
use kube::api::DynamicObject;

use crate::backend::{BackendError, TopologyState};
use crate::plan::conditions::{self, ConditionUpdate};

/// The state of one scheduler. The condition reports the last of these variants that occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SyncState {
    InSync,
    NotReady,
    /// The topology resources can be synced once another object is deleted.
    Waiting,
    Drifted,
    Refused,
    /// The scheduler is not enabled, or has no topology resources.
    Unavailable,
}

impl SyncState {
    fn condition(self) -> (Option<bool>, &'static str) {
        match self {
            Self::InSync => (Some(false), "InSync"),
            Self::NotReady => (None, "SchedulerBackendNotReady"),
            Self::Waiting => (None, "TopologyPending"),
            Self::Drifted => (Some(true), "Drift"),
            Self::Refused => (Some(true), "TopologyRefused"),
            Self::Unavailable => (None, "TopologyNotFound"),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Report {
    pub scheduler: String,
    /// The topology resource that the binding refers to, or else the binding's own name.
    pub reference: String,
    pub generation: Option<i64>,
    pub state: SyncState,
    pub message: Option<String>,
}

impl Report {
    pub(crate) fn of_result(
        binding: &ClusterTopologyBinding,
        scheduler: &str,
        result: &Result<TopologyState, BackendError>,
        existing: &[Arc<DynamicObject>],
    ) -> Self {
        let (state, message) = match result {
            Ok(TopologyState::InSync) => (SyncState::InSync, None),
            Ok(TopologyState::Drift(why) | TopologyState::NotFound(why)) => {
                (SyncState::Drifted, Some(why.clone()))
            }
            Ok(TopologyState::Refused(why)) | Err(BackendError::Refused(why)) => {
                (SyncState::Refused, Some(why.clone()))
            }
            Err(BackendError::NotReady { reason, .. }) => (SyncState::NotReady, Some(reason.clone())),
            Err(BackendError::Waiting(why)) => (SyncState::Waiting, Some(format!("waiting: {why}"))),
            Err(error) => (SyncState::Drifted, Some(error.to_string())),
        };
        let reference = binding.spec.reference(scheduler);
        let referenced = existing.iter().find(|object| Some(object.name_any().as_str()) == reference);
        Self {
            scheduler: scheduler.to_owned(),
            reference: reference.map_or_else(|| binding.name_any(), str::to_owned),
            generation: referenced.and_then(|object| object.metadata.generation),
            state,
            message,
        }
    }

    pub(crate) fn unavailable(bound: &SchedulerTopologyBinding) -> Self {
        let SchedulerTopologyBinding { scheduler_name: scheduler, topology_reference } = bound;
        Self {
            scheduler: scheduler.clone(),
            reference: topology_reference.clone(),
            generation: None,
            state: SyncState::Unavailable,
            message: Some(format!(
                "scheduler backend {scheduler:?} is not enabled or has no topology objects"
            )),
        }
    }
}

/// Sets the observed generation only if `is_done`: no sync has to be retried.
pub(crate) fn status(
    binding: &ClusterTopologyBinding,
    reports: &[Report],
    is_done: bool,
) -> ClusterTopologyBindingStatus {
    let before = binding.status.clone().unwrap_or_default();
    let generation = binding.metadata.generation;
    let mut conditions = before.conditions;
    match reports.iter().map(|report| report.state).max() {
        None => conditions.retain(|condition| condition.type_ != CONDITION_SCHEDULER_TOPOLOGY_DRIFT),
        Some(worst) => conditions = conditions::with(conditions, summary(worst, reports), generation),
    }
    ClusterTopologyBindingStatus {
        observed_generation: if is_done { generation } else { before.observed_generation },
        conditions,
        scheduler_topology_statuses: reports.iter().map(entry).collect(),
    }
}

pub(crate) fn drift(status: &ClusterTopologyBindingStatus) -> Option<&str> {
    let mut conditions = status.conditions.iter();
    conditions
        .find(|found| found.type_ == CONDITION_SCHEDULER_TOPOLOGY_DRIFT && found.status == "True")
        .map(|found| found.message.as_str())
}

fn summary(worst: SyncState, reports: &[Report]) -> ConditionUpdate {
    let (status, reason) = worst.condition();
    let wrong = |report: &Report| Some(format!("{}: {}", report.scheduler, report.message.as_ref()?));
    let message = match worst {
        SyncState::InSync => "All scheduler backend topologies are in sync".to_owned(),
        _ => reports.iter().filter_map(wrong).collect::<Vec<_>>().join("; "),
    };
    ConditionUpdate { type_: CONDITION_SCHEDULER_TOPOLOGY_DRIFT, status, reason: reason.into(), message }
}

fn entry(report: &Report) -> SchedulerTopologyStatus {
    SchedulerTopologyStatus {
        scheduler_name: report.scheduler.clone(),
        topology_reference: report.reference.clone(),
        in_sync: report.state == SyncState::InSync,
        scheduler_backend_topology_observed_generation: report.generation,
        message: report.message.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn binding(status: Value) -> ClusterTopologyBinding {
        serde_json::from_value(json!({
            "metadata": {"name": "topo", "generation": 2},
            "spec": {"levels": [{"domain": "rack", "key": "r"}],
                     "schedulerTopologyBindings": [{"schedulerName": "kai", "topologyReference": "theirs"}]},
            "status": status,
        }))
        .unwrap()
    }

    fn not_ready() -> BackendError {
        BackendError::NotReady { backend: "volcano".into(), reason: "no CRD".into() }
    }

    fn lines(results: Vec<(&str, Result<TopologyState, BackendError>)>) -> String {
        let binding = binding(json!({}));
        let theirs: DynamicObject =
            serde_json::from_value(json!({"metadata": {"name": "theirs", "generation": 7}})).unwrap();
        let existing = [Arc::new(theirs)];
        let report =
            |(scheduler, state): &(&str, _)| Report::of_result(&binding, scheduler, state, &existing);
        let status = status(&binding, &results.iter().map(report).collect::<Vec<_>>(), true);
        let condition = &status.conditions[0];
        let mut lines = vec![format!("{}/{}: {}", condition.status, condition.reason, condition.message)];
        lines.extend(status.scheduler_topology_statuses.iter().map(|entry| {
            let generation = entry.scheduler_backend_topology_observed_generation;
            format!("{} {} {} {generation:?}", entry.scheduler_name, entry.topology_reference, entry.in_sync)
        }));
        lines.join("\n")
    }

    #[test]
    fn the_binding_is_in_sync_if_all_schedulers_are() {
        let results = vec![("kai", Ok(TopologyState::InSync)), ("volcano", Ok(TopologyState::InSync))];
        insta::assert_snapshot!(lines(results), @r"
        False/InSync: All scheduler backend topologies are in sync
        kai theirs true Some(7)
        volcano topo true None
        ");
    }

    #[rstest::rstest]
    #[case::drift(Ok(TopologyState::Drift("levels differ".into())), "True/Drift: kai: levels differ; volcano: no CRD")]
    #[case::not_found(Ok(TopologyState::NotFound("none".into())), "True/Drift: kai: none; volcano: no CRD")]
    #[case::refused(Ok(TopologyState::Refused("held".into())), "True/TopologyRefused: kai: held; volcano: no CRD")]
    #[case::waiting(Err(BackendError::Waiting("old".into())), "Unknown/TopologyPending: kai: waiting: old; volcano: no CRD")]
    #[case::failed(
        Err(BackendError::NameTaken("x".into())),
        "True/Drift: kai: x exists and is not controlled by this PodGang: delete it, or rename the \
         PodCliqueSet; volcano: no CRD"
    )]
    #[case::good(Ok(TopologyState::InSync), "Unknown/SchedulerBackendNotReady: volcano: no CRD")]
    fn the_condition_reports_the_worst_state(
        #[case] state: Result<TopologyState, BackendError>,
        #[case] expected: &str,
    ) {
        let lines = lines(vec![("kai", state), ("volcano", Err(not_ready()))]);
        assert_eq!(lines.lines().next(), Some(expected));
        assert!(lines.ends_with("volcano topo false None"), "{lines}");
    }

    #[test]
    fn a_scheduler_that_is_not_enabled_outweighs_the_rest() {
        let binding = binding(json!({}));
        let drifted =
            Report::of_result(&binding, "volcano", &Ok(TopologyState::Drift("differs".into())), &[]);
        let unknown = Report::unavailable(&binding.spec.scheduler_topology_bindings[0]);
        let status = status(&binding, &[drifted, unknown], true);
        assert_eq!(status.conditions[0].reason, "TopologyNotFound");
        assert_eq!(drift(&status), None, "the state of the disabled scheduler is unknown");
    }

    #[test]
    fn the_observed_generation_stays_after_a_failure_and_no_scheduler_means_no_condition() {
        let before = json!({"observedGeneration": 1, "conditions": [
            {"type": "SchedulerTopologyDrift", "status": "False", "reason": "InSync", "message": "",
             "lastTransitionTime": "2026-01-01T00:00:00Z"}]});
        let binding = binding(before);
        assert_eq!(status(&binding, &[], false).observed_generation, Some(1));
        let settled = status(&binding, &[], true);
        assert_eq!((settled.observed_generation, settled.conditions), (Some(2), Vec::new()));
    }
}
