//! An answer of the API server that is remembered for a while.
//!
//! One look at a time is under way, in a task of its own that publishes what it found: nobody holds a lock while the API
//! server is asked, and no caller that goes away takes the look with it. A look that gets no answer in [`LOOK`] costs a
//! caller that long and no more; what was known before stays true then, for silence is no answer.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};

/// How long the API server may take for a whole look.
pub(super) const LOOK: Duration = Duration::from_secs(4);

/// The last answer, and whether a lookup is under way.
struct State<T> {
    found: Option<(Instant, T)>,
    looking: bool,
}

/// The last answer.
pub(super) struct Remembered<T> {
    state: watch::Sender<State<T>>,
    holds: fn(&T) -> Duration,
    unanswered: fn(String) -> T,
}

impl<T: Clone + Send + Sync + 'static> Remembered<T> {
    /// `holds` says how long an answer is good for, `unanswered` what is found if there is none, and why.
    pub(super) fn new(holds: fn(&T) -> Duration, unanswered: fn(String) -> T) -> Self {
        Self { state: watch::Sender::new(State { found: None, looking: false }), holds, unanswered }
    }

    /// The last answer where it still holds; otherwise what `look` finds, or a look of another caller that is under way.
    pub(super) async fn answer(&self, look: impl Future<Output = T> + Send + 'static) -> T {
        let mut state = self.state.subscribe();
        if let Some(answer) = self.fresh() {
            return answer;
        }
        // Two callers that come here together start one look.
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
        // The look ends by itself; the limit is for a runtime that is too busy to let it.
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

/// A look that is under way; it has ended when this is dropped, also by a panic.
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
        // A bad answer holds for a moment: who asks again does not wait again.
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
