use crate::{Cli, assert_fails, stderr, stdout};

pub(crate) fn kubeconfig(server: &str) -> String {
    kubeconfig_named("c", server)
}

fn kubeconfig_named(name: &str, server: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: {name}\nclusters: [{{name: {name}, cluster: {{server: '{server}'}}}}]\n\
         contexts: [{{name: {name}, context: {{cluster: {name}, user: u}}}}]\nusers: [{{name: u, user: {{}}}}]\n"
    )
}

/// Nothing listens on the ports of the servers, so the error names the server.
#[rstest::rstest]
#[case::default_file(None, &[], "http://127.0.0.1:1/")]
#[case::variable(Some("second"), &[], "http://127.0.0.1:2/")]
#[case::first_file_of_variable(Some("second:third"), &[], "http://127.0.0.1:2/")]
#[case::context_of_another_file(Some("second:third"), &["--context", "third"], "http://127.0.0.1:3/")]
#[case::option(Some("second"), &["--kubeconfig", "third"], "http://127.0.0.1:3/")]
fn a_kubeconfig_is_found_as_by_kubectl(
    #[case] variable: Option<&str>,
    #[case] options: &[&str],
    #[case] server: &str,
) {
    let cli = Cli::new();
    std::fs::create_dir(cli.home.path().join(".kube")).expect("a folder can be made");
    for (file, name, port) in [(".kube/config", "first", 1), ("second", "second", 2), ("third", "third", 3)] {
        cli.file(file, &kubeconfig_named(name, &format!("http://127.0.0.1:{port}")));
    }
    let run = ["run", "--provider", "existing", "--operator", "existing"];
    let mut command = cli.command(&[&run[..], options].concat());
    command.env("HOME", cli.home.path());
    if let Some(files) = variable {
        command.env("KUBECONFIG", files);
    }
    let output = command.output().expect("the program runs");
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains(&format!("{server} does not answer")), "{}", stderr(&output));
}

#[test]
fn a_missing_kubeconfig_is_a_usage_error() {
    let cli = Cli::new();
    let mut command = cli.command(&["run", "--provider", "existing"]);
    command.env("HOME", cli.home.path()).env_remove("KUBERNETES_SERVICE_HOST");
    let output = command.output().expect("the program runs");
    assert_fails(&output, 2, &["unless it runs in a pod of the cluster"]);
}

#[rstest::rstest]
#[case::no_yaml("clusters: [", "kubeconfig")]
#[case::nothing("", "kubeconfig")]
#[case::no_such_context("apiVersion: v1\nkind: Config\ncurrent-context: c\n", "c")]
fn an_unusable_kubeconfig_is_a_usage_error(#[case] text: &str, #[case] expected: &str) {
    let cli = Cli::new();
    let file = cli.file("kubeconfig", text);
    for verb in [&["run", "--provider", "existing"][..], &["clean"]] {
        let output = cli.run(&[verb, &["--kubeconfig", &file]].concat());
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(&file) && stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

#[test]
fn an_unreachable_cluster_is_an_error_and_leaves_no_report() {
    let cli = Cli::new();
    // The listener is dropped, so nothing listens on the port.
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
    let server = format!("http://127.0.0.1:{port}");
    let file = cli.file("kubeconfig", &kubeconfig(&server));
    let output = cli.run(&["run", "--provider", "existing", "--kubeconfig", &file, "--operator", "existing"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let said = stderr(&output);
    assert!([&*server, &*file, "does not answer"].iter().all(|words| said.contains(words)), "{said}");
    assert!(!cli.home.path().join("conformance-report/report.yaml").exists());
}

#[test]
fn a_failed_log_write_does_not_change_the_exit_code() {
    let cli = Cli::new();
    let file = cli.file("kubeconfig", &kubeconfig("http://127.0.0.1:1"));
    let full = || std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
    let mut command = cli.command(&["run", "--provider", "existing", "--kubeconfig", &file]);
    let status =
        command.env("RUST_LOG", "trace").stdout(full()).stderr(full()).status().expect("the program runs");
    assert_eq!(status.code(), Some(3));
}

/// Starts an API server that serves only Kubernetes' core group, knows the user, and permits nothing.
fn forbidding_api_server() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let server = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    server
}

fn answer(stream: std::net::TcpStream) {
    use std::io::{BufRead, BufReader, Read, Write};
    let mut reader = BufReader::new(stream);
    loop {
        let (mut line, mut length) = (String::new(), 0);
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        loop {
            let mut header = String::new();
            if reader.read_line(&mut header).unwrap_or(0) <= 2 {
                break;
            }
            if let Some(found) = header.to_ascii_lowercase().strip_prefix("content-length:") {
                length = found.trim().parse().unwrap_or(0);
            }
        }
        let mut sent = vec![0; length];
        let _ = reader.read_exact(&mut sent);
        let body = match path.as_str() {
            "/version" => {
                r#"{"major":"1","minor":"36","gitVersion":"v1.36.0","gitCommit":"","gitTreeState":"","buildDate":"","goVersion":"","compiler":"","platform":""}"#.to_owned()
            }
            "/api" => r#"{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[]}"#.to_owned(),
            "/apis" => r#"{"kind":"APIGroupList","groups":[]}"#.to_owned(),
            "/api/v1" => r#"{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","singularName":"","namespaced":true,"kind":"Pod","verbs":["list","watch"]}]}"#.to_owned(),
            // A permission review without a status permits nothing.
            _ => String::from_utf8_lossy(&sent).into_owned(),
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        if reader.get_mut().write_all(format!("{head}{body}").as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn missing_permissions_are_reported_before_any_case() {
    let cli = Cli::new();
    let file = cli.file("kubeconfig", &kubeconfig(&forbidding_api_server()));
    let output = cli.run(&["run", "--provider", "existing", "--kubeconfig", &file, "--operator", "existing"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(
        ["may not", "watch pods", "create namespaces"].iter().all(|words| said.contains(words)),
        "{said}"
    );
    assert!(!cli.home.path().join("conformance-report/report.yaml").exists());
}

#[test]
fn a_plan_lists_missing_permissions_and_creates_nothing() {
    let cli = Cli::new();
    let file = cli.file("kubeconfig", &kubeconfig(&forbidding_api_server()));
    let run = ["run", "--plan", "--provider", "existing", "--kubeconfig", &file, "--operator", "existing"];
    let output = cli.run(&run);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let said = stdout(&output);
    for expected in
        ["Nothing was created", "create: ", "MISSING: ", "watch pods", "create namespaces", "NoSchedule"]
    {
        assert!(said.contains(expected), "{expected}: {said}{}", stderr(&output));
    }
    assert!(!cli.home.path().join("conformance-report").exists());
}
