//! Replaces the control plane in an upgrade of Kubernetes. As Kubernetes requires of administrators, the
//! harness first deletes objects in stored versions that the next API server does not know.

use conformance_contract::kinds::{KINDS, Kind};
use conformance_contract::scheduler::Scheduler;
use conformance_install::cluster_spec::ClusterSpec;
use conformance_install::part::Part;
use rustix::process::Signal;
use serde_json::Value;

use super::LocalCluster;
use crate::{ClusterError, deploy};

/// The replaced parts, in their start order: the API server must not be older than the others.
const REPLACED: [Part; 3] = [Part::Apiserver, Part::ControllerManager, Part::KUBE_SCHEDULER];

impl LocalCluster {
    /// Deletes the gang resources that the new control plane cannot read, and returns whether any existed.
    pub async fn delete_dropped_objects(&self) -> Result<bool, ClusterError> {
        let client = self.client();
        let mut any = false;
        for kind in dropped_kinds(&self.spec()) {
            let failed = |source| ClusterError::api(format!("list {} of all namespaces", kind.name), source);
            let request = http::Request::get(kind.path(None)).body(Vec::new());
            let request = request.map_err(|error| failed(kube::Error::HttpError(error)))?;
            let mut list: Value = client.request(request).await.map_err(failed)?;
            for mut object in list["items"].as_array_mut().map(std::mem::take).unwrap_or_default() {
                object["apiVersion"] = kind.api_version.into();
                object["kind"] = kind.kind().into();
                // The finalizer of a PodGroup remains while it has pods, and its pods must keep running.
                deploy::delete_despite_finalizers(&client, &object).await?;
                any = true;
            }
        }
        Ok(any)
    }

    pub(super) async fn replace_control_plane(&self) -> Result<(), ClusterError> {
        for part in REPLACED.into_iter().rev() {
            self.stop_part(part, Signal::TERM).await;
        }
        self.respecify(ClusterSpec::exchange_control_plane);
        for part in REPLACED {
            self.start_part(part).await?;
            if part == Part::Apiserver {
                self.apiserver_ready().await?;
            }
        }
        self.scheduler_ready(Scheduler::KUBE).await
    }
}

/// Returns the kinds that the current control plane stores in a version that the next one does not know.
fn dropped_kinds(spec: &ClusterSpec) -> Vec<Kind> {
    let next = spec.upgrade.as_ref().and_then(|upgrade| upgrade.control_plane.as_ref());
    let Some(next) = next else { return Vec::new() };
    let is_dropped = |kind: &Kind| {
        let serves = |versions: &[String]| versions.iter().any(|version| version == kind.api_version);
        serves(&spec.runtime_config) && !serves(&next.runtime_config)
    };
    let of_scheduler = KINDS.iter().filter(|kind| kind.scheduler == Some(Scheduler::KUBE));
    of_scheduler.flat_map(|kind| kind.versions()).filter(is_dropped).collect()
}

#[cfg(test)]
mod tests {
    use conformance_contract::kubernetes::Kubernetes;
    use conformance_install::upgrade::Upgrade;

    use super::*;

    #[test]
    fn an_upgrade_to_1_37_deletes_what_is_stored_as_v1alpha2() {
        let mut spec = ClusterSpec::of(Kubernetes::V1_37);
        spec.upgrade = Some(Upgrade::of_kubernetes(Kubernetes::V1_36, None));
        let before = spec.clone().before_upgrade().unwrap();
        let dropped: Vec<_> =
            dropped_kinds(&before).iter().map(|kind| (kind.name, kind.api_version)).collect();
        let version = "scheduling.k8s.io/v1alpha2";
        assert_eq!(dropped, [("Workload", version), ("PodGroup", version)]);
    }

    #[test]
    fn an_upgrade_of_the_operator_deletes_no_gang_resource() {
        assert!(dropped_kinds(&ClusterSpec::default()).is_empty());
    }
}
