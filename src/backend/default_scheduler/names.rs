//! Names of Workloads, templates and PodGroups that the API takes (KUBE-01).
//!
//! All are functions of names alone, so that a pod's PodGroup is known from its labels without a lookup.
//! Where a name is too long or has a character the API refuses, it is cut and ends in a hash of the whole.

use sha2::{Digest, Sha256};

/// Longest DNS label: the API's limit for the name of a PodGroup template.
const MAX_LABEL: usize = 63;
/// Longest DNS subdomain: the API's limit for the name of an object.
const MAX_SUBDOMAIN: usize = 253;
/// Hexadecimal digits of the hash that ends a cut name.
const HASH_DIGITS: usize = 8;

/// The PodGroup of one podgroup: `<podgang>-<podgroup>`.
pub(super) fn flat_pod_group(pod_gang: &str, podgroup: &str) -> String {
    let name = format!("{pod_gang}-{podgroup}");
    if name.len() <= MAX_SUBDOMAIN { name } else { cut(&name, &name, MAX_SUBDOMAIN) }
}

/// The template of one podgroup in a Workload: the podgroup's name where that is a DNS label.
pub(super) fn template(podgroup: &str) -> String {
    if is_dns_label(podgroup) {
        podgroup.to_owned()
    } else {
        cut(podgroup, &podgroup.replace('.', "-"), MAX_LABEL)
    }
}

/// Whether `name` is a DNS label (RFC 1123) of at most 63 characters.
pub(super) fn is_dns_label(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty()
        && name.len() <= MAX_LABEL
        && name.chars().all(inner)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

/// The head of `readable` and a hash of `whole`, together at most `limit` characters.
fn cut(whole: &str, readable: &str, limit: usize) -> String {
    let digest = Sha256::digest(whole.as_bytes());
    let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let head: String = readable.chars().take(limit - HASH_DIGITS - 1).collect();
    format!("{}-{}", head.trim_end_matches(['-', '.']), &hash[..HASH_DIGITS])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_stay_as_they_are() {
        assert_eq!(flat_pod_group("wl-0", "wl-0-a"), "wl-0-wl-0-a");
        assert_eq!(template("wl-0-a"), "wl-0-a");
    }

    #[rstest::rstest]
    #[case("a.b-0-c")]
    #[case(&"x".repeat(64))]
    #[case(&format!("{}-{}", "x".repeat(53), "y".repeat(60)))]
    fn other_template_names_are_cut_to_a_label(#[case] podgroup: &str) {
        let name = template(podgroup);
        assert!(is_dns_label(&name), "{name}");
        assert_ne!(name, podgroup);
        assert_ne!(name, template(&format!("{podgroup}1")), "the hash tells two names apart");
    }

    #[test]
    fn a_cut_name_is_readable_and_ends_in_the_hash() {
        insta::assert_snapshot!(template("a.b-0-c"), @"a-b-0-c-245c2a4c");
    }

    #[test]
    fn a_pod_group_name_is_cut_only_beyond_253() {
        let podgroup = "p".repeat(250);
        assert_eq!(flat_pod_group("gg", &podgroup).len(), 253);
        assert!(!flat_pod_group("gg", &podgroup).contains("-g"));
        let cut = flat_pod_group("ggg", &podgroup);
        assert_eq!(cut.len(), 253);
        assert_ne!(cut, flat_pod_group("ggg", &"p".repeat(251)));
    }
}
