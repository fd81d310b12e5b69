use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Peak private memory of programs in MiB, without file-backed pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PeakMemory {
    /// Peak of the sum over all programs.
    pub all: u64,
    /// Peak of each program, over all its processes. The peaks occur at different times.
    pub programs: BTreeMap<String, u64>,
}

impl PeakMemory {
    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.all == 0
    }

    /// Raises each peak to that of another measurement.
    pub fn raise(&mut self, other: &Self) {
        self.all = self.all.max(other.all);
        for (program, mib) in &other.programs {
            let peak = self.programs.entry(program.clone()).or_default();
            *peak = (*peak).max(*mib);
        }
    }
}

impl fmt::Display for PeakMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut programs: Vec<_> = self.programs.iter().collect();
        programs.sort_by_key(|(program, mib)| (Reverse(**mib), program.as_str()));
        let programs: Vec<_> = programs.iter().map(|(program, mib)| format!("{program} {mib}")).collect();
        write!(f, "{} MiB ({})", self.all, programs.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peak(all: u64, programs: &[(&str, u64)]) -> PeakMemory {
        let programs = programs.iter().map(|(program, mib)| ((*program).to_owned(), *mib)).collect();
        PeakMemory { all, programs }
    }

    #[test]
    fn the_larger_peak_of_each_program_counts() {
        let mut merged = peak(900, &[("etcd", 200), ("kwok", 50)]);
        merged.raise(&peak(800, &[("etcd", 300)]));
        assert_eq!(merged.to_string(), "900 MiB (etcd 300, kwok 50)");
    }
}
