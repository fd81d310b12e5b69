//! The kinds of documents that a user's manifest can have in addition to PodCliqueSets, and advice for others.

use std::collections::BTreeSet;

pub(crate) const SET: &str = "PodCliqueSet";
pub(crate) const SET_VERSION: &str = "grove.io/v1alpha1";
const SET_GROUP: &str = "grove.io";

#[derive(Debug)]
pub(crate) struct Kind {
    /// Empty for the core group.
    pub(crate) group: &'static str,
    pub(crate) name: &'static str,
    pub(crate) is_namespaced: bool,
    /// The backend that alone serves the kind.
    pub(crate) backend: Option<&'static str>,
}

const fn namespaced(group: &'static str, name: &'static str) -> Kind {
    Kind { group, name, is_namespaced: true, backend: None }
}

const fn cluster_scoped(group: &'static str, name: &'static str) -> Kind {
    Kind { is_namespaced: false, ..namespaced(group, name) }
}

const QUEUE: &str = "Queue";
pub(crate) const ROLE_BINDING: &str = "RoleBinding";
pub(crate) const KUSTOMIZE: &str = "render the folder with kubectl kustomize FOLDER, and pass the result";
pub(crate) const VOLCANO_GROUP: &str = "scheduling.volcano.sh";

static KINDS: [Kind; 16] = [
    namespaced("", "ConfigMap"),
    namespaced("", "Secret"),
    namespaced("", "Service"),
    namespaced("", "ServiceAccount"),
    namespaced("rbac.authorization.k8s.io", "Role"),
    namespaced("rbac.authorization.k8s.io", ROLE_BINDING),
    namespaced("", "PersistentVolumeClaim"),
    cluster_scoped("", "PersistentVolume"),
    cluster_scoped("storage.k8s.io", "StorageClass"),
    cluster_scoped("scheduling.k8s.io", "PriorityClass"),
    namespaced("resource.k8s.io", "ResourceClaim"),
    namespaced("resource.k8s.io", "ResourceClaimTemplate"),
    cluster_scoped("resource.k8s.io", "DeviceClass"),
    cluster_scoped("grove.io", "ClusterTopologyBinding"),
    Kind { backend: Some("volcano"), ..cluster_scoped(VOLCANO_GROUP, QUEUE) },
    Kind { backend: Some("kai-scheduler"), ..cluster_scoped("scheduling.run.ai", QUEUE) },
];

pub(crate) fn find(group: &str, kind: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|known| known.name == kind && known.group == group)
}

/// The remedy for a document of a kind that a manifest cannot have.
pub(crate) fn advice(group: &str, kind: &str) -> String {
    let of_kind = match (group, kind) {
        (_, "HorizontalPodAutoscaler") | ("keda.sh", "ScaledObject") => {
            "remove the document; autoScalingConfig of a clique, or scaleConfig of a scaling group, creates an autoscaler"
        }
        ("", "LimitRange") => {
            "remove the document, and write the requests and limits that it adds into the containers of the cliques"
        }
        ("", "ResourceQuota") => "remove the document; --nodes limits what the pods can use",
        ("node.k8s.io", "RuntimeClass") => "remove the document, and runtimeClassName of the cliques",
        ("grove.io", "PodClique" | "PodCliqueScalingGroup") | ("scheduler.grove.io", "PodGang") => {
            "remove the document; Grove creates the object for its PodCliqueSet"
        }
        ("nvidia.com", "DynamoGraphDeployment" | "DynamoComponentDeployment") => {
            "save the PodCliqueSets that its operator creates with kubectl get podcliquesets -o yaml, and pass the file"
        }
        (_, "Kustomization" | "Component") => KUSTOMIZE,
        (_, "Node" | "ResourceSlice") => "move the document to a file, and pass it as --nodes FILE",
        _ if kind.ends_with("List") => {
            "save the objects with kubectl get -o yaml, which writes a List of apiVersion v1"
        }
        _ => "",
    };
    if !of_kind.is_empty() {
        return of_kind.to_owned();
    }
    let known = KINDS.iter().map(|known| (known.group, known.name)).chain([(SET_GROUP, SET)]);
    let similar = known.filter(|(_, name)| name.eq_ignore_ascii_case(kind));
    let similar = similar.map(|(group, name)| match group {
        "" => format!("{name} of v1"),
        group => format!("{name} of {group}"),
    });
    let similar: Vec<_> = similar.collect();
    if !similar.is_empty() {
        return format!("write {}, or remove the document", similar.join(" or "));
    }
    let names: BTreeSet<_> = KINDS.iter().map(|known| known.name).collect();
    let names: Vec<_> = names.into_iter().collect();
    format!("remove the document; a manifest can have {SET}, Namespace, {}", names.join(", "))
}
