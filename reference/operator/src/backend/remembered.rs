//! A cached answer of the API server.
//!
//! Only one lookup runs at a time, in its own task. So no caller holds a lock during the request, and a
//! cancelled caller does not cancel the lookup. A lookup that times out after [`LOOK`] delays callers no
//! longer than that, and the previous answer remains valid.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// Timeout of a whole lookup.
pub(super) const LOOK: Duration = Duration::from_secs(4);

struct State<T> {
    found: Option<(Instant, T)>,
    looking: bool,
}

pub(super) struct Remembered<T> {
    state: watch::Sender<State<T>>,
    holds: fn(&T) -> Duration,
    unanswered: fn(String) -> T,
}

impl<T: Clone + Send + Sync + 'static> Remembered<T> {
    /// `holds` returns how long an answer is cached. `unanswered` creates the answer for a timeout, from its
    /// reason.
    pub(super) fn new(holds: fn(&T) -> Duration, unanswered: fn(String) -> T) -> Self {
        Self { state: watch::Sender::new(State { found: None, looking: false }), holds, unanswered }
    }

    /// The cached answer if it is still valid, otherwise the result of `look`, or of another caller's lookup
    /// in progress.
    pub(super) async fn answer(&self, look: impl Future<Output = T> + Send + 'static) -> T {
        let mut state = self.state.subscribe();
        if let Some(answer) = self.fresh() {
            return answer;
        }
        // Only one of several concurrent callers starts a lookup.
        let begins = self.state.send_if_modified(|state| !std::mem::replace(&mut state.looking, true));
        if begins {
            let looking = Looking(self.state.clone());
            let unanswered = self.unanswered;
            tokio::spawn(async move {
                let answer = timeout(LOOK, look).await;
                looking.0.send_modify(|state| {
                    let before = state.found.take().map(|(_, found)| found);
                    let found = answer.ok().or(before).unwrap_or_else(|| unanswered(no_answer()));
                    state.found = Some((Instant::now(), found));
                });
            });
        }
        // The lookup ends on its own; this limit covers a runtime that is too busy.
        let _ = timeout(LOOK * 2, state.wait_for(|state| !state.looking)).await;
        let found = self.state.borrow().found.as_ref().map(|(_, found)| found.clone());
        found.unwrap_or_else(|| (self.unanswered)(no_answer()))
    }

    fn fresh(&self) -> Option<T> {
        let state = self.state.borrow();
        let (at, found) = state.found.as_ref()?;
        (at.elapsed() < (self.holds)(found)).then(|| found.clone())
    }
}

fn no_answer() -> String {
    format!("the API server did not answer in {} s", LOOK.as_secs())
}

/// A lookup in progress. Dropping it ends the lookup, also after a panic.
struct Looking<T>(watch::Sender<State<T>>);

impl<T> Drop for Looking<T> {
    fn drop(&mut self) {
        self.0.send_modify(|state| state.looking = false);
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn remembered() -> Remembered<Result<usize, String>> {
        Remembered::new(|found| Duration::from_secs(if found.is_ok() { 60 } else { 1 }), Err)
    }

    #[tokio::test(start_paused = true)]
    async fn an_api_server_that_hangs_costs_a_caller_no_more_than_one_look() {
        let remembered = remembered();
        let begin = Instant::now();
        let hangs = || remembered.answer(pending());
        let answers = futures::join!(hangs(), hangs(), hangs());
        assert_eq!(begin.elapsed(), LOOK, "they wait for the same look");
        assert_eq!(answers.0, Err(no_answer()));
        assert_eq!((&answers.1, &answers.2), (&answers.0, &answers.0));
        // A negative answer is cached briefly, so the next caller does not wait again.
        assert_eq!(hangs().await, answers.0);
        assert_eq!(begin.elapsed(), LOOK);
    }

    #[tokio::test(start_paused = true)]
    async fn silence_takes_back_nothing() {
        let remembered = remembered();
        assert_eq!(remembered.answer(async { Ok(7) }).await, Ok(7));
        tokio::time::advance(Duration::from_secs(61)).await;
        assert_eq!(remembered.answer(pending()).await, Ok(7));
        tokio::time::advance(Duration::from_secs(61)).await;
        assert_eq!(remembered.answer(async { Err("it is gone".into()) }).await, Err("it is gone".into()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_is_shared_and_its_answer_holds() {
        let (remembered, looks) = (remembered(), Arc::new(AtomicUsize::new(0)));
        let look = || {
            let looks = Arc::clone(&looks);
            remembered.answer(async move {
                tokio::time::sleep(Duration::from_millis(10)).await;
                Ok(looks.fetch_add(1, Ordering::Relaxed))
            })
        };
        assert_eq!(futures::join!(look(), look()), (Ok(0), Ok(0)));
        tokio::time::advance(Duration::from_secs(59)).await;
        assert_eq!(look().await, Ok(0));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(look().await, Ok(1));
    }

    #[tokio::test(start_paused = true)]
    async fn who_goes_away_does_not_take_the_look_with_it() {
        let remembered = remembered();
        let slow = || async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(7)
        };
        assert!(timeout(Duration::from_millis(1), remembered.answer(slow())).await.is_err());
        assert_eq!(remembered.answer(pending()).await, Ok(7));
    }

    #[tokio::test]
    async fn a_look_that_panics_ends() {
        let remembered = remembered();
        assert_eq!(remembered.answer(async { panic!("a defect") }).await, Err(no_answer()));
        assert_eq!(remembered.answer(async { Ok(1) }).await, Ok(1));
    }
}
