//! Cases that failed with `--hold-on-failure`: objects, nodes and control planes stay until the run ends.

use std::path::PathBuf;
use std::sync::Arc;

use conformance_contract::target::Target;
use conformance_driver::test_cluster::TestCluster;
use conformance_report::CaseResult;
use parking_lot::Mutex;

use super::{Environment, Origin};
use crate::first_failure::FirstFailure;

#[derive(Debug, Clone)]
pub struct HeldCase {
    pub id: &'static str,
    pub target: Target,
    /// Also the value of the label on the case's nodes.
    pub namespace: String,
    /// `None` in the user's own cluster, for which the user has a kubeconfig.
    pub kubeconfig: Option<PathBuf>,
    /// Relative to the report.
    pub artifacts: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct HeldCases {
    cases: Mutex<Vec<HeldCase>>,
    clusters: Mutex<Vec<Arc<TestCluster>>>,
}

impl HeldCases {
    pub(super) fn is_empty(&self) -> bool {
        self.cases.lock().is_empty()
    }

    pub(super) fn keep(&self, cluster: Arc<TestCluster>) {
        self.clusters.lock().push(cluster);
    }

    pub(super) fn take_clusters(&self) -> Vec<Arc<TestCluster>> {
        std::mem::take(&mut *self.clusters.lock())
    }
}

impl Environment {
    pub fn held(&self) -> Vec<HeldCase> {
        self.held.cases.lock().clone()
    }

    pub(super) fn hold_if_failed(
        &self,
        result: &CaseResult,
        (id, target): (&'static str, Target),
        cluster: &TestCluster,
        namespace: &str,
    ) -> bool {
        let settings = &self.settings;
        if !settings.hold_on_failure || !FirstFailure::is_failure(result, settings.strict) {
            return false;
        }
        let kubeconfig = match &settings.origin {
            Origin::Existing { .. } => None,
            Origin::Up(kubeconfig) if cluster.local().is_err() => Some(kubeconfig.clone()),
            Origin::Up(_) | Origin::Local | Origin::Kind(_) => {
                let local = cluster.local().map(|local| local.kubeconfig().to_owned()).ok();
                local.or_else(|| cluster.kind().map(|kind| kind.kubeconfig()).ok())
            }
        };
        let namespace = namespace.to_owned();
        let artifacts = result.artifacts.clone();
        self.held.cases.lock().push(HeldCase { id, target, namespace, kubeconfig, artifacts });
        true
    }
}
