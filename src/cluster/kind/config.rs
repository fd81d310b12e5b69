use std::path::{Path, PathBuf};

use conformance_contract::kubernetes::Kubernetes;
use serde_json::{Value, json};

use crate::{ClusterError, KindConfigError};

const ALL_BACKENDS: &str = include_str!("../../../kind-configs/all-backends.yaml");

pub fn of(kubernetes: Kubernetes) -> String {
    let [first, ..] = Kubernetes::ALL;
    let flag = |version: Kubernetes| {
        version.workload_gates().iter().map(|gate| format!("{gate}=true")).collect::<Vec<_>>().join(",")
    };
    let gates = |version: Kubernetes| {
        version.workload_gates().iter().map(|gate| format!("  {gate}: true\n")).collect::<String>()
    };
    let apis = |version: Kubernetes| {
        version.workload_apis().iter().map(|api| format!("  {api}: \"true\"\n")).collect::<String>()
    };
    ALL_BACKENDS
        .replace(&flag(first), &flag(kubernetes))
        .replace(&gates(first), &gates(kubernetes))
        .replace(&apis(first), &apis(kubernetes))
}

/// Settings without which a kubelet of 1.35 or later does not start on a host with cgroup v1.
const CGROUP_V1: &str = "kind: KubeletConfiguration\nfailCgroupV1: false\ncgroupDriver: cgroupfs\n";

pub fn for_host(text: &str, cgroup_version: &str) -> Result<Value, ClusterError> {
    let documents = grove_yaml::documents(text).map_err(KindConfigError::from)?;
    let [document] = documents.as_slice() else {
        return Err(KindConfigError::Documents(documents.len()).into());
    };
    if document["kind"] != "Cluster" {
        return Err(KindConfigError::Kind(document["kind"].clone()).into());
    }
    let mut config = document.clone();
    if cgroup_version == "1" {
        match config["kubeadmConfigPatches"].as_array_mut() {
            Some(patches) => patches.push(CGROUP_V1.into()),
            None => config["kubeadmConfigPatches"] = json!([CGROUP_V1]),
        }
    }
    Ok(config)
}

pub(super) fn kubeconfig_in(folder: &Path) -> PathBuf {
    folder.join("kubeconfig")
}

pub fn nodes(config: &Value) -> usize {
    config["nodes"].as_array().map_or(1, Vec::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_host_with_cgroup_v1_gets_its_settings() {
        let patches = |version: &str| {
            let config = for_host(&of(Kubernetes::V1_36), version).unwrap();
            config["kubeadmConfigPatches"].to_string().contains("failCgroupV1")
        };
        assert!(patches("1"));
        assert!(!patches("2"));
    }

    #[test]
    fn the_default_configuration_has_the_gates_and_apis_of_the_version() {
        let text = of(Kubernetes::V1_37);
        assert!(!text.contains("GangScheduling") && !text.contains("v1alpha2"), "{text}");
        let config = for_host(&text, "2").unwrap();
        assert_eq!(config["featureGates"]["CompositePodGroup"], true);
        assert_eq!(config["runtimeConfig"]["scheduling.k8s.io/v1alpha3"], "true");
        let flag = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true";
        assert_eq!(text.matches(flag).count(), 2, "the controller manager's and the scheduler's");
    }

    #[test]
    fn the_default_configuration_has_thirteen_nodes() {
        assert_eq!(nodes(&for_host(&of(Kubernetes::V1_36), "2").unwrap()), 13);
    }

    #[rstest::rstest]
    #[case("kind: Pod", "kind is \"Pod\", expected Cluster")]
    #[case("", "found 0 documents, expected one")]
    fn a_file_that_is_no_kind_configuration_is_rejected(#[case] text: &str, #[case] message: &str) {
        let error = for_host(text, "2").unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
