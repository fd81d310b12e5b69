//! Removes the objects of a case and releases its nodes.

use conformance_cluster::{ClusterError, deploy};
use conformance_contract::clauses::Workload;
use conformance_contract::names;
use conformance_driver::context::TestContext;
use conformance_driver::test_cluster::TestCluster;

use crate::environment::{Environment, Origin};

impl Environment {
    /// Deletes the case's objects without waiting, because the next case uses other names and nodes. On a
    /// cluster that ends with the run, the namespace stays: its deletion costs more than most cases.
    pub(super) async fn clean(&self, test: &TestContext) -> Result<(), ClusterError> {
        if let Err(error) = test.clear_cluster().await {
            tracing::warn!(namespace = test.namespace, %error, "failed to delete cluster-scoped objects");
        }
        self.release(&test.test_cluster, &test.namespace).await
    }

    pub(super) async fn release(&self, test_cluster: &TestCluster, pool: &str) -> Result<(), ClusterError> {
        let client = &test_cluster.client;
        let deleted = async {
            match self.settings.origin {
                Origin::Local => match self.settings.spec.workload() {
                    Workload::PlainPods => deploy::delete_pods(client, pool, names::GANG).await?,
                    Workload::PodCliqueSets | Workload::TrainJobs => {
                        deploy::delete_workloads(client, pool).await?
                    }
                },
                Origin::Kind(_) => {
                    deploy::delete_workloads(client, pool).await?;
                    deploy::delete_pods(client, pool, names::CANARY).await?;
                }
                Origin::Up(_) | Origin::Existing { .. } => deploy::delete_namespace(client, pool).await?,
            }
            Ok::<_, ClusterError>(())
        };
        if let Err(error) = deleted.await {
            tracing::warn!(namespace = pool, %error, "failed to delete the case's workloads");
        }
        // Release the nodes even if the deletion failed.
        let released = test_cluster.cluster.node_pools().release(names::POOL, pool).await;
        released.inspect_err(|error| tracing::warn!(pool, %error, "failed to release the nodes of a case"))
    }
}
