//! Every deleted pod of a terminating namespace wakes its PodClique, whose replacement the API server
//! rejects. So the controller remembers a rejection briefly, and meanwhile reconciles nothing there (DEL-07).

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// A new namespace of the same name is delayed for at most this long.
const REFUSAL_MEMORY: Duration = Duration::from_secs(2);

#[derive(Debug, Default)]
pub(crate) struct TerminatingNamespaces(Mutex<HashMap<String, Instant>>);

impl TerminatingNamespaces {
    pub(crate) fn record(&self, namespace: &str) {
        let mut all = self.0.lock();
        all.retain(|_, refused| refused.elapsed() < REFUSAL_MEMORY);
        all.insert(namespace.to_owned(), Instant::now());
    }

    pub(crate) fn remaining(&self, namespace: &str) -> Option<Duration> {
        let all = self.0.lock();
        all.get(namespace)
            .and_then(|refused| REFUSAL_MEMORY.checked_sub(refused.elapsed()))
            .filter(|remaining| !remaining.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_terminating_namespace_is_delayed() {
        let terminating = TerminatingNamespaces::default();
        assert_eq!(terminating.remaining("a"), None);
        terminating.record("a");
        assert!(terminating.remaining("a").is_some_and(|remaining| remaining <= REFUSAL_MEMORY));
        assert_eq!(terminating.remaining("b"), None);
    }
}
