//! The fields that a pod may have beyond its template: a path (`*` matches any text), and a link.

use conformance_contract::backend_declaration::PodAddition;
use serde_json::Value;

/// Defaults of the API server by path, as text. The API reference documents these values:
/// <https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/>.
const DEFAULTS: &[(&str, &str)] = &[
    ("spec.restartPolicy", "Always"),
    ("spec.terminationGracePeriodSeconds", "30"),
    ("spec.dnsPolicy", "ClusterFirst"),
    ("spec.enableServiceLinks", "true"),
    ("spec.serviceAccountName", "default"),
    ("spec.*ontainers[*].terminationMessagePath", "/dev/termination-log"),
    ("spec.*ontainers[*].terminationMessagePolicy", "File"),
    ("spec.*ontainers[*].ports[*].protocol", "TCP"),
    ("spec.*ontainers[*].*Probe.timeoutSeconds", "1"),
    ("spec.*ontainers[*].*Probe.periodSeconds", "10"),
    ("spec.*ontainers[*].*Probe.successThreshold", "1"),
    ("spec.*ontainers[*].*Probe.failureThreshold", "3"),
    ("spec.*ontainers[*].*.httpGet.scheme", "HTTP"),
    ("spec.*ontainers[*].*.httpGet.path", "/"),
    ("spec.*.fieldRef.apiVersion", "v1"),
    ("spec.*.resourceFieldRef.divisor", "0"),
    ("spec.volumes[*].*defaultMode", "420"),
    ("spec.volumes[*].*.serviceAccountToken.expirationSeconds", "3600"),
    ("spec.volumes[*].ephemeral.volumeClaimTemplate.spec.volumeMode", "Filesystem"),
    ("spec.volumes[*].azureDisk.cachingMode", "ReadWrite"),
    ("spec.volumes[*].azureDisk.fsType", "ext4"),
    ("spec.volumes[*].azureDisk.kind", "Shared"),
    ("spec.volumes[*].azureDisk.readOnly", "false"),
    ("spec.volumes[*].iscsi.iscsiInterface", "default"),
    ("spec.volumes[*].rbd.keyring", "/etc/ceph/keyring"),
    ("spec.volumes[*].rbd.pool", "rbd"),
    ("spec.volumes[*].rbd.user", "admin"),
    ("spec.volumes[*].scaleIO.fsType", "xfs"),
    ("spec.volumes[*].scaleIO.storageMode", "ThinProvisioned"),
];

const ADMISSION: &str = "https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/";
const BINDING: &str = "https://kubernetes.io/docs/concepts/scheduling-eviction/kube-scheduler/";
const WORKLOADS: &str = "https://kubernetes.io/docs/concepts/scheduling-eviction/gang-scheduling/";
const BACKENDS: &str =
    "https://github.com/ai-dynamo/grove/blob/main/docs/proposals/375-scheduler-backend-framework/README.md";
const VOLCANO: &str =
    "https://github.com/ai-dynamo/grove/blob/main/docs/proposals/376-volcano-scheduler-backend/README.md";
const KAI: &str =
    "https://github.com/ai-dynamo/grove/blob/main/docs/proposals/525-KAI-Scheduler-Backend/README.md";
const KOORDINATOR: &str = "https://koordinator.sh/docs/designs/gang-scheduling/";
const NAMES: &str = "https://github.com/ai-dynamo/grove/blob/main/docs/user-guide/02_pod-and-resource-naming-conventions/02_naming-conventions.md";
const VARIABLES: &str = "https://github.com/ai-dynamo/grove/blob/main/docs/user-guide/03_environment-variables-for-pod-discovery/02_env_var_reference.md";
const SHARING: &str =
    "https://github.com/ai-dynamo/grove/blob/main/docs/proposals/390-hierarchical-resource-sharing/README.md";
const API: &str = "https://github.com/ai-dynamo/grove/blob/main/docs/api-reference/operator-api.md";
const STARTUP: &str = "https://github.com/ai-dynamo/grove/blob/main/docs/installation.md";

