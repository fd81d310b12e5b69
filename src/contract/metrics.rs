//! The metric names of an operator that declares [`Metrics`](crate::clauses::Feature::Metrics), in
//! Prometheus' text format. GREP-498 proposes none for gangs, so the names are this suite's; an operator's
//! description may override them.
//!
//! Each metric has the label `namespace` of the objects that it is about.

use serde::Deserialize;

/// The names of the metrics.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct MetricNames {
    /// A gauge: PodGangs by label `phase`, as in their status.
    pub gangs: String,
    /// A counter: gang terminations of PodCliqueSet replicas, and of single replicas of scaling groups.
    pub recycles: String,
    /// A counter: updates of PodCliqueSets that have ended.
    pub updates: String,
    /// A histogram, in seconds: from the creation of a PodGang until the minimum of all its podgroups was
    /// first bound.
    pub time_to_bound: String,
}

impl Default for MetricNames {
    fn default() -> Self {
        Self {
            gangs: "grove_podgangs".into(),
            recycles: "grove_recycles_total".into(),
            updates: "grove_podcliqueset_updates_total".into(),
            time_to_bound: "grove_podgang_time_to_bound_seconds".into(),
        }
    }
}
