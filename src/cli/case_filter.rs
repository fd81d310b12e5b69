use conformance_contract::clauses::CLAUSES;
use conformance_driver::case::Case;
use conformance_run::suites;
use glob::Pattern;

use super::{Failure, unknown};

/// Selects cases: `aon/one-pod-short`, `aon`, `topo/*`, or those that judge a clause: `AON-02`, `AON-*`.
#[derive(Debug, Clone)]
pub(crate) struct CaseFilter {
    word: String,
    /// `None` if the word is not a glob.
    pattern: Option<Pattern>,
}

impl CaseFilter {
    pub(crate) fn parse(word: &str) -> Result<Self, Failure> {
        let is_glob = word.contains(['*', '?', '[']);
        let pattern = is_glob.then(|| Pattern::new(word)).transpose();
        let pattern =
            pattern.map_err(|error| Failure::Usage(format!("invalid glob {word:?}: {}", error.msg)))?;
        let filter = Self { word: word.to_owned(), pattern };
        if filter.names_anything() {
            return Ok(filter);
        }
        if is_glob {
            return Err(Failure::Usage(format!(
                "{word:?} matches no case and no clause: `grove-conformance list` shows them all"
            )));
        }
        Err(unknown_word(word))
    }

    pub(crate) fn parse_all(words: &[String]) -> Result<Vec<Self>, Failure> {
        words.iter().map(|word| Self::parse(word)).collect()
    }

    pub(crate) fn matches(&self, case: &Case) -> bool {
        self.is_of(case.id) || self.is_of(case.group()) || case.clauses.iter().any(|id| self.is_of(id))
    }

    fn is_of(&self, name: &str) -> bool {
        self.pattern.as_ref().map_or(self.word == name, |pattern| pattern.matches(name))
    }

    fn names_anything(&self) -> bool {
        suites::cases().any(|case| self.matches(case))
            || CLAUSES.iter().any(|clause| self.is_of(clause.id))
            || conformance_fuzz::case(&self.word).is_some_and(|case| case.id == self.word)
    }
}

/// Suggests the closest clause for a word that starts with a capital letter, and else the closest case.
fn unknown_word(word: &str) -> Failure {
    if !word.starts_with(|letter: char| letter.is_ascii_uppercase()) {
        return unknown::case(word);
    }
    let all: Vec<_> = CLAUSES.iter().map(|clause| clause.id).collect();
    unknown::name("clause", word, &all, "`grove-conformance contract list` shows them all")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(word: &str) -> Vec<&'static str> {
        let filter = CaseFilter::parse(word).unwrap();
        suites::cases().filter(|case| filter.matches(case)).map(|case| case.id).collect()
    }

    #[rstest::rstest]
    #[case("aon/one-pod-short", |case: &Case| case.id == "aon/one-pod-short")]
    #[case("topo", |case: &Case| case.group() == "topo")]
    #[case("topo/*", |case: &Case| case.group() == "topo")]
    #[case("t?po", |case: &Case| case.group() == "topo")]
    #[case("*/controller-killed", |case: &Case| case.id.ends_with("/controller-killed"))]
    #[case("AON-02", |case: &Case| case.clauses.contains(&"AON-02"))]
    #[case("AON-*", |case: &Case| case.clauses.iter().any(|id| id.starts_with("AON-")))]
    #[case("*", |_: &Case| true)]
    fn a_word_matches_cases_by_id_group_glob_and_clause(
        #[case] word: &str,
        #[case] expected: fn(&Case) -> bool,
    ) {
        let expected: Vec<_> = suites::cases().filter(|case| expected(case)).map(|case| case.id).collect();
        assert!(!expected.is_empty());
        assert_eq!(matched(word), expected);
    }

    #[test]
    fn a_generated_case_is_known_by_its_id() {
        let filter = CaseFilter::parse("generated/7").unwrap();
        assert!(filter.matches(conformance_fuzz::case("generated/7").unwrap()));
    }

    #[rstest::rstest]
    #[case("aon/fits-whole", r#"unknown case "aon/fits-whole": it is now called "aon/exact-fit-bound""#)]
    #[case("aon/one-pod-shrt", r#"unknown case "aon/one-pod-shrt"; did you mean "aon/one-pod-short"?"#)]
    #[case("COEX-3", r#"unknown clause "COEX-3"; did you mean "COEX-03"?"#)]
    #[case("tpo/*", r#""tpo/*" matches no case and no clause"#)]
    #[case("aon/[", r#"invalid glob "aon/[""#)]
    fn a_word_that_names_nothing_is_rejected(#[case] word: &str, #[case] message: &str) {
        let failure = CaseFilter::parse(word).unwrap_err();
        assert!(failure.to_string().contains(message), "{failure}");
    }
}
