//! The scope is pinned in an annotation of the PodGang when the PodGang is created. So a later change of the
//! profile or of the API server cannot change the shape of a live gang (KUBE-04, KUBE-09).

use grove_api::PodGang;
use grove_api::names::ANNOTATION_GANG_SCOPE;
use kube::ResourceExt;
use serde::Deserialize;

use super::names;

pub(super) const ANNOTATION_PINNED_SCOPE: &str = "grove.io/gang-scope";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum GangScope {
    /// One PodGroup per podgroup, including surplus pods. Podgroups are bound independently.
    #[default]
    PodGroup,
    /// One PodGroup contains the hard gang of the PodGang, which is bound as a whole or not at all (KUBE-08).
    PodGang,
    /// CompositePodGroups with the hard gang, bound as a whole (KUBE-10). Never replaced by another scope.
    Tree,
}

impl GangScope {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::PodGroup => "PodGroup",
            Self::PodGang => "PodGang",
            Self::Tree => "Tree",
        }
    }

    pub(super) fn parse(value: &str) -> Option<Self> {
        match value {
            "PodGroup" => Some(Self::PodGroup),
            "PodGang" => Some(Self::PodGang),
            "Tree" => Some(Self::Tree),
            _ => None,
        }
    }

    pub(super) fn of(pod_gang: &PodGang, profile: GangScope) -> Self {
        let annotations = pod_gang.annotations();
        for key in [ANNOTATION_PINNED_SCOPE, ANNOTATION_GANG_SCOPE] {
            if let Some(scope) = annotations.get(key).and_then(|value| Self::parse(value)) {
                return scope;
            }
        }
        profile
    }

    /// `None` for a surplus pod in no PodGroup. In the scopes `PodGang` and `Tree`, the lowest indexes are
    /// members. A replacement gets the lost pod's index, and so its membership (KUBE-08, KUBE-20).
    pub(super) fn pod_group_of(
        self,
        pod_gang: &PodGang,
        pod_clique: &str,
        pod_index: i32,
        min_replicas: Option<i32>,
    ) -> Option<String> {
        let is_member = !self.leaves_surplus_out() || pod_index < min_replicas.unwrap_or(0);
        is_member.then(|| match self {
            Self::PodGroup | Self::Tree => names::pod_group(pod_gang, pod_clique),
            Self::PodGang => names::whole_gang(pod_gang),
        })
    }

    /// In a tree, kube-scheduler 1.37 tries pods by age. A podgroup's surplus could take the place of
    /// another's minimum, so no pod would be bound.
    pub(super) fn leaves_surplus_out(self) -> bool {
        self != Self::PodGroup
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(GangScope::PodGroup, 5, Some("wl-0-wl-0-a"))]
    #[case(GangScope::Tree, 1, Some("wl-0-wl-0-a"))]
    #[case(GangScope::Tree, 2, None)]
    #[case(GangScope::PodGang, 1, Some("wl-0"))]
    #[case(GangScope::PodGang, 2, None)]
    fn surplus_is_in_no_pod_group_of_a_hard_gang(
        #[case] scope: GangScope,
        #[case] index: i32,
        #[case] pod_group: Option<&str>,
    ) {
        let mut pod_gang = PodGang::default();
        pod_gang.metadata.name = Some("wl-0".to_owned());
        assert_eq!(scope.pod_group_of(&pod_gang, "wl-0-a", index, Some(2)).as_deref(), pod_group);
    }

    #[rstest::rstest]
    #[case(&[], GangScope::PodGang)]
    #[case(&[(ANNOTATION_GANG_SCOPE, "PodGroup")], GangScope::PodGroup)]
    #[case(&[(ANNOTATION_GANG_SCOPE, "nonsense")], GangScope::PodGang)]
    #[case(&[(ANNOTATION_GANG_SCOPE, "PodGang"), (ANNOTATION_PINNED_SCOPE, "PodGroup")], GangScope::PodGroup)]
    fn the_pinned_scope_takes_precedence(#[case] annotations: &[(&str, &str)], #[case] scope: GangScope) {
        let mut pod_gang = PodGang::default();
        pod_gang
            .annotations_mut()
            .extend(annotations.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
        assert_eq!(GangScope::of(&pod_gang, GangScope::PodGang), scope);
    }
}
