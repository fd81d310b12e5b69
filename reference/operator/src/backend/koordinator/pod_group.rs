use grove_api::PodGang;
use kube::ResourceExt;
use kube::api::ApiResource;

use crate::backend::idle;
use crate::backend::names::{MAX_LABEL, shorten};
use crate::backend::objects::kind;

pub const KOORD_SCHEDULER: &str = "koord-scheduler";

pub(super) const LABEL_POD_GROUP: &str = "pod-group.scheduling.sigs.k8s.io";
pub(super) const LABEL_QOS_CLASS: &str = "koordinator.sh/qosClass";

/// JSON list of `namespace/name` of every PodGroup in its GangGroup.
pub(super) const ANNOTATION_GROUPS: &str = "gang.scheduling.koordinator.sh/groups";
pub(super) const ANNOTATION_MODE: &str = "gang.scheduling.koordinator.sh/mode";
pub(super) const ANNOTATION_MATCH_POLICY: &str = "gang.scheduling.koordinator.sh/match-policy";
pub(super) const ANNOTATION_TOTAL_NUMBER: &str = "gang.scheduling.koordinator.sh/total-number";
pub(super) const ANNOTATION_NETWORK_TOPOLOGY: &str = "gang.scheduling.koordinator.sh/network-topology-spec";

pub(super) fn pod_groups() -> ApiResource {
    kind("scheduling.sigs.k8s.io", "v1alpha1", "PodGroup", "podgroups")
}

/// `<podgang>-<podgroup>`, shortened to a label value. Koordinator never forgets that a GangGroup was
/// satisfied. So gang termination and the return of an idle podgroup lead to a new GangGroup.
pub(super) fn name(pod_gang: &PodGang, podgroup: &str) -> String {
    let name = format!("{}-{podgroup}", pod_gang.name_any());
    shorten(MAX_LABEL, idle::resource_name(pod_gang, podgroup, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shortened_to_a_label() {
        let podgroup = |clique: &str| format!("workload-of-some-length-0-{clique}");
        let mut pod_gang = PodGang::default();
        pod_gang.metadata.name = Some("workload-of-some-length-0".to_owned());
        insta::assert_snapshot!(name(&pod_gang, &podgroup("leader")), @"workload-of-some-length-0-workload-of-some-length-0-leader");
        let shortened = name(&pod_gang, &podgroup("prefill-worker"));
        assert_eq!(shortened.len(), MAX_LABEL);
        assert!(
            shortened.starts_with("workload-of-some-length-0-workload-of-some-length-0-pr-"),
            "{shortened}"
        );
        assert_ne!(shortened, name(&pod_gang, &podgroup("prefill-leader")));
    }
}
