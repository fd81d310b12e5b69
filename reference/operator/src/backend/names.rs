//! A name that exceeds a scheduler's limit keeps its beginning and ends in a hash of the whole name.

use sha2::{Digest, Sha256};

/// Maximum length of a DNS label (RFC 1123) and of a label value.
pub(super) const MAX_LABEL: usize = 63;
pub(super) const MAX_SUBDOMAIN: usize = 253;
const HASH_DIGITS: usize = 8;

pub(super) fn shorten(limit: usize, name: String) -> String {
    if name.len() <= limit { name } else { shorten_with_hash(&name, &name, limit) }
}

pub(super) fn shorten_with_hash(whole: &str, readable: &str, limit: usize) -> String {
    let digest = Sha256::digest(whole.as_bytes());
    let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let head: String = readable.chars().take(limit - HASH_DIGITS - 1).collect();
    format!("{}-{}", head.trim_end_matches(['-', '.']), &hash[..HASH_DIGITS])
}

pub(crate) fn is_dns_label(name: &str) -> bool {
    name.len() <= MAX_LABEL && is_joined(name, |c| c.is_ascii_lowercase(), "-")
}

/// Like Kubernetes, does not limit the length of each label.
pub(super) fn is_dns_subdomain(name: &str) -> bool {
    let is_label = |label: &str| is_joined(label, |c| c.is_ascii_lowercase(), "-");
    name.len() <= MAX_SUBDOMAIN && name.split('.').all(is_label)
}

pub(crate) fn is_label_value(value: &str) -> bool {
    value.len() <= MAX_LABEL && is_joined(value, |c| c.is_ascii_alphabetic(), "-_.")
}

/// Whether the text starts and ends with a letter or digit. `joiners` may appear in between.
fn is_joined(text: &str, is_letter: impl Fn(char) -> bool, joiners: &str) -> bool {
    let is_end = |c: char| is_letter(c) || c.is_ascii_digit();
    text.starts_with(is_end)
        && text.ends_with(is_end)
        && text.chars().all(|c| is_end(c) || joiners.contains(c))
}

pub(crate) fn is_label_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_dns_subdomain(prefix) && is_label_value(name),
        None => is_label_value(key),
    }
}

pub(super) fn dns_label(name: &str) -> String {
    if is_dns_label(name) {
        name.to_owned()
    } else {
        shorten_with_hash(name, &name.replace('.', "-"), MAX_LABEL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_within_the_limit_is_unchanged() {
        let name = "x".repeat(63);
        assert_eq!(shorten(63, name.clone()), name);
    }

    #[test]
    fn a_shortened_name_keeps_its_beginning_and_ends_in_a_hash() {
        let name = shorten(16, "workload-0.pc-a".repeat(2));
        assert_eq!(name.len(), 16);
        assert!(name.starts_with("workloa-"), "{name}");
        assert_ne!(name, shorten(16, format!("{}b", "workload-0.pc-a".repeat(2))));
    }

    #[test]
    fn a_shortened_name_has_no_double_separator() {
        let name = shorten(12, "wl-.workload".to_owned() + "-0");
        assert_eq!(name.len(), "wl-01234567".len(), "{name}");
        assert!(name.starts_with("wl-") && !name.contains("--"), "{name}");
    }

    #[rstest::rstest]
    #[case("wl-0-a", true)]
    #[case("a.b", false)]
    #[case("-a", false)]
    #[case("a-", false)]
    #[case("", false)]
    #[case(&"x".repeat(64), false)]
    fn dns_labels_are_recognised(#[case] name: &str, #[case] valid: bool) {
        assert_eq!(is_dns_label(name), valid);
    }

    #[rstest::rstest]
    #[case("a", true)]
    #[case("a-1.b", true)]
    #[case("", false)]
    #[case("-a", false)]
    #[case("a-", false)]
    #[case("a..b", false)]
    #[case("A", false)]
    #[case("a_b", false)]
    #[case(&"a".repeat(253), true)]
    #[case(&"a".repeat(254), false)]
    fn dns_subdomains_are_recognised(#[case] name: &str, #[case] valid: bool) {
        assert_eq!(is_dns_subdomain(name), valid);
    }

    #[rstest::rstest]
    #[case("example.com/rack", true)]
    #[case("Example.com/rack", false)]
    #[case("rack", true)]
    #[case("Rack_1.a", true)]
    #[case("", false)]
    #[case("/rack", false)]
    #[case("example.com/", false)]
    #[case("example..com/rack", false)]
    #[case("a/b/c", false)]
    #[case("a rack", false)]
    #[case(&"a".repeat(64), false)]
    fn label_keys_are_recognised(#[case] key: &str, #[case] valid: bool) {
        assert_eq!(is_label_key(key), valid);
    }
}
