//! How fast the machine is, as the API server's answers show it, so that a verdict on a slow one is late and not wrong.
//!
//! One small read that goes to etcd, every second for as long as the cluster is there. The median of the last ones,
//! against what such a read takes on a machine that has the suite alone to run, is by how much every limit is longer.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kube::Client;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Such a read on two cores that run ten cases side by side and nothing else, which the limits were made for.
const NOMINAL: Duration = Duration::from_millis(15);
/// Limits are never shorter, nor longer by more than this: what takes longer still does not come.
const FACTORS: (f64, f64) = (1.0, 4.0);
/// From this factor on it is logged.
const SLOW: f64 = 1.5;
/// Reads that count.
const WINDOW: usize = 15;
/// Reads before the first case.
const FIRST: usize = 5;
/// Between two reads.
const PACE: Duration = Duration::from_secs(1);
/// A read's own limit: one that takes longer counts as this, and shows that the machine is too slow to tell whether
/// something does not come or comes late.
const LONGEST: Duration = Duration::from_secs(2);
/// Reads whose median is longer than this are twice as slow as limits allow for, which says the same.
const TOO_SLOW: Duration = Duration::from_millis(120);
/// How many of the moments when the machine was too slow are remembered.
const SLOW_MOMENTS: usize = 64;

/// The last reads, and when the machine was too slow to tell.
#[derive(Debug, Default)]
struct Reads {
    last: Mutex<VecDeque<Duration>>,
    too_slow: Mutex<VecDeque<(Instant, String)>>,
}

impl Reads {
    fn add(&self, took: Duration) {
        let mut reads = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if reads.len() == WINDOW {
            reads.pop_front();
        }
        reads.push_back(took);
        drop(reads);
        let figure = match self.median() {
            _ if took >= LONGEST => format!("a read from the API server took {took:.1?} (limit {LONGEST:?})"),
            Some(median) if median > TOO_SLOW => {
                format!("reads from the API server took {median:.1?} (limit {TOO_SLOW:?})")
            }
            _ => return,
        };
        let mut moments = self.too_slow.lock().unwrap_or_else(PoisonError::into_inner);
        if moments.len() == SLOW_MOMENTS {
            moments.pop_front();
        }
        moments.push_back((Instant::now(), figure));
    }

    fn too_slow_since(&self, begin: Instant) -> Option<String> {
        let moments = self.too_slow.lock().unwrap_or_else(PoisonError::into_inner);
        moments.iter().rev().find(|(at, _)| *at >= begin).map(|(_, figure)| figure.clone())
    }

    fn median(&self) -> Option<Duration> {
        let reads = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sorted: Vec<_> = reads.iter().copied().collect();
        sorted.sort();
        sorted.get(sorted.len() / 2).copied()
    }

    fn factor(&self) -> f64 {
        let factor = |median: Duration| median.as_secs_f64() / NOMINAL.as_secs_f64();
        self.median().map_or(FACTORS.0, factor).clamp(FACTORS.0, FACTORS.1)
    }
}

/// How fast a cluster's API server answers, measured for as long as this is there.
#[derive(Debug)]
pub struct Speed {
    reads: Arc<Reads>,
    _task: JoinSet<()>,
}

impl Speed {
    /// Measures a first time, and from then on beside the cases.
    pub async fn measure(client: Client) -> Self {
        let reads = Arc::new(Reads::default());
        for _ in 0..FIRST {
            reads.extend(&client).await;
        }
        let (factor, median) = (reads.factor(), reads.median());
        tracing::info!(factor, ?median, "how fast the API server answers");
        let mut task = JoinSet::new();
        let goes_on = reads.clone();
        task.spawn(async move {
            let mut was_slow = factor >= SLOW;
            loop {
                sleep(PACE).await;
                goes_on.extend(&client).await;
                let factor = goes_on.factor();
                if (factor >= SLOW) != was_slow {
                    was_slow = !was_slow;
                    tracing::info!(factor, was_slow, "the API server's pace has changed, and limits with it");
                }
            }
        });
        Self { reads, _task: task }
    }

    /// By how much limits are longer now.
    pub fn factor(&self) -> f64 {
        self.reads.factor()
    }

    /// What shows, if anything does, that since then the machine has been too slow for limits to mean anything: a read
    /// that took longer than its own limit, or reads that are far slower than limits allow for.
    pub fn too_slow_since(&self, begin: Instant) -> Option<String> {
        self.reads.too_slow_since(begin)
    }
}

impl Reads {
    /// One more read. An API server that is away is not slow.
    async fn extend(&self, client: &Client) {
        let Ok(request) = http::Request::get("/api/v1/namespaces/default").body(Vec::new()) else { return };
        let begin = Instant::now();
        match timeout(LONGEST, client.request::<serde_json::Value>(request)).await {
            // A refusal is an answer, too.
            Ok(Ok(_) | Err(kube::Error::Api(_))) => self.add(begin.elapsed()),
            Ok(Err(_)) => {}
            Err(_) => self.add(LONGEST),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::unknown(&[], 1.0)]
    #[case::fast(&[1, 2, 2], 1.0)]
    #[case::slow(&[1, 30, 32], 2.0)]
    #[case::one_that_was_late(&[4, 5, 2000], 1.0)]
    #[case::hardly_moving(&[500, 600, 700], 4.0)]
    fn limits_follow_the_median(#[case] millis: &[u64], #[case] factor: f64) {
        let reads = Reads::default();
        millis.iter().for_each(|millis| reads.add(Duration::from_millis(*millis)));
        assert!((reads.factor() - factor).abs() < 1e-9, "{}", reads.factor());
    }

    #[rstest]
    #[case::slower_than_limits_allow(&[110, 110, 110], None)]
    #[case::much_slower(&[150, 150], Some("reads from the API server took 150.0ms (limit 120ms)"))]
    #[case::one_that_was_late(&[4, 4, 2400, 4], Some("a read from the API server took 2.4s (limit 2s)"))]
    fn a_machine_that_is_too_slow_is_shown_to_be(#[case] millis: &[u64], #[case] figure: Option<&str>) {
        let (begin, reads) = (Instant::now(), Reads::default());
        millis.iter().for_each(|millis| reads.add(Duration::from_millis(*millis)));
        assert_eq!(reads.too_slow_since(begin).as_deref(), figure);
        assert_eq!(reads.too_slow_since(Instant::now()), None, "it is fast enough since");
    }

    #[test]
    fn only_the_last_reads_count() {
        let reads = Reads::default();
        (0..WINDOW).for_each(|_| reads.add(LONGEST));
        (0..WINDOW).for_each(|_| reads.add(NOMINAL));
        assert!((reads.factor() - 1.0).abs() < 1e-9);
    }
}
