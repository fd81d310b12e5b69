//! The former spellings of options. Each is a usage error that prints the current spelling.

/// An option that is spelled in another way now.
struct RenamedOption {
    /// The subcommands that had the option.
    commands: &'static [&'static str],
    former: &'static str,
    /// The placeholder of its value, if it has one.
    value: Option<&'static str>,
    /// The words that replace it, with `{}` for the value.
    current: &'static str,
}

const RUNS: &[&str] = &["run", "soak"];

const RENAMED: &[RenamedOption] = &[
    RenamedOption { commands: RUNS, former: "--case", value: Some("ID"), current: "{}" },
    RenamedOption { commands: RUNS, former: "--clause", value: Some("ID"), current: "{}" },
    RenamedOption {
        commands: &["run", "soak", "mutants", "report merge", "report fetch"],
        former: "--report-dir",
        value: Some("DIR"),
        current: "--output {}",
    },
    RenamedOption { commands: RUNS, former: "--every-scope", value: None, current: "--depth full" },
    RenamedOption { commands: RUNS, former: "--every-crash-point", value: None, current: "--depth full" },
    RenamedOption { commands: RUNS, former: "--gang-timeouts", value: None, current: "--depth full" },
];

/// A line for each former option in these arguments, for example
/// `--case aon/one-pod-short is now written: run aon/one-pod-short`.
pub(crate) fn messages(args: &[String]) -> Vec<String> {
    let words: Vec<_> = args.iter().map(String::as_str).take_while(|word| *word != "--").collect();
    let plain: Vec<_> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
    // With a final space, so that a subcommand is compared as a whole.
    let plain = format!("{} ", plain.join(" "));
    let message = |(at, _): (usize, &&str)| {
        RENAMED.iter().find_map(|renamed| {
            let command =
                renamed.commands.iter().find(|command| plain.starts_with(&format!("{command} ")))?;
            renamed.message(command, &words[at..])
        })
    };
    words.iter().enumerate().filter_map(message).collect()
}

impl RenamedOption {
    /// The message if the first word is this option.
    fn message(&self, command: &str, words: &[&str]) -> Option<String> {
        let (first, rest) = words.split_first()?;
        let attached = match first.strip_prefix(self.former)? {
            "" => None,
            text => Some(text.strip_prefix('=')?),
        };
        let Self { former, current, .. } = self;
        let Some(placeholder) = self.value else {
            return Some(format!("{former} is now written: {command} {current}"));
        };
        let value = attached.or_else(|| rest.first().copied()).unwrap_or(placeholder);
        Some(format!("{former} {value} is now written: {command} {}", current.replace("{}", value)))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use clap::error::ErrorKind;

    use super::*;
    use crate::args::Cli;

    /// A subcommand, with the other arguments that it requires.
    fn line(command: &str, option: &str) -> Vec<String> {
        let required = match command {
            "soak" => "--runs=2",
            "report merge" => "report.yaml",
            _ => "",
        };
        format!("{command} {option} {required}").split_whitespace().map(str::to_owned).collect()
    }

    fn parsed(words: &[String]) -> Result<Cli, clap::Error> {
        let program = "grove-conformance".to_owned();
        Cli::try_parse_from(std::iter::once(&program).chain(words))
    }

    #[test]
    fn a_former_option_is_unknown_and_its_current_spelling_is_accepted() {
        for renamed in RENAMED {
            let value = renamed.value.unwrap_or_default();
            for command in renamed.commands {
                let former = line(command, &format!("{} {value}", renamed.former));
                let error = parsed(&former).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::UnknownArgument, "{former:?}: {error}");
                let current = line(command, &renamed.current.replace("{}", value));
                assert!(parsed(&current).is_ok(), "{current:?}");
                let current = renamed.current.replace("{}", value);
                let messages = messages(&former).join("\n");
                assert!(messages.ends_with(&format!(" is now written: {command} {current}")), "{messages}");
            }
        }
    }

    #[rstest::rstest]
    #[case("run --case aon/one-pod-short", &["--case aon/one-pod-short is now written: run aon/one-pod-short"])]
    #[case("--verbose run --case=aon", &["--case aon is now written: run aon"])]
    #[case(
        "soak --runs 20 --case aon --clause TOPO-01",
        &["--case aon is now written: soak aon", "--clause TOPO-01 is now written: soak TOPO-01"]
    )]
    #[case(
        "report merge a.yaml b.yaml --report-dir merged",
        &["--report-dir merged is now written: report merge --output merged"]
    )]
    #[case("report html --report-dir merged", &[])]
    #[case("run --every-scope aon", &["--every-scope is now written: run --depth full"])]
    #[case("run --case", &["--case ID is now written: run ID"])]
    #[case("run --cases aon", &[])]
    #[case("mutants --case aon", &[])]
    #[case("runs --case aon", &[])]
    #[case("run -- --case aon", &[])]
    fn a_message_has_the_value_of_the_option(#[case] args: &str, #[case] expected: &[&str]) {
        let args: Vec<_> = args.split(' ').map(str::to_owned).collect();
        assert_eq!(messages(&args), expected);
    }
}
