//! Versions of objects that this program wrote and that its caches may not show yet.
//!
//! The API server refuses a status that was computed from an older version, which costs a second request.
//! Watches lag behind a busy API server, so this happens most when it does most harm.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use kube::ResourceExt;

/// The newest written version of each object by uid, until a cache shows it.
#[derive(Default)]
pub(crate) struct WrittenVersions(Mutex<HashMap<String, u64>>);

impl WrittenVersions {
    pub(crate) fn note(&self, object: &impl ResourceExt, version: Option<&str>) {
        let Some((uid, version)) = object.uid().zip(version.and_then(number)) else { return };
        if version_of(object).is_some_and(|before| version > before) {
            let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let newest = written.entry(uid).or_default();
            *newest = version.max(*newest);
        }
    }

    pub(crate) fn is_outdated(&self, object: &impl ResourceExt) -> bool {
        let Some((uid, version)) = object.uid().zip(version_of(object)) else { return false };
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(newest) = written.get(&uid) else { return false };
        let is_outdated = version < *newest;
        if !is_outdated {
            written.remove(&uid);
        }
        is_outdated
    }

    pub(crate) fn forget(&self, uid: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(uid);
    }
}

fn version_of(object: &impl ResourceExt) -> Option<u64> {
    object.meta().resource_version.as_deref().and_then(number)
}

/// Kubernetes documents that resource versions of one kind are increasing numbers. Other versions are
/// ignored.
fn number(version: &str) -> Option<u64> {
    version.parse().ok()
}

#[cfg(test)]
mod tests {
    use grove_api::PodGang;

    use super::*;

    fn pod_gang(version: &str) -> PodGang {
        let mut pod_gang = PodGang::default();
        pod_gang.metadata.uid = Some("u".to_owned());
        pod_gang.metadata.resource_version = Some(version.to_owned());
        pod_gang
    }

    #[test]
    fn a_version_is_outdated_until_the_cache_shows_what_was_written() {
        let written = WrittenVersions::default();
        assert!(!written.is_outdated(&pod_gang("9")), "nothing was");
        written.note(&pod_gang("9"), Some("12"));
        assert!(written.is_outdated(&pod_gang("9")) && written.is_outdated(&pod_gang("11")));
        assert!(!written.is_outdated(&pod_gang("12")));
        assert!(!written.is_outdated(&pod_gang("9")), "it was shown, and this is a cache that begins anew");
    }

    #[rstest::rstest]
    #[case::changed_nothing("9", Some("9"))]
    #[case::not_told("9", None)]
    #[case::no_number("9", Some("x"))]
    #[case::from_no_number("x", Some("12"))]
    fn nothing_is_concluded(#[case] before: &str, #[case] answer: Option<&str>) {
        let written = WrittenVersions::default();
        written.note(&pod_gang(before), answer);
        assert!(!written.is_outdated(&pod_gang(before)));
    }
}
