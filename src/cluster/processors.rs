//! How busy the machine's processors are, with whatever it is.

use std::time::{Duration, Instant};

use crate::processor_time::in_ticks;

/// Which fields of the first line of `/proc/stat` are time at work: user, nice, system, interrupts, and what a hypervisor took.
const AT_WORK: [usize; 6] = [0, 1, 2, 5, 6, 7];

/// Looks at them now and then.
#[derive(Debug, Default)]
pub struct Processors {
    before: Option<(Instant, Duration)>,
}

impl Processors {
    /// The share, of the processors that this process may use, that was idle since the last look: 0 to 1. `None` at the first
    /// look, and where `/proc` does not tell.
    pub fn idle(&mut self) -> Option<f64> {
        let now = (Instant::now(), at_work(&std::fs::read_to_string("/proc/stat").ok()?)?);
        let (since, before) = self.before.replace(now)?;
        let processors = std::thread::available_parallelism().ok()?.get();
        Some(idle(now.1.saturating_sub(before), now.0.duration_since(since), processors))
    }
}

/// What of so many processors' time was not spent at work. The kernel counts in ticks, so that it may be a little more than there was.
fn idle(at_work: Duration, passed: Duration, processors: usize) -> f64 {
    (1.0 - at_work.as_secs_f64() / passed.as_secs_f64() / processors as f64).clamp(0.0, 1.0)
}

/// What all processors have worked since the machine's start.
fn at_work(stat: &str) -> Option<Duration> {
    let all = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = all.split_whitespace().map_while(|field| field.parse().ok()).collect();
    in_ticks(AT_WORK.into_iter().map(|field| ticks.get(field).copied()).sum::<Option<u64>>()?)
}

#[cfg(test)]
mod tests {
    use rustix::param::clock_ticks_per_second;

    use super::*;

    #[test]
    fn waiting_is_not_work() {
        let ticks = clock_ticks_per_second();
        let stat = format!("cpu  {ticks} 0 {ticks} 900 800 0 0 {ticks} 0 0\ncpu0 1 2 3\n");
        assert_eq!(at_work(&stat), Some(Duration::from_secs(3)));
        assert_eq!(at_work("cpu  1 2\n"), None);
        let second = Duration::from_secs(1);
        assert_eq!((idle(second, second, 2), idle(3 * second, second, 2)), (0.5, 0.0));
        let mut processors = Processors::default();
        assert_eq!((processors.idle(), processors.idle().is_some()), (None, true));
    }
}
