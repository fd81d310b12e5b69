//! Namespaces that are being deleted.
//!
//! Every pod that goes wakes its PodClique, which would try to replace it and be refused, once per pod and change. A
//! refusal is remembered for a moment instead, and the namespace's objects rest meanwhile (DEL-07).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// For how long a refusal is believed; a namespace of the same name made meanwhile waits no longer than that.
const BELIEVED: Duration = Duration::from_secs(2);

/// Namespaces in which the API server refused to create anything, and when.
#[derive(Debug, Default)]
pub(super) struct EndingNamespaces(Mutex<HashMap<String, Instant>>);

impl EndingNamespaces {
    /// The API server has just refused to create an object there because the namespace is ending.
    pub(super) fn note(&self, namespace: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, noted| noted.elapsed() < BELIEVED);
        all.insert(namespace.to_owned(), Instant::now());
    }

    /// For how much longer its objects should rest.
    pub(super) fn rest(&self, namespace: &str) -> Option<Duration> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(namespace)
            .and_then(|noted| BELIEVED.checked_sub(noted.elapsed()))
            .filter(|rest| !rest.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_refused_namespace_rests() {
        let ending = EndingNamespaces::default();
        assert_eq!(ending.rest("a"), None);
        ending.note("a");
        assert!(ending.rest("a").is_some_and(|rest| rest <= BELIEVED));
        assert_eq!(ending.rest("b"), None);
    }
}
