//! How much memory a run of local processes takes, and what keeps its programs from taking more. Figures in MiB, of
//! Kubernetes 1.36 on two processors.

use crate::local::Part;
use crate::preflight::available_memory_mib;

/// What the suite takes with the histories of the cases that run.
const SUITE: u64 = 300;
/// What a control plane takes that cases share: API server, etcd, controllers; and for each scheduler that is judged on it.
const SHARED: u64 = 900;
const OF_SCHEDULER: u64 = 300;
/// What one takes that runs a case at a time.
const ALONE: u64 = 600;

/// What a control plane is for, by which its programs may take more memory or less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Memory {
    /// Thousands of pods: as much as the machine has.
    #[default]
    Ample,
    /// Cases side by side.
    Shared,
    /// One case at a time.
    Alone,
}

impl Memory {
    /// Variables of a part that is written in Go: the garbage that it may have, in percent of what is in use, and the size of its
    /// heap from which it collects sooner. The API server that cases share, with one scheduler, has 330 MiB in use, and with 400 %
    /// of garbage 1,700. Its limit halves that for one percent of a run's processor time; without the 400 % a third of its own time
    /// would go into collecting. The other parts work less.
    pub(crate) fn of_go(self, part: Part, schedulers: usize) -> [(String, String); 2] {
        let available = available_memory_mib().unwrap_or(0);
        let of_schedulers = OF_SCHEDULER * schedulers as u64;
        let (percent, limit) = match (self, part) {
            (Self::Ample, _) => (400, (available / 4).clamp(1024, 4096)),
            (Self::Shared, Part::Apiserver) => (400, (available / 4).clamp(512, 600 + of_schedulers)),
            (Self::Shared | Self::Alone, _) => (150, (available / 6).clamp(256, 512)),
        };
        [("GOGC".into(), percent.to_string()), ("GOMEMLIMIT".into(), format!("{limit}MiB"))]
    }
}

/// What a run takes that judges so many schedulers, with so many control planes beside the shared one.
fn with_planes(schedulers: usize, alone: usize) -> u64 {
    SUITE + SHARED + OF_SCHEDULER * schedulers as u64 + ALONE * alone as u64
}

/// What a run takes at least that judges so many schedulers: each has a control plane for cases that are alone.
pub fn of_run(schedulers: usize) -> u64 {
    with_planes(schedulers, schedulers)
}

/// How many control planes fit beside the shared one.
pub fn planes_within(available_mib: u64, schedulers: usize) -> u32 {
    let left = available_mib.saturating_sub(with_planes(schedulers, 0));
    u32::try_from(left / ALONE).unwrap_or(u32::MAX)
}

/// Whether another control plane fits beside those that run, which may grow as much meanwhile.
pub fn another_fits() -> bool {
    available_memory_mib().is_none_or(|available| available > 2 * ALONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_what_a_run_takes() {
        assert_eq!(planes_within(of_run(3), 3), 3);
        assert_eq!(planes_within(of_run(3) - 1, 3), 2);
        assert_eq!(planes_within(0, 1), 0);
    }

    #[test]
    fn who_works_less_keeps_less_garbage() {
        let percent = |memory: Memory, part| memory.of_go(part, 1)[0].1.clone();
        assert_eq!(percent(Memory::Shared, Part::Apiserver), "400");
        assert_eq!(percent(Memory::Alone, Part::Apiserver), "150");
        assert_eq!(percent(Memory::Shared, Part::Etcd), "150");
        assert_eq!(percent(Memory::Ample, Part::Etcd), "400");
    }
}
