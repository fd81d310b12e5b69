/// Repositories with cited files: alias, owner and name, and the cited commit.
const REPOSITORIES: [(&str, &str, &str); 2] = [
    ("grove", "ai-dynamo/grove", "fcc3b3bbbc5e6a2a797cd080bdbc6983b1ccec24"),
    ("kai", "kai-scheduler/KAI-Scheduler", "d5bc503a146317e51037d89775d77172c6d12f71"),
];

const TRACKERS: [(&str, &str); 6] = [
    ("grove", "ai-dynamo/grove"),
    ("kai", "kai-scheduler/KAI-Scheduler"),
    ("trainer", "kubeflow/trainer"),
    ("volcano", "volcano-sh/volcano"),
    ("koordinator", "koordinator-sh/koordinator"),
    ("kubernetes", "kubernetes/kubernetes"),
];

/// A file of a repository at a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CitedFile<'a> {
    /// Owner and name on GitHub.
    pub repository: &'static str,
    /// The commit hash.
    pub commit: &'static str,
    /// Path in the repository.
    pub path: &'a str,
    /// The first and the last cited line.
    pub lines: (usize, usize),
}

/// A file (`grove:docs/installation.md#L3-L5`), an issue (`grove#209`), a `KEP-4671`, or a web address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source<'a>(pub &'a str);

impl<'a> Source<'a> {
    /// Returns the cited lines if the source is a file.
    pub fn file(self) -> Option<CitedFile<'a>> {
        let (alias, place) = self.0.split_once(':')?;
        let (_, repository, commit) = REPOSITORIES.into_iter().find(|(known, ..)| *known == alias)?;
        let (path, lines) = place.split_once("#L")?;
        let (first, last) = lines.split_once("-L").unwrap_or((lines, lines));
        let lines = (first.parse().ok()?, last.parse().ok()?);
        Some(CitedFile { repository, commit, path, lines })
    }

    /// Returns the web address, or `None` for an unknown repository.
    pub fn address(self) -> Option<String> {
        if let Some(CitedFile { repository, commit, path, lines: (first, last) }) = self.file() {
            let lines = if first == last { format!("L{first}") } else { format!("L{first}-L{last}") };
            return Some(format!("https://github.com/{repository}/blob/{commit}/{path}#{lines}"));
        }
        if self.0.starts_with("https://") {
            return Some(self.0.to_owned());
        }
        let is_number = |number: &str| number.parse::<u32>().is_ok();
        if let Some(number) = self.0.strip_prefix("KEP-").filter(|number| is_number(number)) {
            return Some(format!("https://github.com/kubernetes/enhancements/issues/{number}"));
        }
        let (alias, number) = self.0.split_once('#').filter(|(_, number)| is_number(number))?;
        let (_, repository) = TRACKERS.into_iter().find(|(known, _)| *known == alias)?;
        Some(format!("https://github.com/{repository}/issues/{number}"))
    }

    /// Returns the link text: folder, name and first cited line of a file; any other source as written.
    pub fn name(self) -> String {
        match self.file() {
            Some(file) => {
                let mut end: Vec<_> = file.path.rsplit('/').take(2).collect();
                end.reverse();
                format!("{}:{}", end.join("/"), file.lines.0)
            }
            None => self.0.trim_start_matches("https://").to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("grove#209", "https://github.com/ai-dynamo/grove/issues/209")]
    #[case("KEP-4671", "https://github.com/kubernetes/enhancements/issues/4671")]
    #[case("https://example.com/a", "https://example.com/a")]
    #[case(
        "grove:docs/a.md#L3-L5",
        "https://github.com/ai-dynamo/grove/blob/fcc3b3bbbc5e6a2a797cd080bdbc6983b1ccec24/docs/a.md#L3-L5"
    )]
    fn a_source_has_an_address(#[case] source: &'static str, #[case] address: &str) {
        assert_eq!(Source(source).address().as_deref(), Some(address));
    }

    #[rstest::rstest]
    #[case("GROVE GS1")]
    #[case("OWN")]
    #[case("grove:docs/a.md")]
    #[case("grove#one")]
    #[case("elsewhere#1")]
    fn an_unknown_source_has_no_address(#[case] source: &'static str) {
        assert_eq!(Source(source).address(), None);
    }

    #[test]
    fn the_link_text_of_a_file_is_its_folder_name_and_line() {
        assert_eq!(Source("grove:docs/user-guide/a.md#L3-L5").name(), "user-guide/a.md:3");
        assert_eq!(Source("grove#209").name(), "grove#209");
    }
}
