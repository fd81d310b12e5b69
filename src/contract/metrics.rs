//! The names of the metrics of an operator that declares [`Metrics`](crate::clauses::Feature::Metrics). This
//! suite defines them, because GREP-498 has no metrics of gangs. Each metric has the label `namespace`.

use serde::Deserialize;

/// The name of each metric. A field that is not given has its default name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct MetricNames {
    /// A gauge: number of PodGangs by label `phase`, which is the phase in their status.
    pub gangs: String,
    /// A counter: gang terminations, of PodCliqueSet replicas and of single replicas of scaling groups.
    pub recycles: String,
    /// A counter: PodCliqueSet updates that have ended.
    pub updates: String,
    /// A histogram, in seconds: from the creation of a PodGang until all its minimums were first bound.
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
