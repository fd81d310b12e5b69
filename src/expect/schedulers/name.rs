//! Names of gang resources. A backend may shorten a name that is too long, so every valid name matches it.

/// Maximum length of a DNS label, and of a label value.
const LABEL: usize = 63;
/// Maximum length of a DNS subdomain, and of an object's name.
const SUBDOMAIN: usize = 253;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    pub wanted: String,
    limit: usize,
    dots: bool,
}

impl Name {
    pub fn object(wanted: String) -> Self {
        Self { wanted, limit: SUBDOMAIN, dots: true }
    }

    pub fn label(wanted: String) -> Self {
        Self { wanted, limit: LABEL, dots: true }
    }

    pub fn dns_label(wanted: String) -> Self {
        Self { wanted, limit: LABEL, dots: false }
    }

    fn fits(&self, name: &str) -> bool {
        let inner =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.' && self.dots;
        let outer = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        name.len() <= self.limit
            && name.chars().all(inner)
            && outer(name.chars().next())
            && outer(name.chars().last())
    }

    pub fn is_exact(&self) -> bool {
        self.fits(&self.wanted)
    }

    pub fn matches(&self, found: &str) -> bool {
        if self.is_exact() { found == self.wanted } else { found != self.wanted && self.fits(found) }
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shortened = if self.is_exact() { "" } else { " (shortened)" };
        write!(f, "{}{shortened}", self.wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::fits("w-0-a", "w-0-a", true)]
    #[case::another("w-0-a", "w-0-b", false)]
    #[case::needlessly_truncated("w-0-a", "w-0-a-1f2e3d4c", false)]
    #[case::dotted("w.x-0-a", "w-x-0-a-1f2e3d4c", true)]
    #[case::dotted_and_not_truncated("w.x-0-a", "w.x-0-a", false)]
    #[case::too_long(&"p".repeat(64), &"p".repeat(63), true)]
    #[case::not_truncated_enough(&"p".repeat(65), &"p".repeat(64), false)]
    #[case::dotted_when_truncated(&"p".repeat(64), "p.p", false)]
    #[case::upper_case(&"p".repeat(64), "P", false)]
    #[case::leading_hyphen(&"p".repeat(64), "-p", false)]
    #[case::trailing_hyphen(&"p".repeat(64), "p-", false)]
    #[case::empty(&"p".repeat(64), "", false)]
    fn a_name_matches_exactly_or_truncated(#[case] wanted: &str, #[case] found: &str, #[case] matches: bool) {
        assert_eq!(Name::dns_label(wanted.to_owned()).matches(found), matches);
    }

    #[rstest::rstest]
    #[case::object(Name::object, true, true)]
    #[case::label(Name::label, true, false)]
    #[case::dns_label(Name::dns_label, false, false)]
    fn names_differ_in_dots_and_in_length(
        #[case] name: fn(String) -> Name,
        #[case] may_have_dots: bool,
        #[case] may_be_long: bool,
    ) {
        assert_eq!(name("w.x".to_owned()).is_exact(), may_have_dots);
        assert_eq!(name("p".repeat(64)).is_exact(), may_be_long);
        assert!(name("p".repeat(63)).is_exact() && !name("p".repeat(254)).is_exact());
    }
}
