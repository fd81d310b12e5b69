//! CPU time of this process and its children by name, which shows where a run spends its time.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use rustix::param::clock_ticks_per_second;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

#[derive(Debug)]
struct Children {
    ended: BTreeMap<String, Duration>,
    live: BTreeMap<u32, String>,
}

static CHILDREN: Mutex<Children> = Mutex::new(Children { ended: BTreeMap::new(), live: BTreeMap::new() });

fn children() -> MutexGuard<'static, Children> {
    CHILDREN.lock()
}

/// Waits for the exit of a child and adds its CPU time before it is reaped, because the kernel then drops it.
pub(crate) fn count_until_exit(pid: u32, name: &str) {
    children().live.insert(pid, name.to_owned());
    if let Some(id) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
    }
    let took = of(&pid.to_string()).unwrap_or_default();
    let mut children = children();
    children.live.remove(&pid);
    *children.ended.entry(name.to_owned()).or_default() += took;
}

pub(crate) fn running() -> BTreeMap<u32, String> {
    children().live.clone()
}

pub fn spent(own: &str) -> BTreeMap<String, Duration> {
    let children = children();
    let mut spent = children.ended.clone();
    let live = children.live.iter().map(|(pid, name)| (pid.to_string(), name.as_str()));
    for (process, name) in live.chain([("self".to_owned(), own)]) {
        *spent.entry(name.to_owned()).or_default() += of(&process).unwrap_or_default();
    }
    spent
}

pub fn of_process(pid: u32) -> Option<Duration> {
    of(&pid.to_string())
}

/// Returns the CPU time of ended children, including descendants that they waited for.
pub fn of_ended_children() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat");
    stat.ok().and_then(|stat| in_stat(&stat, OF_CHILDREN)).unwrap_or_default()
}

fn of(process: &str) -> Option<Duration> {
    in_stat(&std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?, OWN)
}

/// Number of the field `utime` in `/proc/PID/stat`; `stime` follows it.
const OWN: usize = 14;
/// Number of the field `cutime` in `/proc/PID/stat`; `cstime` follows it.
const OF_CHILDREN: usize = 16;

/// Sums this field and the next one. The second field, in parentheses, may contain parentheses and spaces.
fn in_stat(stat: &str, first: usize) -> Option<Duration> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(first - 3).map(str::parse::<u64>);
    in_ticks(times.next()?.ok()? + times.next()?.ok()?)
}

pub(crate) fn in_ticks(ticks: u64) -> Option<Duration> {
    Some(Duration::from_secs(ticks) / u32::try_from(clock_ticks_per_second()).ok()?)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_program_name_with_parentheses_does_not_shift_the_fields() {
        let stat = "7 (a) b) S 1 7 7 0 -1 0 0 0 0 0 150 50 9 9 20 0 1 0";
        let hundredth = Duration::from_secs(1) / u32::try_from(clock_ticks_per_second()).unwrap();
        assert_eq!(in_stat(stat, OWN), Some(hundredth * 200));
        assert_eq!(in_stat(stat, OF_CHILDREN), Some(hundredth * 18));
        assert_eq!(in_stat("7 (a) S 1", OWN), None);
    }

    #[test]
    fn the_time_of_a_child_is_counted_after_its_exit() {
        let mut child = Command::new("sh")
            .args(["-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"])
            .spawn()
            .unwrap();
        count_until_exit(child.id(), "counts");
        assert!(child.wait().unwrap().success());
        let spent = spent("itself");
        assert!(spent["counts"] >= Duration::from_millis(20), "{spent:?}");
        assert!(spent.contains_key("itself"));
    }
}
