//! Former spellings are usage errors that print the current spelling.

/// Former and current names of subcommands.
const VERBS: &[(&str, &str)] = &[
    ("up", "cluster create"),
    ("down", "cluster delete"),
    ("status", "cluster list"),
    ("mutants", "dev mutants"),
    ("soak", "dev soak"),
    ("bench", "dev bench"),
    ("components", "dev components"),
    ("image", "dev image"),
    ("contract check-sources", "dev contract-sources"),
];

struct FormerOption {
    /// The subcommands that had the option, by their current names.
    commands: &'static [&'static str],
    former: &'static str,
    /// Placeholder of the value. `None` if the option has no value.
    value: Option<&'static str>,
    /// The current spelling. `{command}` is the subcommand and `{}` the value. `{name}` and `{source}` are
    /// the parts of a value with an equals sign.
    current: &'static str,
}

const fn option(
    commands: &'static [&'static str],
    former: &'static str,
    value: Option<&'static str>,
    current: &'static str,
) -> FormerOption {
    FormerOption { commands, former, value, current }
}

const RUNS: &[&str] = &["run", "dev soak"];
const PROGRAMS: &[&str] =
    &["run", "dev soak", "dev mutants", "dev components", "dev bench", "cluster create"];

const OPTIONS: &[FormerOption] = &[
    option(RUNS, "--case", Some("ID"), "{command} {}"),
    option(RUNS, "--clause", Some("ID"), "{command} {}"),
    option(RUNS, "--tier", Some("CLASS"), "{command} --class {}"),
    option(
        &["run", "dev soak", "dev mutants", "report merge", "report fetch"],
        "--report-dir",
        Some("DIR"),
        "{command} --output {}",
    ),
    option(RUNS, "--every-scope", None, "{command} --depth full"),
    option(RUNS, "--every-crash-point", None, "{command} --depth full"),
    option(RUNS, "--gang-timeouts", None, "{command} --depth full"),
    option(RUNS, "--features", Some("A,B"), "{command} --set target.features={}"),
    option(RUNS, "--probe-undeclared", None, "{command} --set operator.probeUndeclared=true"),
    option(RUNS, "--declares", Some("FILE"), "{command} --set operator.declaration={}"),
    option(&["cluster create"], "--declares", Some("FILE"), "{command} --declaration {}"),
    option(RUNS, "--operator-name", Some("NAME"), "{command} --set operator.name={}"),
    option(RUNS, "--operator-version", Some("VERSION"), "{command} --set operator.version={}"),
    option(RUNS, "--node-image", Some("IMAGE"), "{command} --set cluster.nodeImage={}"),
    option(RUNS, "--kind-config", Some("FILE"), "{command} --set cluster.kindConfig={}"),
    option(RUNS, "--install", Some("helm"), "{command} --component NAME=chart:pinned"),
    option(RUNS, "--chart", Some("NAME=CHART"), "{command} --component {name}=chart:{source}"),
    option(RUNS, "--beside-foreign-workloads", None, "{command} --set cluster.allowForeignWorkloads=true"),
    option(RUNS, "--one-etcd", None, "{command} --set cluster.oneEtcd=true"),
    option(RUNS, "--keep", None, "{command} --set cluster.keep=true"),
    option(RUNS, "--concurrency", Some("N"), "{command} --set execution.concurrency={}"),
    option(RUNS, "--accept", Some("FILE"), "{command} --set output.accept={}"),
    option(RUNS, "--evidence", Some("FILE"), "{command} --set output.evidence={}"),
    option(PROGRAMS, "--bin", Some("NAME=PATH"), "{command} --component {}"),
    option(PROGRAMS, "--kai-dir", Some("DIR"), "{command} --component kai-scheduler={}"),
    option(PROGRAMS, "--kai-source", Some("DIR"), "{command} --component kai-scheduler=src:{}"),
    option(PROGRAMS, "--scheduler-source", Some("NAME=DIR"), "{command} --component {name}=src:{source}"),
    option(&["run"], "--trainer-dir", Some("DIR"), "trainjobs --component trainer-controller-manager={}"),
    option(
        &["run"],
        "--trainer-source",
        Some("DIR"),
        "trainjobs --component trainer-controller-manager=src:{}",
    ),
    option(&["run"], "--trainjob", None, "trainjobs"),
    option(&["run"], "--profile", Some("ai-conformance"), "{}"),
    option(&["run"], "--workload", Some("FILE"), "workload {}"),
    option(&["run"], "--nodes", Some("NODESxGPUS"), "workload FILE --nodes {}"),
    option(&["run"], "--generate", Some("N"), "fuzz --count {}"),
    option(&["run"], "--generated", Some("FILE"), "fuzz {}"),
    option(&["run"], "--scale", Some("NODESxGPUS"), "load --nodes {}"),
    option(&["run"], "--pods", Some("N"), "load --pods {}"),
    option(&["run"], "--update", None, "load --update"),
    option(&["run"], "--in-cluster", None, "job"),
    option(&["run"], "--image", Some("IMAGE"), "job --image {}"),
    option(&["run"], "--shards", Some("N"), "job --shards {}"),
    option(&["run"], "--store-results", None, "run --set pod.storeResults=true"),
    option(&["run"], "--run-id", Some("ID"), "GROVE_CONFORMANCE_RUN={} run"),
];

