use conformance_contract::ruling::Broken;
use serde_json::Value;

use super::log::{History, Mark};
use super::mark::{MarkName, SharedMark};

impl History {
    /// Returns the first mark with this name, and its index.
    pub fn reached(&self, name: impl Into<MarkName>) -> Result<(usize, &Mark), Broken> {
        let name = name.into();
        let not_reached = || Broken::NotReached(format!("the case did not reach {:?}", name.as_str()));
        self.marks(name).next().ok_or_else(not_reached)
    }

    /// Returns the index of a mark or, without the mark, of the last timeout, when the awaited state was
    /// known to be absent. The check must still require the mark with [`reached`](History::reached). Fails if
    /// the driver stopped for another reason.
    pub fn waited_for(&self, name: impl Into<MarkName>) -> Result<usize, Broken> {
        let (index, _) = self.reached(name).or_else(|why| {
            let timeout = self.marks(SharedMark::WaitTimedOut).last();
            timeout.filter(|(_, mark)| mark.detail["tooSlow"].is_null()).ok_or(why)
        })?;
        Ok(index)
    }

    /// Decides a check at a mark, or at the last timeout if the driver did not reach the mark
    /// ([`waited_for`](History::waited_for)). If the check passes at a timeout, the mark is still required.
    pub fn at(
        &self,
        name: impl Into<MarkName>,
        check: impl FnOnce(usize) -> Result<(), Broken>,
    ) -> Result<(), Broken> {
        let name = name.into();
        check(self.waited_for(name)?)?;
        self.reached(name).map(drop)
    }

    /// Requires that the scheduler has retried a pending gang `times` times.
    pub fn retried(&self, times: usize) -> Result<(), Broken> {
        let retries = self.marks(SharedMark::Retried).count();
        if retries >= times {
            return Ok(());
        }
        let message =
            format!("the number of times that the scheduler retried the gang is {retries}, want {times}");
        Err(Broken::NotReached(message))
    }

    /// Returns the PodCliqueSet with this name, as submitted.
    pub fn submitted(&self, name: &str) -> Result<&Value, Broken> {
        self.header
            .submitted
            .get(name)
            .ok_or_else(|| Broken::NotReached(format!("PodCliqueSet {name} was not submitted")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Story;

    const DONE: MarkName = MarkName::of_case("done");

    #[test]
    fn a_check_at_a_mark_is_decided_at_a_timeout_and_requires_the_mark() {
        let violated = || Err(Broken::Violated(Vec::new()));
        let not_reached = |ruling| matches!(ruling, Err(Broken::NotReached(_)));
        let done = Story::flat().mark(DONE, Value::Null).end();
        assert_eq!((done.at(DONE, |_| Ok(())), done.at(DONE, |_| violated())), (Ok(()), violated()));
        let timed_out = Story::flat().mark(SharedMark::WaitTimedOut, Value::Null).end();
        assert_eq!(timed_out.at(DONE, |_| violated()), violated());
        assert!(not_reached(timed_out.at(DONE, |_| Ok(()))));
        assert!(not_reached(Story::flat().end().at(DONE, |_| violated())));
    }
}
