use std::time::{Duration, Instant};

use crate::processor_time::in_ticks;

/// Indices of user, nice, system, irq, softirq and steal in the first line of `/proc/stat`.
const BUSY: [usize; 6] = [0, 1, 2, 5, 6, 7];

#[derive(Debug, Default)]
pub struct Processors {
    before: Option<(Instant, Duration)>,
}

impl Processors {
    /// The idle share of the processors since the last call, from 0 to 1, or `None` on the first call.
    pub fn idle(&mut self) -> Option<f64> {
        let now = (Instant::now(), busy(&std::fs::read_to_string("/proc/stat").ok()?)?);
        let (since, before) = self.before.replace(now)?;
        let processors = std::thread::available_parallelism().ok()?.get();
        Some(idle(now.1.saturating_sub(before), now.0.duration_since(since), processors))
    }
}

/// Clamps the share, because the kernel counts in ticks and the busy time may slightly exceed the total.
fn idle(busy: Duration, passed: Duration, processors: usize) -> f64 {
    (1.0 - busy.as_secs_f64() / passed.as_secs_f64() / processors as f64).clamp(0.0, 1.0)
}

fn busy(stat: &str) -> Option<Duration> {
    let all = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = all.split_whitespace().map_while(|field| field.parse().ok()).collect();
    in_ticks(BUSY.into_iter().map(|field| ticks.get(field).copied()).sum::<Option<u64>>()?)
}

#[cfg(test)]
mod tests {
    use rustix::param::clock_ticks_per_second;

    use super::*;

    #[test]
    fn idle_and_waiting_time_is_not_busy_time() {
        let ticks = clock_ticks_per_second();
        let stat = format!("cpu  {ticks} 0 {ticks} 900 800 0 0 {ticks} 0 0\ncpu0 1 2 3\n");
        assert_eq!(busy(&stat), Some(Duration::from_secs(3)));
        assert_eq!(busy("cpu  1 2\n"), None);
        let second = Duration::from_secs(1);
        assert_eq!((idle(second, second, 2), idle(3 * second, second, 2)), (0.5, 0.0));
        let mut processors = Processors::default();
        assert_eq!((processors.idle(), processors.idle().is_some()), (None, true));
    }
}
