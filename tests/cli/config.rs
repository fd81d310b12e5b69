use crate::{Cli, assert_fails, stderr};

/// A misspelled variable would have no effect.
#[test]
fn an_unknown_environment_variable_is_a_usage_error() {
    let output =
        Cli::new().command(&["list"]).env("GROVE_CONFORMANCE_CASHE", "x").output().expect("the program runs");
    assert_fails(&output, 2, &["did you mean \"GROVE_CONFORMANCE_CACHE\"?"]);
}

/// The backend is unknown, so nothing is started.
#[test]
fn options_override_the_configuration_file() {
    let cli = Cli::new();
    let text =
        "apiVersion: conformance.grove.io/v1alpha1\nkind: ConformanceConfig\ntarget: {backend: first}\n";
    let file = cli.file("conformance.yaml", text);
    for (options, named) in [
        (&[][..], "first"),
        (&["--set", "target.backend=second"], "second"),
        (&["--backend", "third"], "third"),
    ] {
        let output = cli.run(&[&["run", "-f", &file], options].concat());
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(&format!("unknown backend {named:?}")), "{}", stderr(&output));
    }
}
