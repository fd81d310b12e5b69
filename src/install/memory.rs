//! How much memory a run of local processes needs, and the memory limits of its programs. Values are in MiB,
//! measured with Kubernetes 1.36 on two processors.

use conformance_programs::available_memory;
use conformance_programs::preflight::{Check, enough_memory};

use crate::part::Part;

/// The suite, with the histories of the running cases.
const SUITE: u64 = 300;
/// A control plane that cases share: API server, etcd and controllers.
const SHARED: u64 = 900;
const PER_SCHEDULER: u64 = 300;
const ALONE: u64 = 600;

/// The use of a control plane, which determines how much memory its programs may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Memory {
    /// Thousands of pods: as much memory as the machine has.
    #[default]
    Ample,
    Shared,
    Alone,
}

impl Memory {
    /// GOGC and GOMEMLIMIT of a part. A shared API server with one scheduler uses 330 MiB, and 1,700 MiB with
    /// GOGC=400. GOMEMLIMIT halves the latter, and costs 1 % of a run's processor time. With the default of
    /// GOGC=100, garbage collection would take a third of the API server's time.
    pub fn go_variables(self, part: Part, schedulers: usize) -> [(String, String); 2] {
        let available = available_memory::in_mib().unwrap_or(0);
        let for_schedulers = PER_SCHEDULER * schedulers as u64;
        let (percent, limit) = match (self, part) {
            (Self::Ample, _) => (400, (available / 4).clamp(1024, 4096)),
            (Self::Shared, Part::Apiserver) => (400, (available / 4).clamp(512, 600 + for_schedulers)),
            (Self::Shared | Self::Alone, _) => (150, (available / 6).clamp(256, 512)),
        };
        [("GOGC".into(), percent.to_string()), ("GOMEMLIMIT".into(), format!("{limit}MiB"))]
    }
}

fn with_planes(schedulers: usize, alone: usize) -> u64 {
    SUITE + SHARED + PER_SCHEDULER * schedulers as u64 + ALONE * alone as u64
}

pub fn of_run(schedulers: usize) -> u64 {
    with_planes(schedulers, schedulers)
}

pub fn check(schedulers: usize) -> Check {
    Check::new("memory of a run", enough_memory(available_memory::in_mib(), of_run(schedulers)))
}

pub fn planes_within(available_mib: u64, schedulers: usize) -> u32 {
    let left = available_mib.saturating_sub(with_planes(schedulers, 0));
    u32::try_from(left / ALONE).unwrap_or(u32::MAX)
}

pub fn another_fits() -> bool {
    available_memory::in_mib().is_none_or(|available| available > 2 * ALONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_control_planes_fit_as_the_memory_of_a_run_allows() {
        assert_eq!(planes_within(of_run(3), 3), 3);
        assert_eq!(planes_within(of_run(3) - 1, 3), 2);
        assert_eq!(planes_within(0, 1), 0);
    }

    #[test]
    fn only_a_shared_api_server_may_keep_400_percent_of_garbage() {
        let percent = |memory: Memory, part| memory.go_variables(part, 1)[0].1.clone();
        assert_eq!(percent(Memory::Shared, Part::Apiserver), "400");
        assert_eq!(percent(Memory::Alone, Part::Apiserver), "150");
        assert_eq!(percent(Memory::Shared, Part::Etcd), "150");
        assert_eq!(percent(Memory::Ample, Part::Etcd), "400");
    }
}
