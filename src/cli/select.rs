//! From words to cases and targets. A word that means nothing is a usage error that names what comes nearest.

use super::Failure;
use crate::suite::case::Case;
use crate::suite::cases;
use crate::suite::clauses::CLAUSES;
use crate::suite::runner::Plan;
use crate::suite::target::{TARGETS, Target};

/// The word for every backend at once.
const ALL: &str = "all";

/// What `run` was asked for.
#[derive(Debug, Clone, Copy)]
pub struct Words<'a> {
    /// Backend.
    pub backend: &'a str,
    /// Gang scope.
    pub scope: Option<&'a str>,
    /// Case ids or groups.
    pub cases: &'a [String],
    /// Clause ids.
    pub clauses: &'a [String],
}

/// The plan that the words make.
///
/// # Errors
/// [`Failure::Usage`].
pub fn plan(words: Words<'_>) -> Result<Plan, Failure> {
    let targets = targets(words.backend, words.scope)?;
    for word in words.cases {
        let known = |case: &Case| case.id == word || case.group() == word;
        if !cases::all().any(known) {
            let all: Vec<_> = cases::all().flat_map(|case| [case.id, case.group()]).collect();
            return Err(unknown("case", word, &all, "`grove-conformance list` shows them all"));
        }
    }
    for word in words.clauses {
        if !CLAUSES.iter().any(|clause| clause.id == word) {
            let all: Vec<_> = CLAUSES.iter().map(|clause| clause.id).collect();
            return Err(unknown("clause", word, &all, "`grove-conformance list --clauses` shows them all"));
        }
    }
    let (chosen, left_out): (Vec<_>, Vec<_>) = cases::all().partition(|case| {
        let by_case =
            words.cases.is_empty() || words.cases.iter().any(|word| word == case.id || word == case.group());
        let by_clause =
            words.clauses.is_empty() || case.clauses.iter().any(|id| words.clauses.iter().any(|w| w == id));
        by_case && by_clause
    });
    if chosen.is_empty() {
        let what = [words.cases, words.clauses].concat().join(", ");
        return Err(Failure::Usage(format!(
            "no case is left by {what}: no chosen case judges the chosen clauses"
        )));
    }
    if !chosen.iter().any(|case: &&Case| targets.iter().any(|target| case.is_for(*target))) {
        let what = [words.cases, words.clauses].concat().join(", ");
        return Err(Failure::Usage(format!("{what}: nothing of it is for backend {}", words.backend)));
    }
    Ok(Plan { targets, chosen, left_out, clauses: CLAUSES.to_vec() })
}

/// The targets of a backend, or the one of a scope.
///
/// # Errors
/// [`Failure::Usage`].
pub fn targets(backend: &str, scope: Option<&str>) -> Result<Vec<Target>, Failure> {
    let is_meant = |target: &Target| backend == ALL || target.name() == backend;
    let of_backend: Vec<_> = TARGETS.into_iter().filter(is_meant).collect();
    if of_backend.is_empty() {
        let all: Vec<_> = TARGETS.iter().map(|target| target.name()).chain([ALL]).collect();
        return Err(unknown("backend", backend, &all, ""));
    }
    let Some(scope) = scope else { return Ok(of_backend) };
    let all: Vec<_> = of_backend.iter().filter_map(|target| target.scope()).collect();
    if all.is_empty() {
        return Err(Failure::Usage(format!(
            "backend {backend} has no gang scopes; --scope is default-scheduler's"
        )));
    }
    if !all.contains(&scope) {
        return Err(unknown("gang scope", scope, &all, ""));
    }
    // The other backends have no scope to choose.
    Ok(of_backend.into_iter().filter(|target| target.scope().is_none_or(|of| of == scope)).collect())
}

/// A usage error about a word, with the nearest one that exists.
pub fn unknown(what: &str, word: &str, all: &[&str], more: &str) -> Failure {
    let nearest =
        all.iter().max_by(|a, b| strsim::jaro_winkler(a, word).total_cmp(&strsim::jaro_winkler(b, word)));
    let mut text = format!("unknown {what} {word:?}");
    if let Some(nearest) = nearest {
        text.push_str(&format!("; did you mean {nearest:?}?"));
    }
    if !more.is_empty() {
        text.push_str(&format!(" {more}"));
    }
    Failure::Usage(text)
}

/// `NODESxGPUS`.
///
/// # Errors
/// [`Failure::Usage`].
pub fn nodes(word: &str) -> Result<(u32, u32), Failure> {
    let wrong =
        || Failure::Usage(format!("--nodes {word}: expected NODESxGPUS, e.g. 8x8 for 8 nodes of 8 GPUs"));
    let (count, gpus) = word.split_once('x').ok_or_else(wrong)?;
    match (count.parse(), gpus.parse()) {
        (Ok(count @ 1..=1000), Ok(gpus @ 0..=1000)) => Ok((count, gpus)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words<'a>(cases: &'a [String], clauses: &'a [String]) -> Words<'a> {
        Words { backend: "default-scheduler", scope: None, cases, clauses }
    }

    #[test]
    fn a_group_is_all_its_cases() {
        let plan = plan(words(&["aon".into()], &[])).unwrap();
        assert!(plan.chosen.iter().all(|case| case.id.starts_with("aon/")), "{:?}", plan.chosen);
        assert_eq!(plan.chosen.len() + plan.left_out.len(), cases::all().count());
    }

    #[test]
    fn a_clause_is_every_case_that_judges_it() {
        let plan = plan(words(&[], &["AON-02".into()])).unwrap();
        assert!(plan.chosen.iter().any(|case| case.id == "aon/one-pod-short"));
    }

    #[rstest::rstest]
    #[case(&["aon/one-pod-shrt"], &[], r#"unknown case "aon/one-pod-shrt"; did you mean "aon/one-pod-short"?"#)]
    #[case(&[], &["TOPO-3"], r#"unknown clause "TOPO-3"; did you mean "TOPO-03"?"#)]
    #[case(&["aon/one-pod-short"], &["ADM-01"], "no case is left by")]
    fn words_that_mean_nothing(#[case] cases: &[&str], #[case] clauses: &[&str], #[case] message: &str) {
        let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let failure = plan(words(&own(cases), &own(clauses))).unwrap_err();
        assert!(failure.to_string().contains(message), "{failure}");
    }

    #[rstest::rstest]
    #[case("8x8", Some((8, 8)))]
    #[case("3x0", Some((3, 0)))]
    #[case("0x8", None)]
    #[case("8", None)]
    #[case("ax8", None)]
    fn nodes_words(#[case] word: &str, #[case] expected: Option<(u32, u32)>) {
        assert_eq!(nodes(word).ok(), expected);
    }
}
