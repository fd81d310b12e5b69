//! Creations, deletions and releases of pods that the cache does not show yet. Without these expectations, a
//! reconciler with a stale cache would create a pod twice, delete one pod too many, or remove a gate again.
//! They also time out, because the cache never shows a pod that is created and deleted between two lists.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

pub(crate) const EXPECTATION_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Default)]
pub(crate) struct Expectations(Mutex<HashMap<String, Expected>>);

#[derive(Default)]
struct Expected {
    /// Pod index and time of the request, by pod name.
    created: HashMap<String, (i32, Instant)>,
    deleted: HashMap<String, Instant>,
    /// Time of the request, by pod uid.
    released: HashMap<String, Instant>,
    has_created: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Unseen {
    pub created: Vec<i32>,
    pub deleted: Vec<String>,
    pub released: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    pub name: &'a str,
    pub uid: &'a str,
    pub terminating: bool,
    pub gated: bool,
}

impl Expectations {
    pub(crate) fn expect_creation(&self, pclq: &str, pod: &str, index: i32) {
        self.with(pclq, |expected| {
            expected.has_created = true;
            expected.created.insert(pod.to_owned(), (index, Instant::now()));
        });
    }

    pub(crate) fn has_created(&self, pclq: &str) -> bool {
        self.with(pclq, |expected| expected.has_created)
    }

    pub(crate) fn creation_failed(&self, pclq: &str, pod: &str) {
        self.with(pclq, |expected| expected.created.remove(pod));
    }

    pub(crate) fn expect_deletion(&self, pclq: &str, uid: &str) {
        self.with(pclq, |expected| expected.deleted.insert(uid.to_owned(), Instant::now()));
    }

    pub(crate) fn expect_release(&self, pclq: &str, uid: &str) {
        self.with(pclq, |expected| expected.released.insert(uid.to_owned(), Instant::now()));
    }

    pub(crate) fn unseen(&self, pclq: &str, cache: &[Seen<'_>]) -> Unseen {
        self.with(pclq, |expected| {
            let is_fresh = |since: &Instant| since.elapsed() < EXPECTATION_TIMEOUT;
            expected
                .created
                .retain(|name, (_, since)| is_fresh(since) && !cache.iter().any(|pod| pod.name == name));
            expected.deleted.retain(|uid, since| {
                is_fresh(since) && cache.iter().any(|pod| pod.uid == uid && !pod.terminating)
            });
            expected
                .released
                .retain(|uid, since| is_fresh(since) && cache.iter().any(|pod| pod.uid == uid && pod.gated));
            Unseen {
                released: expected.released.keys().cloned().collect(),
                created: expected.created.values().map(|(index, _)| *index).collect(),
                deleted: expected.deleted.keys().cloned().collect(),
            }
        })
    }

    pub(crate) fn any(&self, pclq: &str) -> bool {
        self.with(pclq, |expected| {
            let Expected { created, deleted, released, .. } = expected;
            !created.is_empty() || !deleted.is_empty() || !released.is_empty()
        })
    }

    pub(crate) fn forget(&self, pclq: &str) {
        self.0.lock().remove(pclq);
    }

    fn with<T>(&self, pclq: &str, change: impl FnOnce(&mut Expected) -> T) -> T {
        let mut all = self.0.lock();
        change(all.entry(pclq.to_owned()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: Seen<'_> = Seen { name: "a", uid: "u", terminating: false, gated: true };

    #[test]
    fn a_creation_counts_until_the_cache_shows_it() {
        let expectations = Expectations::default();
        expectations.expect_creation("pclq", "a", 3);
        assert_eq!(expectations.unseen("pclq", &[]).created, [3]);
        assert_eq!(expectations.unseen("pclq", &[POD]), Unseen::default());
        assert_eq!(
            expectations.unseen("pclq", &[]),
            Unseen::default(),
            "the cache showed the pod, which was then deleted"
        );
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
        assert_eq!(expectations.unseen("pclq", &[Seen { terminating: true, ..POD }]), Unseen::default());
    }
}
