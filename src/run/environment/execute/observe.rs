//! Runs the driver of a case only to record its history. A driver that stops early is not a failure.

use std::sync::atomic::Ordering;

use conformance_contract::target::Target;
use conformance_driver::case::Case;
use conformance_driver::context::{Stop, TestContext};
use conformance_history::{History, SharedMark};

use super::{caught, changed_by_others, component_failure};
use crate::environment::Environment;
use crate::environment::requirements::scheduler_failed;
use crate::provenance;

const INTERRUPTED: &str = "the run was interrupted";

#[derive(Debug)]
pub struct Observed {
    /// Ends with [`SharedMark::Stopped`] if the driver stopped early.
    pub history: History,
}

impl Environment {
    /// If no history was recorded, the error is the reason.
    pub async fn observe(&self, case: &'static Case, target: Target) -> Result<Observed, String> {
        if let Some(reason) = self.lacks(case, target).or_else(|| self.missing_scheduler(target)) {
            return Err(reason.to_owned());
        }
        let waiting = self.seat(case, target, false);
        let Some((slot, _seat)) = self.interruption.unless_requested(waiting).await else {
            return Err(INTERRUPTED.to_owned());
        };
        let _running = self.interruption.running();
        self.end_if_broken(slot, case.isolation, target).await;
        let test_cluster = self.test_cluster_at(slot, case.isolation, target).await;
        let test_cluster = test_cluster.map_err(|error| error.to_string())?;
        let dead = test_cluster.cluster.dead().or_else(|| scheduler_failed(&test_cluster, target));
        if let Some(error) = dead {
            return Err(error.to_string());
        }
        let number = self.cases.fetch_add(1, Ordering::Relaxed);
        let namespace = format!("{}-{}-{number}", case.id.replace('/', "-"), self.settings.run);
        let scale = self.settings.scale;
        let setup = TestContext::begin(case, target, test_cluster.clone(), namespace.clone(), scale);
        let setup = caught("the setup of the observation", setup);
        let mut test = match self.interruption.unless_requested(setup).await {
            Some(Ok(test)) => test,
            Some(Err(stop)) => {
                let _ = self.release(&test_cluster, &namespace).await;
                return Err(stop.to_string());
            }
            None => return Err(INTERRUPTED.to_owned()),
        };
        let stop = tokio::select! {
            biased;
            () = self.interruption.requested() => return Err(INTERRUPTED.to_owned()),
            ended = caught("the driver of the observation", (case.drive)(&mut test)) => ended.err(),
            error = component_failure(&test_cluster, target) => Some(Stop::Cluster(error)),
        };
        let behind = test.caught_up().await.err();
        if let Some(stop) = changed_by_others(&test).or(stop).or(behind) {
            test.mark(SharedMark::Stopped, stop.detail());
        }
        let history = test.history();
        if let Err(error) = self.clean(&test).await {
            tracing::warn!(case = case.id, %error, "failed to clean up after an observation");
        }
        Ok(Observed { history })
    }

    pub async fn versions(&self, target: Target) -> (String, String) {
        let provider = provenance::provider(self).await;
        let shared = self.shared();
        let kind = shared.as_ref().and_then(|test_cluster| test_cluster.kind().ok());
        let installed = kind.map_or(&[][..], |kind| kind.installed());
        let version = provenance::scheduler_version(&self.settings, target, &provider, installed);
        (provider.kubernetes_version, version)
    }
}
