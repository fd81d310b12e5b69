//! The private memory of this process and its children: the kernel can reclaim file-backed memory.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;

use crate::peak_memory::bytes;
use crate::processor_time;

const PACE: Duration = Duration::from_millis(400);

/// Peak memory in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Peak {
    /// The maximum, over time, of the sum of all programs.
    pub all: u64,
    /// For each program, the maximum over time of the sum of its processes.
    pub programs: BTreeMap<String, u64>,
}

static PEAK: Mutex<Peak> = Mutex::new(Peak { all: 0, programs: BTreeMap::new() });

pub fn peak() -> Peak {
    PEAK.lock().clone()
}

/// Measures periodically, and never returns. `own` is the name of this process.
pub async fn watch(own: &str) {
    loop {
        let children = processor_time::running().into_iter().map(|(pid, name)| (pid.to_string(), name));
        let processes = children.chain([("self".to_owned(), own.to_owned())]);
        let sizes = processes.filter_map(|(process, name)| Some((name, of(&process)?)));
        PEAK.lock().add(sizes);
        tokio::time::sleep(PACE).await;
    }
}

impl Peak {
    fn add(&mut self, sizes: impl Iterator<Item = (String, u64)>) {
        let mut now: BTreeMap<String, u64> = BTreeMap::new();
        for (name, bytes) in sizes {
            *now.entry(name).or_default() += bytes;
        }
        self.all = self.all.max(now.values().sum());
        for (name, bytes) in now {
            let peak = self.programs.entry(name).or_default();
            *peak = (*peak).max(bytes);
        }
    }
}

pub fn of_process(pid: u32) -> Option<u64> {
    of(&pid.to_string())
}

fn of(process: &str) -> Option<u64> {
    in_status(&std::fs::read_to_string(format!("/proc/{process}/status")).ok()?)
}

fn in_status(status: &str) -> Option<u64> {
    Some(bytes(status, "RssAnon:")? + bytes(status, "RssShmem:")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_backed_by_a_file_does_not_count() {
        let status = "VmRSS:\t 9 kB\nRssAnon:\t     2048 kB\nRssFile:\t 5000 kB\nRssShmem:\t     1024 kB\n";
        assert_eq!(in_status(status), Some(3 << 20));
        assert_eq!(in_status("VmRSS:\t 9 kB\n"), None, "a kernel thread, or a process that has ended");
        assert!(of("self") > Some(1 << 20));
    }

    #[test]
    fn peaks_are_sums_at_one_moment() {
        let sizes = |all: &[(&str, u64)]| {
            all.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect::<Vec<_>>()
        };
        let mut peak = Peak::default();
        peak.add(sizes(&[("etcd", 5), ("etcd", 6), ("kwok", 1)]).into_iter());
        peak.add(sizes(&[("etcd", 2), ("kwok", 8)]).into_iter());
        assert_eq!(peak.all, 12);
        assert_eq!(peak.programs, [("etcd".to_owned(), 11), ("kwok".to_owned(), 8)].into());
    }
}
