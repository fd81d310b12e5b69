//! The cases that determined how long a run took.

use std::cmp::Reverse;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Seconds;

/// The number of cases that the text lists.
const LONGEST: usize = 5;

/// The chain of cases that ended with the last case. Each case started when the one before it left its place
/// on the control plane. The first case is first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CriticalPath(pub Vec<CriticalStep>);

/// One case of the critical path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CriticalStep {
    /// Id of the case.
    pub case: String,
    /// Title of the target, such as `default-scheduler (PodGang scope)`.
    pub target: String,
    /// Time from the start of the run to the start of the case.
    pub start_seconds: Seconds,
    /// Time until the case left its place. Includes the start of the control plane if the case needed one.
    pub duration_seconds: Seconds,
}

impl CriticalPath {
    /// Whether no case ran, or the report was merged.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for CriticalPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Seconds = self.0.iter().map(|step| step.duration_seconds).sum();
        let mut longest: Vec<_> = self.0.iter().collect();
        longest.sort_by_key(|step| Reverse(step.duration_seconds));
        longest.truncate(LONGEST);
        let longest: Vec<_> =
            longest.iter().map(|step| format!("{} {}", step.case, step.duration_seconds)).collect();
        write!(f, "{all}, number of cases: {}, the longest: {}", self.0.len(), longest.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{fixture, markdown, terminal};

    #[test]
    fn the_text_lists_the_longest_cases_first() {
        let step = |(case, start, duration): (&str, u64, u64)| CriticalStep {
            case: case.to_owned(),
            target: "volcano".to_owned(),
            start_seconds: Duration::from_millis(start).into(),
            duration_seconds: Duration::from_millis(duration).into(),
        };
        let path =
            CriticalPath([("aon/fits", 5_000, 1_200), ("gang/scaling", 6_200, 9_000)].map(step).into());
        assert_eq!(
            path.to_string(),
            "10.2 s, number of cases: 2, the longest: gang/scaling 9.0 s, aon/fits 1.2 s"
        );
        assert!(!path.is_empty() && CriticalPath::default().is_empty());
        let mut report = fixture::report();
        report.timings.critical_path = path;
        for text in [terminal(&report), markdown(&report)] {
            assert!(text.contains("critical path: 10.2 s, number of cases: 2"), "{text}");
        }
    }
}
