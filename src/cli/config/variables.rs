//! Rejects unknown environment variables with the suite's prefix, because they would have no effect.

use crate::{Failure, unknown};

const PREFIX: &str = "GROVE_CONFORMANCE_";

/// docs/configuration.md describes the variables in the same order.
const VARIABLES: [&str; 11] = [
    "GROVE_CONFORMANCE_CACHE",
    "GROVE_CONFORMANCE_STATE",
    "GROVE_CONFORMANCE_KAI_DIR",
    "GROVE_CONFORMANCE_RUN",
    "GROVE_CONFORMANCE_CONTRACT_URL",
    "GROVE_CONFORMANCE_KIND",
    "GROVE_CONFORMANCE_KAI_SOURCE",
    "GROVE_CONFORMANCE_FLAKY",
    "GROVE_CONFORMANCE_PASSED",
    "GROVE_CONFORMANCE_REPORT",
    "GROVE_CONFORMANCE_CODES",
];

pub(crate) fn check(names: impl Iterator<Item = String>) -> Result<(), Failure> {
    let is_unknown = |name: &String| name.starts_with(PREFIX) && !VARIABLES.contains(&name.as_str());
    match names.into_iter().find(is_unknown) {
        None => Ok(()),
        Some(name) => Err(unknown::name("environment variable", &name, &VARIABLES, "")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(&["PATH", "GROVE_CONFORMANCE_STATE"], None)]
    #[case(&["GROVE_CONFORMANCE_KAI_DIR", "GROVE_OTHER"], None)]
    #[case(&["PATH", "GROVE_CONFORMANCE_CACH"], Some(r#"did you mean "GROVE_CONFORMANCE_CACHE"?"#))]
    fn an_unknown_variable_with_the_prefix_is_rejected(
        #[case] names: &[&str],
        #[case] expected: Option<&str>,
    ) {
        let checked = check(names.iter().map(|name| (*name).to_owned()));
        match expected {
            None => assert!(checked.is_ok()),
            Some(text) => assert!(checked.unwrap_err().to_string().contains(text)),
        }
    }

    #[test]
    fn the_documentation_lists_every_variable() {
        let page = include_str!("../../../docs/configuration.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split(['`', '=']).next());
        let listed: Vec<_> = rows.filter(|name| name.starts_with(PREFIX)).collect();
        assert_eq!(listed, VARIABLES);
    }
}
