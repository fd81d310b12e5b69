//! Starts the clusters of a run: local control planes, kind clusters, and connections to existing clusters.

use std::sync::Arc;

use conformance_cluster::ClusterError;
use conformance_cluster::access::Access;
use conformance_cluster::existing::{Connection, ExistingCluster};
use conformance_cluster::kind::KindCluster;
use conformance_cluster::kubeconfig::KubeconfigSource;
use conformance_cluster::local::LocalCluster;
use conformance_cluster::node_pools::CANARY_NODE;
use conformance_cluster::provider::Provider;
use conformance_contract::clauses::Workload;
use conformance_contract::names;
use conformance_contract::target::Target;
use conformance_driver::rights;
use conformance_driver::test_cluster::TestCluster;
use conformance_history::Kind;
use conformance_install::cluster_spec::ClusterSpec;
use conformance_install::memory::Memory;
use conformance_programs::home::UnfinishedCluster;

use super::{Environment, Origin};
use crate::suites;

impl Environment {
    /// Without the watch cache, watches survive a restart of the API server and changes of CRDs.
    pub(super) fn dedicated_spec(&self, target: Target) -> ClusterSpec {
        let spec = self.settings.spec.clone().narrowed_to(target.scheduler());
        ClusterSpec { watch_cache: false, memory: Memory::Alone, ..spec }
    }

    pub(super) async fn bring_up_local(
        &self,
        name: &str,
        spec: ClusterSpec,
    ) -> Result<TestCluster, ClusterError> {
        let (run, schedulers) = (&self.settings.run, spec.schedulers.clone());
        // The description of the operator under test determines the scheduler profiles.
        let configured_by_others = spec.operator.is_some();
        let programs = self.settings.programs.clone();
        let name = format!("{run}-{name}");
        let unfinished = UnfinishedCluster::new(&name);
        let starting = async {
            let kinds = kinds_of(spec.workload());
            let cluster = LocalCluster::start(&name, spec, programs).await?;
            TestCluster::prepare(&kinds, Arc::new(cluster), &schedulers, run).await
        };
        let started = starting.await;
        unfinished.keep();
        let test_cluster = started?;
        Ok(TestCluster {
            configured_by_others,
            short_limits_count: self.settings.short_limits_count,
            thorough: self.settings.thorough,
            ..test_cluster
        })
    }

    pub(super) async fn bring_up_shared(&self) -> Result<TestCluster, ClusterError> {
        let (run, spec) = (&self.settings.run, &self.settings.spec);
        let label = (names::RUN, run.as_str());
        let needed = rights::needed(&spec.schedulers);
        let kinds = needed_kinds(spec);
        let existing = match &self.settings.origin {
            Origin::Local => {
                let spec = ClusterSpec { memory: Memory::Shared, ..spec.clone() };
                return self.bring_up_local("shared", spec).await;
            }
            Origin::Kind(kind) => {
                let cluster = KindCluster::create(&format!("{run}-shared"), kind).await?;
                let kinds = kinds_of(Workload::PodCliqueSets);
                let prepared = TestCluster::prepare(&kinds, Arc::new(cluster), &spec.schedulers, run).await?;
                return Ok(TestCluster { configured_by_others: spec.operator.is_some(), ..prepared });
            }
            Origin::Up(kubeconfig) => {
                let access = Access::Kubeconfig(KubeconfigSource::of_file(kubeconfig));
                let connection = Connection {
                    access,
                    allows_foreign_workloads: true,
                    leased_nodes: None,
                    again: false,
                    has_daemon_sets: false,
                };
                ExistingCluster::connect(&connection, label, needed, &kinds).await?
            }
            Origin::Existing { connection, .. } => {
                ExistingCluster::connect(connection, label, needed, &kinds).await?
            }
        };
        let existing = Arc::new(existing);
        let prepared = async {
            let kinds = kinds_of(spec.workload());
            let test_cluster = TestCluster::prepare(&kinds, existing.clone(), &spec.schedulers, run).await?;
            if existing.node_pools().size().is_none() {
                existing.check_simulation(&format!("conformance-probe-{run}"), CANARY_NODE).await?;
            }
            let configured_by_others =
                spec.operator.is_some() || matches!(self.settings.origin, Origin::Existing { .. });
            Ok(TestCluster {
                configured_by_others,
                short_limits_count: self.settings.short_limits_count,
                thorough: self.settings.thorough,
                ..test_cluster
            })
        };
        let prepared = self.interruption.unless_requested(prepared).await;
        let prepared = prepared.unwrap_or(Err(ClusterError::Interrupted));
        if prepared.is_err() {
            // Deletes what was created in the user's cluster.
            existing.end(false).await?;
        }
        prepared
    }
}

pub(super) fn needed_kinds(spec: &ClusterSpec) -> Vec<Kind> {
    let needs_tree = spec.kubernetes.has_trees()
        && spec.schedulers.len() == 1
        && spec.workload() == Workload::PodCliqueSets;
    rights::kinds_of(&spec.schedulers, needs_tree)
}

fn kinds_of(workload: Workload) -> Vec<Kind> {
    (suites::of(workload).kinds)()
}
