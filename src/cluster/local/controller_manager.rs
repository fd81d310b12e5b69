//! Starts kube-controller-manager with only the controllers that a run needs.

use std::path::Path;

use conformance_install::cluster_spec::Gates;

use super::certs::KeyFiles;

/// The controller that removes the finalizer that the API server adds to every `scheduling.k8s.io` PodGroup.
pub(super) const PODGROUP_PROTECTION: &str = "podgroup-protection-controller";

const CONTROLLERS: [&str; 11] = [
    "garbage-collector-controller",
    "namespace-controller",
    "pod-garbage-collector-controller",
    "resourceclaim-controller",
    "serviceaccount-controller",
    "root-ca-certificate-publisher-controller",
    "clusterrole-aggregation-controller",
    "persistentvolume-binder-controller",
    "persistentvolumeclaim-protection-controller",
    "persistentvolume-protection-controller",
    "ephemeral-volume-controller",
];

pub(super) fn args(
    kubeconfig: &Path,
    service_account_key: &Path,
    ca: &Path,
    serving: &KeyFiles,
    gates: &Gates,
    with_jobs: bool,
) -> Vec<String> {
    let mut controllers = CONTROLLERS.join(",");
    if gates.is_on("GenericWorkload") {
        controllers = format!("{controllers},{PODGROUP_PROTECTION}");
    }
    if with_jobs {
        controllers.push_str(",job-controller");
    }
    let mut args = vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        "--leader-elect=false".into(),
        "--secure-port=0".into(),
        "--use-service-account-credentials=true".into(),
        format!("--service-account-private-key-file={}", service_account_key.display()),
        format!("--root-ca-file={}", ca.display()),
        format!("--tls-cert-file={}", serving.certificate.display()),
        format!("--tls-private-key-file={}", serving.key.display()),
        // With the default of 20 requests per second, garbage collection of 1,000 objects takes nearly 1 min.
        "--kube-api-qps=1000".into(),
        "--kube-api-burst=2000".into(),
        "--concurrent-gc-syncs=20".into(),
        format!("--controllers={controllers}"),
    ];
    // Pass only these gates, because kube-controller-manager does not know the scheduler's gates.
    args.extend(gates.only(&["GenericWorkload", "WorkloadWithJob"]).flag());
    args
}
