use conformance_contract::renamed_cases;
use conformance_run::suites;

use super::Failure;

pub(crate) fn case(word: &str) -> Failure {
    let current = renamed_cases::current(word);
    if current != word {
        return Failure::Usage(format!("unknown case {word:?}: it is now called {current:?}"));
    }
    let all: Vec<_> = suites::cases().flat_map(|case| [case.id, case.group()]).collect();
    name("case", word, &all, "`grove-conformance list` shows them all")
}

pub(crate) fn name(what: &str, word: &str, all: &[&str], advice: &str) -> Failure {
    let nearest =
        all.iter().max_by(|a, b| strsim::jaro_winkler(a, word).total_cmp(&strsim::jaro_winkler(b, word)));
    let mut text = format!("unknown {what} {word:?}");
    if let Some(nearest) = nearest {
        text.push_str(&format!("; did you mean {nearest:?}?"));
    }
    if !advice.is_empty() {
        text.push_str(&format!(" {advice}"));
    }
    Failure::Usage(text)
}
