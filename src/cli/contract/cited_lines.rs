//! Checks in clones of the cited repositories that every cited file has the cited lines.

use std::path::{Path, PathBuf};
use std::process::Command;

use conformance_contract::clauses::{CLAUSES, CitedFile};
use conformance_report::Exit;

use crate::{Failure, output};

pub(crate) fn check(clones: &[PathBuf]) -> Result<Exit, Failure> {
    let cited = || {
        CLAUSES.iter().flat_map(|clause| {
            clause.sources.iter().filter_map(move |source| Some((clause.id, source.0, source.file()?)))
        })
    };
    let mut missing = 0;
    for (id, source, file) in cited() {
        let Some(text) = read(clones, file)? else {
            output::data(&format!("{id}: {source}: no such file"));
            missing += 1;
            continue;
        };
        if !has_lines(&text, file.lines) {
            output::data(&format!("{id}: {source}: no such line, or an empty one"));
            missing += 1;
        }
    }
    let count = cited().count();
    if missing > 0 {
        return Err(Failure::Infrastructure(format!("{missing} of {count} cited places are missing")));
    }
    output::data(&format!("{count} cited places exist"));
    Ok(Exit::Conformant)
}

fn has_lines(text: &str, (first, last): (usize, usize)) -> bool {
    let has = |number: usize| {
        number > 0 && text.lines().nth(number - 1).is_some_and(|line| !line.trim().is_empty())
    };
    first <= last && has(first) && has(last)
}

/// `None` if the commit does not have the file.
fn read(clones: &[PathBuf], file: CitedFile<'_>) -> Result<Option<String>, Failure> {
    let CitedFile { repository, commit, path, .. } = file;
    for clone in clones {
        if git(clone, &["cat-file", "-e", &format!("{commit}^{{commit}}")])?.is_some() {
            return git(clone, &["show", &format!("{commit}:{path}")]);
        }
    }
    Err(Failure::Usage(format!("no clone has commit {commit} of {repository}: clone the repository")))
}

/// `None` if git fails.
fn git(clone: &Path, args: &[&str]) -> Result<Option<String>, Failure> {
    let output = Command::new("git")
        .arg("-C")
        .arg(clone)
        .args(args)
        .output()
        .map_err(|error| Failure::Usage(format!("cannot run git in {}: {error}", clone.display())))?;
    Ok(output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case((1, 3), true)]
    #[case((2, 2), false)]
    #[case((3, 4), false)]
    #[case((3, 1), false)]
    #[case((0, 1), false)]
    fn cited_lines_must_exist_and_not_be_empty(#[case] lines: (usize, usize), #[case] exist: bool) {
        assert_eq!(has_lines("one\n\nthree\n", lines), exist);
    }
}
