//! The values of `--operator` and `--upgrade-from`: `upstream=DIR` has a built-in description.

use std::path::{Path, PathBuf};

use super::error::OperatorError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Recipe {
    pub path: &'static str,
    pub description: &'static str,
    pub declaration: (&'static str, &'static str),
}

pub(super) const UPSTREAM: Recipe = Recipe {
    path: "operators/upstream-grove.yaml",
    description: include_str!("../../../operators/upstream-grove.yaml"),
    declaration: (
        "operators/upstream-grove.declaration.yaml",
        include_str!("../../../operators/upstream-grove.declaration.yaml"),
    ),
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    Of(Recipe, PathBuf),
    File(PathBuf),
}

impl Word {
    pub(super) fn parse(word: &str) -> Result<Self, OperatorError> {
        let wrong = |reason: &str| OperatorError::Word { word: word.into(), reason: reason.into() };
        match (word.split_once('='), word.split_once(':')) {
            (Some(("upstream", "")), _) => Err(wrong("no folder is given")),
            (Some(("upstream", dir)), _) => Ok(Self::Of(UPSTREAM, dir.into())),
            (_, Some(("exec", ""))) => Err(wrong("no file is given")),
            (_, Some(("exec", file))) => Ok(Self::File(file.into())),
            _ => Err(wrong("unknown kind of operator")),
        }
    }

    pub(super) fn absolute(&self) -> String {
        let absolute =
            |path: &Path| path.canonicalize().unwrap_or_else(|_| path.into()).display().to_string();
        match self {
            Self::Of(_, dir) => format!("upstream={}", absolute(dir)),
            Self::File(file) => format!("exec:{}", absolute(file)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("upstream=/src/grove", Word::Of(UPSTREAM, "/src/grove".into()))]
    #[case("upstream=a:b=c", Word::Of(UPSTREAM, "a:b=c".into()))]
    #[case("exec:op.yaml", Word::File("op.yaml".into()))]
    #[case("exec:a=b.yaml", Word::File("a=b.yaml".into()))]
    fn a_value_selects_a_recipe_or_a_file(#[case] word: &str, #[case] expected: Word) {
        assert_eq!(Word::parse(word).unwrap(), expected);
    }

    #[rstest::rstest]
    #[case("upstream", "unknown kind of operator")]
    #[case("upstream=", "no folder is given")]
    #[case("exec:", "no file is given")]
    #[case("", "unknown kind of operator")]
    #[case("Upstream=x", "unknown kind of operator")]
    fn a_value_that_names_no_operator_is_rejected(#[case] word: &str, #[case] reason: &str) {
        let error = Word::parse(word).unwrap_err().to_string();
        assert!(error.contains(reason) && error.contains("expected upstream=DIR"), "{error}");
    }
}
