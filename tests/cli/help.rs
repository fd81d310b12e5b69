use crate::{Cli, stderr, stdout};

#[test]
fn help_is_whole() {
    insta::assert_snapshot!(stdout(&Cli::new().run(&["--help"])));
    insta::assert_snapshot!(stdout(&Cli::new().run(&["run", "--help"])));
}

/// Compares only the first lines, because the rest is the help text, which has its own snapshots.
#[rstest::rstest]
#[case::bash("completions_of_bash", &["completions", "bash"])]
#[case::man("manual_page", &["man"])]
fn shells_and_man_get_the_command_line(#[case] name: &str, #[case] args: &[&str]) {
    let output = Cli::new().run(args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let first: Vec<_> = stdout(&output).lines().take(20).map(str::to_owned).collect();
    insta::assert_snapshot!(name, first.join("\n"));
}

#[test]
fn every_visible_verb_has_a_manual_page() {
    let cli = Cli::new();
    let output = cli.run(&["man", "--dir", "man1"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let mut pages: Vec<_> = std::fs::read_dir(cli.home.path().join("man1"))
        .expect("the folder was made")
        .map(|entry| entry.expect("it can be read").file_name().into_string().expect("names are UTF-8"))
        .collect();
    pages.sort();
    insta::assert_snapshot!(pages.join("\n"));
}

/// An archive of the sources has no .git, and a machine may have no git.
#[test]
fn the_version_needs_no_git() {
    let output = Cli::new().command(&["--version"]).env("PATH", "").output().expect("the program runs");
    assert_eq!(stdout(&output).trim(), concat!("grove-conformance ", env!("CARGO_PKG_VERSION")));
}
