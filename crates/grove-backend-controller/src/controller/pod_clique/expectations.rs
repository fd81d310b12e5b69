//! Pods that were created, deleted or released but are not, or still are as they were, in the cache.
//!
//! Without this a PodClique that is reconciled again before the watch has caught up would create a pod twice,
//! delete one too many, or take every gate away once more. An expectation ends when the cache shows what it expects,
//! and at the latest after a while, should the cache never do so (a pod that came and went between two lists).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// When an expectation is given up.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Expectations of all PodCliques, by their uid.
#[derive(Default)]
pub(crate) struct Expectations(Mutex<HashMap<String, Expected>>);

#[derive(Default)]
struct Expected {
    /// Index and time by pod name.
    created: HashMap<String, (i32, Instant)>,
    /// Time by pod uid.
    deleted: HashMap<String, Instant>,
    /// Time by pod uid.
    released: HashMap<String, Instant>,
    /// Whether any pod was made.
    has_made: bool,
}

/// What the cache of a PodClique's pods does not show yet.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Unseen {
    /// Indexes of pods that exist but are not in the cache.
    pub created: Vec<i32>,
    /// Uids of pods in the cache that are being deleted.
    pub deleted: Vec<String>,
    /// Uids of pods in the cache whose gate is off.
    pub released: Vec<String>,
}

/// One pod of the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its uid.
    pub uid: &'a str,
    /// Whether it is being deleted.
    pub going: bool,
    /// Whether it has a gate.
    pub gated: bool,
}

impl Expectations {
    /// A pod of that index is about to be created.
    pub(crate) fn expect_creation(&self, pclq: &str, pod: &str, index: i32) {
        self.with(pclq, |expected| {
            expected.has_made = true;
            expected.created.insert(pod.to_owned(), (index, Instant::now()));
        });
    }

    /// Whether pods of it have been made before.
    pub(crate) fn has_made(&self, pclq: &str) -> bool {
        self.with(pclq, |expected| expected.has_made)
    }

    /// It has not been created after all.
    pub(crate) fn creation_failed(&self, pclq: &str, pod: &str) {
        self.with(pclq, |expected| expected.created.remove(pod));
    }

    /// A pod has been deleted.
    pub(crate) fn expect_deletion(&self, pclq: &str, uid: &str) {
        self.with(pclq, |expected| expected.deleted.insert(uid.to_owned(), Instant::now()));
    }

    /// The gate of a pod has been taken away.
    pub(crate) fn expect_release(&self, pclq: &str, uid: &str) {
        self.with(pclq, |expected| expected.released.insert(uid.to_owned(), Instant::now()));
    }

    /// Ends what the cache shows, and gives the rest.
    pub(crate) fn unseen(&self, pclq: &str, cache: &[Seen<'_>]) -> Unseen {
        self.with(pclq, |expected| {
            let fresh = |since: &Instant| since.elapsed() < PATIENCE;
            expected
                .created
                .retain(|name, (_, since)| fresh(since) && !cache.iter().any(|pod| pod.name == name));
            expected
                .deleted
                .retain(|uid, since| fresh(since) && cache.iter().any(|pod| pod.uid == uid && !pod.going));
            expected
                .released
                .retain(|uid, since| fresh(since) && cache.iter().any(|pod| pod.uid == uid && pod.gated));
            Unseen {
                released: expected.released.keys().cloned().collect(),
                created: expected.created.values().map(|(index, _)| *index).collect(),
                deleted: expected.deleted.keys().cloned().collect(),
            }
        })
    }

    /// Whether anything is expected still.
    pub(crate) fn any(&self, pclq: &str) -> bool {
        self.with(pclq, |expected| {
            let Expected { created, deleted, released, .. } = expected;
            !created.is_empty() || !deleted.is_empty() || !released.is_empty()
        })
    }

    /// Forgets a PodClique that is gone.
    pub(crate) fn forget(&self, pclq: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(pclq);
    }

    fn with<T>(&self, pclq: &str, change: impl FnOnce(&mut Expected) -> T) -> T {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(all.entry(pclq.to_owned()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: Seen<'_> = Seen { name: "a", uid: "u", going: false, gated: true };

    #[test]
    fn a_creation_counts_until_the_cache_shows_it() {
        let expectations = Expectations::default();
        expectations.expect_creation("pclq", "a", 3);
        assert_eq!(expectations.unseen("pclq", &[]).created, [3]);
        assert_eq!(expectations.unseen("pclq", &[POD]), Unseen::default());
        assert_eq!(expectations.unseen("pclq", &[]), Unseen::default(), "it has been seen; now it is gone");
    }

    #[test]
    fn a_failed_creation_does_not_count() {
        let expectations = Expectations::default();
        expectations.expect_creation("pclq", "a", 3);
        expectations.creation_failed("pclq", "a");
        assert_eq!(expectations.unseen("pclq", &[]), Unseen::default());
    }

    #[test]
    fn a_release_counts_until_the_cache_shows_it() {
        let expectations = Expectations::default();
        expectations.expect_release("pclq", "u");
        assert_eq!(expectations.unseen("pclq", &[POD]).released, ["u"]);
        assert!(expectations.any("pclq"));
        assert_eq!(expectations.unseen("pclq", &[Seen { gated: false, ..POD }]), Unseen::default());
        assert!(!expectations.any("pclq"));
    }

    #[test]
    fn a_deletion_counts_until_the_cache_shows_it() {
        let expectations = Expectations::default();
        expectations.expect_deletion("pclq", "u");
        assert_eq!(expectations.unseen("pclq", &[POD]).deleted, ["u"]);
        assert_eq!(expectations.unseen("other", &[POD]), Unseen::default());
        assert_eq!(expectations.unseen("pclq", &[Seen { going: true, ..POD }]), Unseen::default());
    }
}
