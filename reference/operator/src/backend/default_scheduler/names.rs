//! Names of templates, PodGroups and CompositePodGroups that the Workload API accepts (KUBE-01, KUBE-10).
//!
//! Bound pods count towards the quorum of their PodGroup until they are deleted. So gang termination and the
//! return of an idle podgroup lead to new PodGroups.

use grove_api::PodGang;
use kube::ResourceExt;

use crate::backend::idle;
use crate::backend::names::{MAX_SUBDOMAIN, dns_label, shorten};
use crate::cache::generation::named;

pub(super) fn pod_group(pod_gang: &PodGang, podgroup: &str) -> String {
    let name = format!("{}-{podgroup}", pod_gang.name_any());
    shorten(MAX_SUBDOMAIN, idle::resource_name(pod_gang, podgroup, name))
}

pub(super) fn whole_gang(pod_gang: &PodGang) -> String {
    shorten(MAX_SUBDOMAIN, named(pod_gang, pod_gang.name_any()))
}

/// The name of the config alone would collide with the root of a scaled PodGang.
pub(super) fn composite(pod_gang: &PodGang, config: &str) -> String {
    shorten(MAX_SUBDOMAIN, named(pod_gang, format!("{}-{config}", pod_gang.name_any())))
}

/// The prefix keeps template names unique: a podgroup and a topology group config may have the same name.
pub(super) fn composite_template(name: &str) -> String {
    dns_label(&format!("composite-{name}"))
}

pub(super) fn template(podgroup: &str) -> String {
    dns_label(podgroup)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::names::is_dns_label;

    fn gang(name: &str) -> PodGang {
        let mut pod_gang = PodGang::default();
        pod_gang.metadata.name = Some(name.to_owned());
        pod_gang
    }

    #[test]
    fn short_names_are_unchanged() {
        assert_eq!(pod_group(&gang("wl-0"), "wl-0-a"), "wl-0-wl-0-a");
        assert_eq!(template("wl-0-a"), "wl-0-a");
    }

    #[rstest::rstest]
    #[case("a.b-0-c")]
    #[case(&"x".repeat(64))]
    #[case(&format!("{}-{}", "x".repeat(53), "y".repeat(60)))]
    fn other_template_names_are_shortened_to_a_label(#[case] podgroup: &str) {
        let name = template(podgroup);
        assert!(is_dns_label(&name), "{name}");
        assert_ne!(name, podgroup);
        assert_ne!(name, template(&format!("{podgroup}1")), "the hash distinguishes two names");
    }

    #[test]
    fn a_shortened_name_keeps_its_beginning_and_ends_in_a_hash() {
        insta::assert_snapshot!(template("a.b-0-c"), @"a-b-0-c-245c2a4c");
    }

    #[test]
    fn a_pod_group_name_is_shortened_only_beyond_253() {
        let podgroup = "p".repeat(250);
        assert_eq!(pod_group(&gang("gg"), &podgroup).len(), 253);
        assert!(!pod_group(&gang("gg"), &podgroup).contains("-g"));
        let cut = pod_group(&gang("ggg"), &podgroup);
        assert_eq!(cut.len(), 253);
        assert_ne!(cut, pod_group(&gang("ggg"), &"p".repeat(251)));
    }
}
