//! Caches the result of a lookup in the API server. One lookup runs at a time, in its own task: callers hold
//! no lock and cannot cancel it. If it exceeds [`LOOKUP_TIMEOUT`], the previous answer remains valid.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};

pub(super) const LOOKUP_TIMEOUT: Duration = Duration::from_secs(4);

struct State<T> {
    found: Option<(Instant, T)>,
    is_looking: bool,
}

pub(super) struct CachedAnswer<T> {
    state: watch::Sender<State<T>>,
    ttl: fn(&T) -> Duration,
    on_timeout: fn(String) -> T,
}

impl<T: Clone + Send + Sync + 'static> CachedAnswer<T> {
    pub(super) fn new(ttl: fn(&T) -> Duration, on_timeout: fn(String) -> T) -> Self {
        Self { state: watch::Sender::new(State { found: None, is_looking: false }), ttl, on_timeout }
    }

    pub(super) async fn get(&self, lookup: impl Future<Output = T> + Send + 'static) -> T {
        let mut state = self.state.subscribe();
        if let Some(answer) = self.valid_answer() {
            return answer;
        }
        let starts_lookup =
            self.state.send_if_modified(|state| !std::mem::replace(&mut state.is_looking, true));
        if starts_lookup {
            let guard = LookupGuard(self.state.clone());
            let on_timeout = self.on_timeout;
            tokio::spawn(async move {
                let answer = timeout(LOOKUP_TIMEOUT, lookup).await;
                guard.0.send_modify(|state| {
                    let before = state.found.take().map(|(_, found)| found);
                    let found = answer.ok().or(before).unwrap_or_else(|| on_timeout(timeout_reason()));
                    state.found = Some((Instant::now(), found));
                });
            });
        }
        // The lookup has its own timeout. This one covers a tokio runtime that is too busy to run the lookup.
        let _ = timeout(LOOKUP_TIMEOUT * 2, state.wait_for(|state| !state.is_looking)).await;
        let found = self.state.borrow().found.as_ref().map(|(_, found)| found.clone());
        found.unwrap_or_else(|| (self.on_timeout)(timeout_reason()))
    }

    fn valid_answer(&self) -> Option<T> {
        let state = self.state.borrow();
        let (at, found) = state.found.as_ref()?;
        (at.elapsed() < (self.ttl)(found)).then(|| found.clone())
    }
}

fn timeout_reason() -> String {
    format!("the API server did not respond within {} s", LOOKUP_TIMEOUT.as_secs())
}

/// Marks the lookup as finished when it is dropped, even after a panic.
struct LookupGuard<T>(watch::Sender<State<T>>);

impl<T> Drop for LookupGuard<T> {
    fn drop(&mut self) {
        self.0.send_modify(|state| state.is_looking = false);
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn cached() -> CachedAnswer<Result<usize, String>> {
        CachedAnswer::new(|found| Duration::from_secs(if found.is_ok() { 60 } else { 1 }), Err)
    }

    #[tokio::test(start_paused = true)]
    async fn concurrent_callers_share_one_lookup_that_times_out() {
        let cached = cached();
        let start = Instant::now();
        let hangs = || cached.get(pending());
        let answers = futures::join!(hangs(), hangs(), hangs());
        assert_eq!(start.elapsed(), LOOKUP_TIMEOUT, "they wait for the same lookup");
        assert_eq!(answers.0, Err(timeout_reason()));
        assert_eq!((&answers.1, &answers.2), (&answers.0, &answers.0));
        // A negative answer is cached briefly, so the next caller does not wait again.
        assert_eq!(hangs().await, answers.0);
        assert_eq!(start.elapsed(), LOOKUP_TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_timeout_keeps_the_previous_answer() {
        let cached = cached();
        assert_eq!(cached.get(async { Ok(7) }).await, Ok(7));
        tokio::time::advance(Duration::from_secs(61)).await;
        assert_eq!(cached.get(pending()).await, Ok(7));
        tokio::time::advance(Duration::from_secs(61)).await;
        assert_eq!(cached.get(async { Err("not installed".into()) }).await, Err("not installed".into()));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_cached_until_its_ttl_expires() {
        let (cached, lookups) = (cached(), Arc::new(AtomicUsize::new(0)));
        let lookup = || {
            let lookups = Arc::clone(&lookups);
            cached.get(async move {
                tokio::time::sleep(Duration::from_millis(10)).await;
                Ok(lookups.fetch_add(1, Ordering::Relaxed))
            })
        };
        assert_eq!(futures::join!(lookup(), lookup()), (Ok(0), Ok(0)));
        tokio::time::advance(Duration::from_secs(59)).await;
        assert_eq!(lookup().await, Ok(0));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(lookup().await, Ok(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_caller_does_not_cancel_the_lookup() {
        let cached = cached();
        let slow = || async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(7)
        };
        assert!(timeout(Duration::from_millis(1), cached.get(slow())).await.is_err());
        assert_eq!(cached.get(pending()).await, Ok(7));
    }

    #[tokio::test]
    async fn a_lookup_that_panics_can_be_repeated() {
        let cached = cached();
        assert_eq!(cached.get(async { panic!("a defect") }).await, Err(timeout_reason()));
        assert_eq!(cached.get(async { Ok(1) }).await, Ok(1));
    }
}
