//! Ends the clusters of a run. A local cluster's objects end with its processes and folders.

use std::future::pending;
use std::sync::{Arc, Weak};
use std::time::Duration;

use conformance_cluster::ClusterError;
use conformance_driver::test_cluster::TestCluster;
use futures::future::join_all;

use super::{Environment, Origin};

/// How long interrupted cases may still run. The check of 1,000 pods takes longer, and is abandoned.
const GRACE: Duration = Duration::from_secs(2);

impl Environment {
    /// Ends all clusters concurrently. After an interruption, abandoned cases may still use them.
    pub async fn close(&self) -> Vec<ClusterError> {
        let slots = std::iter::once(&self.shared).chain(self.dedicated.values().flatten());
        let started = slots.filter_map(|slot| slot.test_cluster.take_if(|_| true)?.ok());
        let of_abandoned_cases: Vec<_> = self.upgraded.lock().iter().filter_map(Weak::upgrade).collect();
        let all = started.chain(self.held.take_clusters()).chain(of_abandoned_cases);
        let ending = all.map(|test_cluster| self.end(test_cluster));
        join_all(ending).await.into_iter().filter_map(Result::err).collect()
    }

    pub(super) async fn end(&self, test_cluster: Arc<TestCluster>) -> Result<(), ClusterError> {
        let cluster = test_cluster.cluster.clone();
        drop(test_cluster);
        if self.interruption.is_requested() {
            cluster.end_at_once(self.settings.keep).await
        } else {
            cluster.end(self.settings.keep).await
        }
    }

    /// On local clusters, returns when [`GRACE`] has passed after an interruption. On other clusters it never
    /// returns: cases delete what they created, however long that takes.
    pub(crate) async fn abandons_cases(&self) {
        match self.settings.origin {
            Origin::Local => self.interruption.requested_before(GRACE).await,
            Origin::Kind(_) | Origin::Up(_) | Origin::Existing { .. } => pending().await,
        }
    }
}
