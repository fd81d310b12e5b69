use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Seconds;

/// Processor seconds of each program, in user and kernel mode.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ProcessorSeconds(BTreeMap<String, Seconds>);

impl ProcessorSeconds {
    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn total(&self) -> Seconds {
        self.0.values().copied().sum()
    }
}

impl<N: Into<String>> FromIterator<(N, Duration)> for ProcessorSeconds {
    fn from_iter<I: IntoIterator<Item = (N, Duration)>>(spent: I) -> Self {
        Self(spent.into_iter().map(|(program, spent)| (program.into(), Seconds::from(spent))).collect())
    }
}

impl<'a> std::iter::Sum<&'a ProcessorSeconds> for ProcessorSeconds {
    fn sum<I: Iterator<Item = &'a ProcessorSeconds>>(all: I) -> Self {
        let mut sums = Self::default();
        for (program, seconds) in all.flat_map(|one| &one.0) {
            let sum = sums.0.entry(program.clone()).or_default();
            *sum = [*sum, *seconds].into_iter().sum();
        }
        sums
    }
}

impl fmt::Display for ProcessorSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shares: Vec<_> = self.0.iter().collect();
        shares.sort_by_key(|(program, seconds)| (Reverse(**seconds), program.as_str()));
        let shares: Vec<_> = shares.iter().map(|(program, seconds)| format!("{program} {seconds}")).collect();
        write!(f, "{} ({})", self.total(), shares.join(", "))
    }
}
