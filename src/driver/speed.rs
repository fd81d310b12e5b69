//! Measures the speed of the API server, so that a slow machine delays verdicts instead of making them wrong.
//! The harness times a small read through etcd every second. The median, relative to the nominal time, is the
//! factor of all limits. Checks use the largest factor of the case ([`Speed::slowest_since`]).

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kube::Client;
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Nominal time of a read, measured on two cores that run only ten cases. The limits are chosen for it.
const NOMINAL: Duration = Duration::from_millis(15);
/// Minimum and maximum factor. An event that takes longer than the maximum allows counts as missing.
const FACTORS: (f64, f64) = (1.0, 4.0);
/// A limit never exceeds this many times its length, even if it restarts several times.
const LONGEST_WAIT: f64 = 2.0 * FACTORS.1;
const SLOW: f64 = 1.5;
const WINDOW: usize = 15;
const INITIAL_READS: usize = 5;
const PACE: Duration = Duration::from_secs(1);
const READ_LIMIT: Duration = Duration::from_secs(2);
/// If the median exceeds this time, the machine is too slow to decide. The largest factor covers half of it.
const TOO_SLOW: Duration = NOMINAL.saturating_mul(8);
/// Maximum number of slow moments that are kept: one hour, at one read per second.
const SLOW_MOMENTS: usize = 3600;

#[derive(Debug, Default)]
struct Reads {
    last: Mutex<VecDeque<Duration>>,
    slow: Mutex<VecDeque<Slow>>,
    /// Whether no case restarts the API server, so that nobody expects it to be unreachable.
    is_never_restarted: bool,
    is_unreachable: AtomicBool,
}

#[derive(Debug)]
struct Slow {
    at: Instant,
    factor: f64,
    too_slow: Option<String>,
}

impl Reads {
    fn record(&self, took: Duration) {
        let mut reads = self.last.lock();
        if reads.len() == WINDOW {
            reads.pop_front();
        }
        reads.push_back(took);
        drop(reads);
        let median = self.median().unwrap_or_default();
        let too_slow = if took >= READ_LIMIT {
            Some(format!("a read from the API server took {took:.1?} (limit {READ_LIMIT:?})"))
        } else if median > TOO_SLOW {
            Some(format!("reads from the API server took {median:.1?} (limit {TOO_SLOW:?})"))
        } else {
            None
        };
        let factor = if too_slow.is_some() { FACTORS.1 } else { self.factor() };
        if factor > FACTORS.0 {
            self.record_slow(factor, too_slow);
        }
    }

    fn record_slow(&self, factor: f64, too_slow: Option<String>) {
        let mut moments = self.slow.lock();
        if moments.len() == SLOW_MOMENTS {
            moments.pop_front();
        }
        moments.push_back(Slow { at: Instant::now(), factor, too_slow });
    }

    /// Returns the latest moment since `begin` when the machine was too slow to decide, and the evidence.
    fn too_slow_since(&self, begin: Instant) -> Option<(Instant, String)> {
        let moments = self.slow.lock();
        let mut since = moments.iter().rev().take_while(|slow| slow.at >= begin);
        since.find_map(|slow| Some((slow.at, slow.too_slow.clone()?)))
    }

    fn slowest_since(&self, begin: Instant) -> Option<f64> {
        let moments = self.slow.lock();
        let since = moments.iter().rev().take_while(|slow| slow.at >= begin);
        since.map(|slow| slow.factor).max_by(f64::total_cmp)
    }

    fn median(&self) -> Option<Duration> {
        let reads = self.last.lock();
        let mut sorted: Vec<_> = reads.iter().copied().collect();
        sorted.sort();
        sorted.get(sorted.len() / 2).copied()
    }

    fn factor(&self) -> f64 {
        let factor = |median: Duration| median.as_secs_f64() / NOMINAL.as_secs_f64();
        self.median().map_or(FACTORS.0, factor).clamp(FACTORS.0, FACTORS.1)
    }

    fn extended(&self, length: Duration, begin: Instant) -> Duration {
        let by_pace = length.mul_f64(self.factor());
        let again = self.too_slow_since(begin).map(|(at, _)| at.duration_since(begin) + by_pace);
        by_pace.max(again.unwrap_or_default().min(length.mul_f64(LONGEST_WAIT)))
    }
}

#[derive(Debug)]
pub struct Speed {
    reads: Arc<Reads>,
    _task: JoinSet<()>,
}

impl Speed {
    /// If no case restarts the API server, a time in which it is unreachable counts as too slow to decide.
    pub async fn measure(client: Client, is_never_restarted: bool) -> Self {
        let reads = Arc::new(Reads { is_never_restarted, ..Reads::default() });
        for _ in 0..INITIAL_READS {
            reads.measure_once(&client).await;
        }
        let (factor, median) = (reads.factor(), reads.median());
        tracing::info!(factor, ?median, "response time of the API server");
        let mut task = JoinSet::new();
        let background = reads.clone();
        task.spawn(async move {
            let mut was_slow = factor >= SLOW;
            loop {
                sleep(PACE).await;
                background.measure_once(&client).await;
                let factor = background.factor();
                if (factor >= SLOW) != was_slow {
                    was_slow = !was_slow;
                    tracing::info!(
                        factor,
                        was_slow,
                        "the API server's response time changed, limits adjusted"
                    );
                }
            }
        });
        Self { reads, _task: task }
    }

    pub fn factor(&self) -> f64 {
        self.reads.factor()
    }

    /// Returns the evidence that the machine was too slow since `begin`. A timeout then proves nothing.
    pub fn too_slow_since(&self, begin: Instant) -> Option<String> {
        self.reads.too_slow_since(begin).map(|(_, evidence)| evidence)
    }

