//! kube-scheduler on the Workload API of 1.36: which gang resources a PodGang should have, and which of them a pod joins
//! (KUBE-01, KUBE-08).
//!
//! The API cuts names: a template's must be a DNS label, an object's at most 253 characters long. The contract fixes the
//! names that fit; one that does not is cut and hashed in a way that is the backend's own, so it is judged by reference.

use crate::suite::expect::{Gang, Group};
use crate::suite::target::{Target, Variant};

/// Longest DNS label, the limit for a template's name.
const LABEL: usize = 63;
/// Longest DNS subdomain, the limit for an object's name.
const SUBDOMAIN: usize = 253;

/// A PodGroup that should exist, and its template in the Workload of the PodGang's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodGroup {
    /// Its name.
    pub name: Name,
    /// Its template's name, where the contract fixes it.
    pub template: Option<Name>,
    /// `schedulingPolicy.gang.minCount`.
    pub min_count: usize,
}

/// The PodGroups of a PodGang with these podgroups: names and `minReplicas`.
pub fn pod_groups(target: Target, pod_gang: &str, podgroups: &[(String, usize)]) -> Vec<PodGroup> {
    match target.variant {
        Variant::PodGroup => podgroups
            .iter()
            .map(|(podgroup, min)| PodGroup {
                name: Name::object(format!("{pod_gang}-{podgroup}")),
                template: Some(Name::template(podgroup.clone())),
                min_count: *min,
            })
            .collect(),
        Variant::PodGang => vec![PodGroup {
            name: Name::object(pod_gang.to_owned()),
            template: None,
            min_count: podgroups.iter().map(|(_, min)| min).sum(),
        }],
    }
}

/// The PodGroups of an expected PodGang.
pub fn pod_groups_of(target: Target, gang: &Gang) -> Vec<PodGroup> {
    let podgroups: Vec<_> = gang.groups.iter().map(|group| (group.clique.clone(), group.min)).collect();
    pod_groups(target, &gang.name, &podgroups)
}

/// The PodGroup that the pod of that index joins; `None` for a surplus pod that joins none (KUBE-08).
pub fn joins(target: Target, gang: &Gang, group: &Group, index: usize) -> Option<Name> {
    match target.variant {
        Variant::PodGroup => Some(Name::object(format!("{}-{}", gang.name, group.clique))),
        Variant::PodGang => (index < group.min).then(|| Name::object(gang.name.clone())),
    }
}

/// A name that the contract fixes as far as the API lets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The name, if it fits.
    pub wanted: String,
    limit: usize,
    dots: bool,
}

impl Name {
    fn object(wanted: String) -> Self {
        Self { wanted, limit: SUBDOMAIN, dots: true }
    }

    fn template(wanted: String) -> Self {
        Self { wanted, limit: LABEL, dots: false }
    }

    /// Whether the API takes a name here.
    fn fits(&self, name: &str) -> bool {
        let inner =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.' && self.dots;
        let outer = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        name.len() <= self.limit
            && name.chars().all(inner)
            && outer(name.chars().next())
            && outer(name.chars().last())
    }

    /// Whether `found` is this name, or a cut of it where it does not fit.
    pub fn matches(&self, found: &str) -> bool {
        if self.fits(&self.wanted) { found == self.wanted } else { found != self.wanted && self.fits(found) }
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cut = if self.fits(&self.wanted) { "" } else { " (cut and hashed)" };
        write!(f, "{}{cut}", self.wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::target::TARGETS;

    #[rstest::rstest]
    #[case::fits("w-0-a", "w-0-a", true)]
    #[case::another("w-0-a", "w-0-b", false)]
    #[case::needlessly_cut("w-0-a", "w-0-a-1f2e3d4c", false)]
    #[case::dotted("w.x-0-a", "w-x-0-a-1f2e3d4c", true)]
    #[case::dotted_and_not_cut("w.x-0-a", "w.x-0-a", false)]
    #[case::too_long(&"p".repeat(64), &"p".repeat(63), true)]
    #[case::not_cut_enough(&"p".repeat(65), &"p".repeat(64), false)]
    fn template_names(#[case] wanted: &str, #[case] found: &str, #[case] matches: bool) {
        assert_eq!(Name::template(wanted.to_owned()).matches(found), matches);
    }

    #[test]
    fn one_pod_group_per_podgroup_or_one_for_all() {
        let podgroups = [("w-0-a".to_owned(), 2), ("w-0-b".to_owned(), 3)];
        let [flat, whole] = TARGETS.map(|target| pod_groups(target, "w-0", &podgroups));
        let names = |groups: &[PodGroup]| {
            groups.iter().map(|g| (g.name.to_string(), g.min_count)).collect::<Vec<_>>()
        };
        assert_eq!(names(&flat), [("w-0-w-0-a".to_owned(), 2), ("w-0-w-0-b".to_owned(), 3)]);
        assert_eq!(names(&whole), [("w-0".to_owned(), 5)]);
    }
}
