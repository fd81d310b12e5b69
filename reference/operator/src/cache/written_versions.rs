//! Versions of objects that this program wrote and that its caches may not show yet. Without them, a status
//! could be computed from an older version. The API server rejects it, and a second request is needed.

use std::collections::HashMap;

use kube::ResourceExt;
use parking_lot::Mutex;

/// The last written version by uid, until a cache shows this version.
#[derive(Default)]
pub(crate) struct WrittenVersions(Mutex<HashMap<String, u64>>);

impl WrittenVersions {
    pub(crate) fn record(&self, object: &impl ResourceExt, version: Option<&str>) {
        let Some((uid, version)) = object.uid().zip(version.and_then(number)) else { return };
        if version_of(object).is_some_and(|before| version > before) {
            let mut written = self.0.lock();
            let newest = written.entry(uid).or_default();
            *newest = version.max(*newest);
        }
    }

    pub(crate) fn is_outdated(&self, object: &impl ResourceExt) -> bool {
        let Some((uid, version)) = object.uid().zip(version_of(object)) else { return false };
        let mut written = self.0.lock();
        let Some(newest) = written.get(&uid) else { return false };
        let is_outdated = version < *newest;
        if !is_outdated {
            written.remove(&uid);
        }
        is_outdated
    }

    pub(crate) fn forget(&self, uid: &str) {
        self.0.lock().remove(uid);
    }
}

fn version_of(object: &impl ResourceExt) -> Option<u64> {
    object.meta().resource_version.as_deref().and_then(number)
}

/// Kubernetes documents that the resource versions of one kind are increasing numbers.
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
    fn a_version_is_outdated_until_the_cache_shows_the_written_one() {
        let written = WrittenVersions::default();
        assert!(!written.is_outdated(&pod_gang("9")), "nothing was written");
        written.record(&pod_gang("9"), Some("12"));
        assert!(written.is_outdated(&pod_gang("9")) && written.is_outdated(&pod_gang("11")));
        assert!(!written.is_outdated(&pod_gang("12")));
        assert!(!written.is_outdated(&pod_gang("9")), "a version that was shown once is forgotten");
    }

    #[rstest::rstest]
    #[case::unchanged("9", Some("9"))]
    #[case::no_version_in_response("9", None)]
    #[case::new_version_no_number("9", Some("x"))]
    #[case::old_version_no_number("x", Some("12"))]
    fn a_write_without_a_newer_version_is_ignored(
        #[case] before: &str,
        #[case] written_version: Option<&str>,
    ) {
        let written = WrittenVersions::default();
        written.record(&pod_gang(before), written_version);
        assert!(!written.is_outdated(&pod_gang(before)));
    }
}