    /// Returns the limit, adjusted to the machine's speed, from the last moment that was too slow to decide.
    pub fn extended(&self, length: Duration, begin: Instant) -> Duration {
        self.reads.extended(length, begin)
    }

    pub fn slowest_since(&self, begin: Instant) -> Option<f64> {
        self.reads.slowest_since(begin)
    }
}

impl Reads {
    /// Times one read. A failed connection is not slow. Two in a row are an outage.
    async fn measure_once(&self, client: &Client) {
        let Ok(request) = http::Request::get("/api/v1/namespaces/default").body(Vec::new()) else { return };
        let begin = Instant::now();
        let answer = timeout(READ_LIMIT, client.request::<serde_json::Value>(request)).await;
        let is_unreachable = matches!(&answer, Ok(Err(error)) if !matches!(error, kube::Error::Api(_)));
        let was_unreachable = self.is_unreachable.swap(is_unreachable, Ordering::Relaxed);
        match answer {
            Ok(Err(error)) if is_unreachable => {
                if was_unreachable && self.is_never_restarted {
                    self.record_slow(FACTORS.1, Some(format!("the API server was unreachable: {error}")));
                }
            }
            Ok(_) => self.record(begin.elapsed()),
            Err(_) => self.record(READ_LIMIT),
        }
    }
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use kube::client::Body;

    use super::*;

    #[rstest::rstest]
    #[case::unknown(&[], 1.0)]
    #[case::fast(&[1, 2, 2], 1.0)]
    #[case::slow(&[1, 30, 32], 2.0)]
    #[case::one_late_read(&[4, 5, 2000], 1.0)]
    #[case::far_too_slow(&[500, 600, 700], 4.0)]
    fn the_factor_follows_the_median(#[case] millis: &[u64], #[case] factor: f64) {
        let reads = Reads::default();
        millis.iter().for_each(|millis| reads.record(Duration::from_millis(*millis)));
        assert!((reads.factor() - factor).abs() < 1e-9, "{}", reads.factor());
    }

    #[rstest::rstest]
    #[case::slower_than_limits_allow(&[110, 110, 110], None)]
    #[case::much_slower(&[150, 150], Some("reads from the API server took 150.0ms (limit 120ms)"))]
    #[case::one_late_read(&[4, 4, 2400, 4], Some("a read from the API server took 2.4s (limit 2s)"))]
    fn a_machine_that_is_too_slow_is_reported_with_evidence(
        #[case] millis: &[u64],
        #[case] evidence: Option<&str>,
    ) {
        let (begin, reads) = (Instant::now(), Reads::default());
        millis.iter().for_each(|millis| reads.record(Duration::from_millis(*millis)));
        let too_slow = reads.too_slow_since(begin).map(|(_, evidence)| evidence);
        assert_eq!(too_slow.as_deref(), evidence);
        assert_eq!(reads.too_slow_since(Instant::now()), None, "it has been fast enough since");
    }

    #[rstest::rstest]
    #[case::fast(&[4, 5, 15], None)]
    #[case::slow_for_a_while(&[4, 30, 45, 4, 4, 4, 4], Some(2.0))]
    #[case::slower_than_limits_allow(&[180, 180], Some(4.0))]
    #[case::one_late_read(&[4, 4, 2400, 4], Some(4.0))]
    fn the_largest_factor_since_a_moment_is_returned(#[case] millis: &[u64], #[case] factor: Option<f64>) {
        let (begin, reads) = (Instant::now(), Reads::default());
        millis.iter().for_each(|millis| reads.record(Duration::from_millis(*millis)));
        assert_eq!(reads.slowest_since(begin), factor);
        assert_eq!(reads.slowest_since(Instant::now()), None, "there was no read since");
    }

    #[test]
    fn a_limit_restarts_after_a_moment_that_was_too_slow() {
        let limit = Duration::from_secs(10);
        let ago = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
        let reads = Reads::default();
        [4, 2400, 4].iter().for_each(|millis| reads.record(Duration::from_millis(*millis)));
        let whole = |duration: Duration| duration.as_secs_f64().round();
        assert_eq!(
            whole(reads.extended(limit, ago(3))),
            13.0,
            "the limit restarts, because the machine was too slow just now"
        );
        assert_eq!(whole(reads.extended(limit, ago(100))), 80.0, "a restarted limit has a maximum");
        assert_eq!(reads.extended(limit, Instant::now()), limit, "the machine was never too slow since");
    }

    #[rstest::rstest]
    #[case::of_a_user(true, 1, false)]
    #[case::of_a_user_for_longer(true, 2, true)]
    #[case::restarted_by_a_case(false, 2, false)]
    #[tokio::test]
    async fn an_outage_counts_unless_a_case_may_have_caused_it(
        #[case] is_never_restarted: bool,
        #[case] failed_reads: usize,
        #[case] counts: bool,
    ) {
        let (service, handle) = tower_test::mock::pair::<Request<Body>, Response<Body>>();
        drop(handle);
        let client = Client::new(service, "default");
        let (begin, reads) = (Instant::now(), Reads { is_never_restarted, ..Reads::default() });
        for _ in 0..failed_reads {
            reads.measure_once(&client).await;
        }
        let found = reads.too_slow_since(begin).map(|(_, evidence)| evidence);
        assert_eq!(found.is_some_and(|found| found.starts_with("the API server was unreachable: ")), counts);
        assert_eq!(reads.slowest_since(begin), counts.then_some(FACTORS.1));
    }

    #[test]
    fn old_reads_do_not_affect_the_factor() {
        let reads = Reads::default();
        (0..WINDOW).for_each(|_| reads.record(READ_LIMIT));
        (0..WINDOW).for_each(|_| reads.record(NOMINAL));
        assert!((reads.factor() - 1.0).abs() < 1e-9);
    }
}