/// Fields that Grove, a backend, a scheduler or admission adds, with any value.
const ADDITIONS: &[(&str, &str)] = &[
    // With a host network, this is the port of the container.
    ("spec.*ontainers[*].ports[*].hostPort", ADMISSION),
    // From a RuntimeClass.
    ("spec.overhead", ADMISSION),
    ("spec.priority", ADMISSION),
    ("spec.preemptionPolicy", ADMISSION),
    ("spec.tolerations[node.kubernetes.io/not-ready]", ADMISSION),
    ("spec.tolerations[node.kubernetes.io/unreachable]", ADMISSION),
    ("spec.volumes[kube-api-access-*]", ADMISSION),
    ("spec.*ontainers[*].volumeMounts[kube-api-access-*]", ADMISSION),
    // The former name of `serviceAccountName`, which the API server still sets.
    ("spec.serviceAccount", ADMISSION),
    ("spec.nodeName", BINDING),
    ("spec.schedulingGroup", WORKLOADS),
    ("spec.workloadRef", WORKLOADS),
    ("spec.schedulerName", BACKENDS),
    ("spec.schedulingGates*", BACKENDS),
    // Terms for nodes with the labels of a required level, or in the domain of a bound gang.
    ("spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.*", BACKENDS),
    ("spec.hostname", NAMES),
    ("spec.subdomain", NAMES),
    ("spec.*ontainers[*].env[GROVE_*]*", VARIABLES),
    ("spec.initContainers[grove-initc]", STARTUP),
    ("spec.volumes[sa-token-secret-vol]", STARTUP),
    ("spec.volumes[pod-info-vol]", STARTUP),
    ("spec.resourceClaims[*]", SHARING),
    ("spec.*ontainers[*].resources.claims[*]", SHARING),
    ("metadata.labels.grove.io/*", API),
    ("metadata.annotations.grove.io/*", API),
    ("metadata.labels.app.kubernetes.io/managed-by", API),
    ("metadata.labels.app.kubernetes.io/part-of", API),
    ("metadata.labels.app.kubernetes.io/name", API),
    ("metadata.labels.app.kubernetes.io/component", API),
    ("metadata.annotations.scheduling.k8s.io/group-name", VOLCANO),
    ("metadata.annotations.scheduling.volcano.sh/*", VOLCANO),
    ("metadata.labels.kai.scheduler/*", KAI),
    ("metadata.annotations.kai.scheduler/*", KAI),
    ("metadata.annotations.pod-group-name", KAI),
    ("metadata.labels.pod-group.scheduling.sigs.k8s.io", KOORDINATOR),
    ("metadata.labels.koordinator.sh/*", KOORDINATOR),
    ("metadata.annotations.gang.scheduling.koordinator.sh/*", KOORDINATOR),
    ("metadata.annotations.scheduling.koordinator.sh/*", KOORDINATOR),
    ("metadata.annotations.internal.scheduling.koordinator.sh/*", KOORDINATOR),
];

/// Whether a pod may have this value here although its template lacks it.
pub(super) fn is_documented(path: &str, value: &Value, declared: &[PodAddition]) -> bool {
    let text = || value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    ADDITIONS.iter().any(|(at, _)| matches(at, path))
        || declared.iter().any(|addition| matches(&addition.at, path))
        || DEFAULTS.iter().any(|(at, default)| matches(at, path) && text() == *default)
}

fn matches(pattern: &str, path: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = path.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[rstest::rstest]
    #[case("spec.nodeName", "spec.nodeName", true)]
    #[case("spec.nodeName", "spec.nodeNames", false)]
    #[case("spec.*ontainers[*].env[GROVE_*]", "spec.initContainers[a].env[GROVE_X]", true)]
    #[case("spec.*ontainers[*].env[GROVE_*]", "spec.containers[a].env[OWN]", false)]
    #[case("spec.*ontainers[*].env[GROVE_*]", "spec.containers[a].env[GROVE_X].value", false)]
    #[case("metadata.labels.grove.io/*", "metadata.labels.grove.io/podclique", true)]
    #[case("a*b*b", "ab", false)]
    fn a_star_matches_any_text(#[case] pattern: &str, #[case] path: &str, #[case] wanted: bool) {
        assert_eq!(matches(pattern, path), wanted);
    }

    #[test]
    fn a_default_has_one_value() {
        let grace = "spec.terminationGracePeriodSeconds";
        assert!(is_documented(grace, &json!(30), &[]) && !is_documented(grace, &json!(31), &[]));
    }

    #[test]
    fn each_addition_has_a_link() {
        let without: Vec<_> = ADDITIONS.iter().filter(|(_, link)| !link.starts_with("https://")).collect();
        assert!(without.is_empty(), "{without:?}");
    }
}
