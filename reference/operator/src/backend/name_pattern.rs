//! Compares patterns of names that contain replica indexes, such as `<pcs>-<i>-<clique>`. Two patterns
//! conflict if they match one name, at any index: scaling out must never create a second object of that name.

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Index,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NamePattern(Vec<Part>);

impl NamePattern {
    pub(crate) fn of(name: &str) -> Self {
        Self::default().name(name)
    }

    #[must_use]
    pub(crate) fn name(mut self, name: &str) -> Self {
        self.0.extend(name.split('-').map(|part| Part::Text(part.to_owned())));
        self
    }

    #[must_use]
    pub(crate) fn index(mut self) -> Self {
        self.0.push(Part::Index);
        self
    }

    pub(crate) fn common_name(&self, other: &Self) -> Option<String> {
        if self.0.len() != other.0.len() {
            return None;
        }
        let parts = self.0.iter().zip(&other.0).map(|(one, other)| common_part(one, other));
        parts.collect::<Option<Vec<_>>>().map(|parts| parts.join("-"))
    }
}

fn common_part<'a>(one: &'a Part, other: &'a Part) -> Option<&'a str> {
    match (one, other) {
        (Part::Index, Part::Index) => Some("0"),
        (Part::Text(text), Part::Index) | (Part::Index, Part::Text(text)) => {
            is_index(text).then_some(text.as_str())
        }
        (Part::Text(one), Part::Text(other)) => (one == other).then_some(one.as_str()),
    }
}

/// Accepts `0` and `12`, but neither `00` nor `a1`.
fn is_index(text: &str) -> bool {
    text.parse::<i32>().is_ok_and(|index| index >= 0 && index.to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In `text`, `#` stands for an index.
    fn pattern(text: &str) -> NamePattern {
        let mut pattern = NamePattern::default();
        for part in text.split('-') {
            pattern = if part == "#" { pattern.index() } else { pattern.name(part) };
        }
        pattern
    }

    #[rstest::rstest]
    #[case("s-#-w-0-x", "s-#-w-#-x", Some("s-0-w-0-x"))]
    #[case("s-#-w-12-x", "s-#-w-#-x", Some("s-0-w-12-x"))]
    #[case("s-#-w-#-1-x", "s-#-w-0-#-x", Some("s-0-w-0-1-x"))]
    #[case("a-#-0-x", "a-0-#-x", Some("a-0-0-x"))]
    #[case("s-#-w-00-x", "s-#-w-#-x", None)]
    #[case("s-#-w--x", "s-#-w-#-x", None)]
    #[case("s-#-w-99999999999-x", "s-#-w-#-x", None)]
    #[case("s-#-w-0", "s-#-w-#-x", None)]
    #[case("s-#-w-x-0", "s-#-w-#-x", None)]
    #[case("s-#-w", "s-#-v", None)]
    fn two_patterns_have_a_common_name(#[case] one: &str, #[case] other: &str, #[case] name: Option<&str>) {
        let (one, other) = (pattern(one), pattern(other));
        assert_eq!(one.common_name(&other).as_deref(), name);
        assert_eq!(other.common_name(&one).as_deref(), name);
    }
}
