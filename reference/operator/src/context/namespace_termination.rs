//! Namespaces that are being deleted.
//!
//! Every deleted pod wakes its PodClique, which would try to replace it and be refused, once per pod and
//! change. So a refusal is remembered briefly, and the namespace's objects are not reconciled meanwhile
//! (DEL-07).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a refusal is remembered, and so the longest delay for a new namespace of the same name.
const BELIEVED: Duration = Duration::from_secs(2);

/// Namespaces in which the API server refused to create anything, and when.
#[derive(Debug, Default)]
pub(crate) struct EndingNamespaces(Mutex<HashMap<String, Instant>>);

impl EndingNamespaces {
    pub(crate) fn note(&self, namespace: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, noted| noted.elapsed() < BELIEVED);
        all.insert(namespace.to_owned(), Instant::now());
    }

    pub(crate) fn rest(&self, namespace: &str) -> Option<Duration> {
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
