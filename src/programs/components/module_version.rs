use std::str::FromStr;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleVersion {
    numbers: [u64; 3],
    /// The text after the numbers, such as `-alpha.1` or `+incompatible`.
    suffix: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a version such as 1.37.2 or 1.38.0-alpha.1")]
pub struct NoVersion;

impl ModuleVersion {
    /// Returns the major and minor version, such as `1.37`.
    pub fn minor(&self) -> String {
        let [major, minor, _] = self.numbers;
        format!("{major}.{minor}")
    }

    pub fn is_release(&self) -> bool {
        !self.suffix.starts_with('-')
    }

    /// Whether this version is newer. Two pre-releases of the same release are not ordered.
    pub fn is_newer_than(&self, other: &Self) -> bool {
        (self.numbers, self.is_release()) > (other.numbers, other.is_release())
    }
}

impl FromStr for ModuleVersion {
    type Err = NoVersion;

    fn from_str(text: &str) -> Result<Self, NoVersion> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let (numbers, suffix) = text.split_at(text.find(['-', '+']).unwrap_or(text.len()));
        let numbers: Vec<u64> = numbers.split('.').map(number).collect::<Option<_>>().ok_or(NoVersion)?;
        let numbers = <[u64; 3]>::try_from(numbers).map_err(|_| NoVersion)?;
        // Restrict the characters, because the version becomes a part of paths and of arguments of Go.
        let is_plain = suffix.chars().all(|c| c.is_ascii_alphanumeric() || ['-', '+', '.'].contains(&c));
        if suffix.len() == 1 || !is_plain {
            return Err(NoVersion);
        }
        Ok(Self { numbers, suffix: suffix.to_owned() })
    }
}

impl std::fmt::Display for ModuleVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { numbers: [major, minor, patch], suffix } = self;
        write!(f, "v{major}.{minor}.{patch}{suffix}")
    }
}

fn number(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> ModuleVersion {
        text.parse().unwrap()
    }

    #[rstest::rstest]
    #[case("1.37.2", "v1.37.2", "1.37", true)]
    #[case("v1.37.2", "v1.37.2", "1.37", true)]
    #[case("v1.38.0-alpha.1", "v1.38.0-alpha.1", "1.38", false)]
    #[case("2.8.2+incompatible", "v2.8.2+incompatible", "2.8", true)]
    fn a_version_has_one_spelling(
        #[case] text: &str,
        #[case] spelling: &str,
        #[case] minor: &str,
        #[case] is_release: bool,
    ) {
        let found = version(text);
        assert_eq!(found.to_string(), spelling);
        assert_eq!((found.minor().as_str(), found.is_release()), (minor, is_release));
    }

    #[rstest::rstest]
    #[case("")]
    #[case("latest")]
    #[case("1.37")]
    #[case("1.37.2.1")]
    #[case("1.+37.2")]
    #[case("1.037.2")]
    #[case("1.37.2-")]
    #[case("1.37.2-a/../b")]
    #[case("1.37.2-a b")]
    fn text_that_is_not_a_version_is_rejected(#[case] text: &str) {
        assert_eq!(text.parse::<ModuleVersion>(), Err(NoVersion));
    }

    #[rstest::rstest]
    #[case("1.37.10", "1.37.9", true)]
    #[case("1.37.2", "1.37.2", false)]
    #[case("1.37.1", "1.37.2", false)]
    #[case("0.35.4", "0.35.4-devel", true)]
    #[case("0.35.4-devel", "0.35.4", false)]
    #[case("1.38.0-alpha.2", "1.38.0-alpha.1", false)]
    fn versions_are_compared_by_their_numbers(
        #[case] one: &str,
        #[case] other: &str,
        #[case] is_newer: bool,
    ) {
        assert_eq!(version(one).is_newer_than(&version(other)), is_newer);
    }
}