/// Returns an error for each former spelling: `--case aon/fits is now written: run aon/fits`.
pub(crate) fn messages(args: &[String]) -> Vec<String> {
    let words: Vec<_> = args.iter().map(String::as_str).take_while(|word| *word != "--").collect();
    let plain: Vec<_> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
    // With the final space, `starts_with` compares whole subcommands.
    let plain = format!("{} ", plain.join(" "));
    let begins_with = |verb: &str| plain.starts_with(&format!("{verb} "));
    let former = VERBS.iter().find(|(former, _)| begins_with(former));
    let of_verb = former.map(|(former, current)| format!("{former} is now written: {current}"));
    let is_command =
        |command: &&&str| begins_with(command) || former.is_some_and(|(_, current)| current == *command);
    let of_option = |(at, _): (usize, &&str)| {
        OPTIONS.iter().find_map(|option| {
            let command = option.commands.iter().find(is_command)?;
            option.message(command, &words[at..])
        })
    };
    of_verb.into_iter().chain(words.iter().enumerate().filter_map(of_option)).collect()
}

impl FormerOption {
    fn message(&self, command: &str, words: &[&str]) -> Option<String> {
        let (first, rest) = words.split_first()?;
        let attached = match first.strip_prefix(self.former)? {
            "" => None,
            text => Some(text.strip_prefix('=')?),
        };
        let value = self.value.map(|placeholder| attached.or(rest.first().copied()).unwrap_or(placeholder));
        let current = self.current(command, value.unwrap_or_default());
        let written =
            value.map_or_else(|| self.former.to_owned(), |value| format!("{} {value}", self.former));
        Some(format!("{written} is now written: {current}"))
    }

    fn current(&self, command: &str, value: &str) -> String {
        let (name, source) = value.split_once('=').unwrap_or((value, value));
        let line = self.current.replace("{command}", command).replace("{name}", name);
        line.replace("{source}", source).replace("{}", value)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use clap::error::ErrorKind;

    use super::*;
    use crate::args::Cli;

    fn completed(line: &str) -> Vec<String> {
        let required: &[(&str, &str, &str)] = &[
            ("dev soak", "--runs", "--runs=2"),
            ("dev components", "list", "list"),
            ("cluster create", " dev", "dev"),
            ("cluster create", "--operator", "--operator=existing"),
            ("report merge", "report.yaml", "report.yaml"),
            ("workload", "--nodes", "--nodes=8x8"),
            ("load", "--nodes", "--nodes=8x8"),
            ("load", "--pods", "--pods=10"),
            ("job", "--image", "--image=suite:1"),
        ];
        let mut line = line.to_owned();
        for (command, option, text) in required {
            if line.starts_with(command) && !line.contains(option) {
                line = format!("{line} {text}");
            }
        }
        line.split_whitespace().filter(|word| !word.starts_with("GROVE_")).map(str::to_owned).collect()
    }

    fn parsed(words: &[String]) -> Result<Cli, clap::Error> {
        let program = "grove-conformance".to_owned();
        Cli::try_parse_from(std::iter::once(&program).chain(words))
    }

    fn example(placeholder: &str) -> &str {
        match placeholder {
            "N" => "5",
            "CLASS" => "agnostic",
            "NODESxGPUS" => "8x8",
            "NAME=PATH" | "NAME=DIR" | "NAME=CHART" => "volcano=../volcano",
            other => other,
        }
    }

    #[test]
    fn a_former_option_is_unknown_and_its_current_spelling_is_accepted() {
        for option in OPTIONS {
            let value = option.value.map(example).unwrap_or_default();
            for command in option.commands {
                let former = completed(&format!("{command} {} {value}", option.former));
                let error = parsed(&former).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::UnknownArgument, "{former:?}: {error}");
                let current = option.current(command, value);
                let line = completed(&current);
                assert!(parsed(&line).is_ok(), "{line:?}: {}", parsed(&line).unwrap_err());
                let messages = messages(&former).join("\n");
                assert!(messages.ends_with(&format!(" is now written: {current}")), "{messages}");
            }
        }
    }

    #[test]
    fn a_former_subcommand_is_unknown_and_its_current_name_is_accepted() {
        for (former, current) in VERBS {
            let words: Vec<_> = former.split(' ').map(str::to_owned).collect();
            let error = parsed(&words).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidSubcommand, "{former}: {error}");
            assert_eq!(messages(&words), [format!("{former} is now written: {current}")]);
            let mut words = completed(current);
            words.push("--help".into());
            assert_eq!(parsed(&words).unwrap_err().kind(), ErrorKind::DisplayHelp, "{current}");
        }
    }

    #[rstest::rstest]
    #[case("run --case aon/one-pod-short", &["--case aon/one-pod-short is now written: run aon/one-pod-short"])]
    #[case("--verbose run --case=aon", &["--case aon is now written: run aon"])]
    #[case(
        "soak --runs 20 --case aon --clause TOPO-01",
        &[
            "soak is now written: dev soak",
            "--case aon is now written: dev soak aon",
            "--clause TOPO-01 is now written: dev soak TOPO-01"
        ]
    )]
    #[case(
        "run --workload w.yaml --nodes 8x8",
        &["--workload w.yaml is now written: workload w.yaml", "--nodes 8x8 is now written: workload FILE --nodes 8x8"]
    )]
    #[case("run --scheduler-source a=b", &["--scheduler-source a=b is now written: run --component a=src:b"])]
    #[case("up dev --bin=a=b", &["up is now written: cluster create", "--bin a=b is now written: cluster create --component a=b"])]
    #[case("report html --report-dir merged", &[])]
    #[case("workload w.yaml --nodes 8x8", &[])]
    #[case("run --case", &["--case ID is now written: run ID"])]
    #[case("run --cases aon", &[])]
    #[case("dev mutants --case aon", &[])]
    #[case("runs --case aon", &[])]
    #[case("run -- --case aon", &[])]
    fn a_message_has_the_value_of_the_option(#[case] args: &str, #[case] expected: &[&str]) {
        let args: Vec<_> = args.split(' ').map(str::to_owned).collect();
        assert_eq!(messages(&args), expected);
    }
}
