//! A history in the order in which it was written.

use conformance_history::{History, Version, controller};

/// What was written, by resourceVersion across all kinds: watches of several kinds deliver in any order.
pub(super) struct Course<'a> {
    pub(super) history: &'a History,
    pub(super) versions: Vec<Version<'a>>,
}

impl<'a> Course<'a> {
    pub(super) fn of(history: &'a History) -> Self {
        let mut versions: Vec<_> = history.versions().collect();
        versions.sort_by_cached_key(Version::revision);
        Self { history, versions }
    }

    /// The versions of pods that Grove made for the workload; canaries are none.
    pub(super) fn pods(&self) -> impl Iterator<Item = Version<'a>> {
        self.versions.iter().copied().filter(is_groves_pod)
    }
}

/// Whether it is a pod of a PodClique, and no canary.
pub(super) fn is_groves_pod(version: &Version<'_>) -> bool {
    version.kind() == "Pod"
        && !version.pod().is_canary()
        && controller(version.object).is_some_and(|owner| owner["kind"] == "PodClique")
}
