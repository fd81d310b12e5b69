//! How far a case got: the marks that its driver left, and what it submitted.

use conformance_contract::ruling::Broken;
use serde_json::Value;

use super::log::{History, Mark};
use super::mark::{MarkName, SharedMark};

impl History {
    /// The first mark of that name: its place and itself.
    ///
    /// # Errors
    /// [`Broken::NotReached`] if the case did not get there.
    pub fn reached(&self, name: impl Into<MarkName>) -> Result<(usize, &Mark), Broken> {
        let name = name.into();
        let not_reached = || Broken::NotReached(format!("the case did not reach {:?}", name.as_str()));
        self.marks(name).next().ok_or_else(not_reached)
    }

    /// Where the case reached a mark, or where its last wait ran out instead: what a driver waits for is judged there, for
    /// if the wait timed out, the state is known to be absent, not unknown. Then the mark itself is to be [reached](History::reached).
    ///
    /// # Errors
    /// [`Broken::NotReached`] if it stopped for another reason, or waited on a machine that was too slow to tell.
    pub fn waited_for(&self, name: impl Into<MarkName>) -> Result<usize, Broken> {
        let (place, _) = self.reached(name).or_else(|why| {
            let ran_out = self.marks(SharedMark::WaitRanOut).last();
            ran_out.filter(|(_, mark)| mark.detail["tooSlow"].is_null()).ok_or(why)
        })?;
        Ok(place)
    }

    /// That a pending gang has been tried again so many times.
    ///
    /// # Errors
    /// [`Broken::NotReached`] if it has not.
    pub fn tried_again(&self, times: usize) -> Result<(), Broken> {
        let tried = self.marks(SharedMark::TriedAgain).count();
        let missing = || Broken::NotReached(format!("the gang was tried again {tried} of {times} times"));
        if tried < times { Err(missing()) } else { Ok(()) }
    }

    /// A PodCliqueSet as it was sent.
    ///
    /// # Errors
    /// [`Broken::NotReached`] if it was not sent.
    pub fn submitted(&self, name: &str) -> Result<&Value, Broken> {
        self.header
            .submitted
            .get(name)
            .ok_or_else(|| Broken::NotReached(format!("PodCliqueSet {name} was not submitted")))
    }
}
