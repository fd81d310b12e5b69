use crate::own_cluster::kubeconfig;
use crate::{Cli, assert_fails, stderr};

const NODE: &str = "{apiVersion: v1, kind: Node, metadata: {name: ib, annotations: {conformance.grove.io/replicas: '2'}}, \
                    status: {allocatable: {rdma/ib: 8}}}\n";

/// Two pods that request this much `rdma/ib`.
fn requesting(amount: u32) -> String {
    format!(
        "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {{name: w}}\nspec: {{replicas: 1, template: \
         {{cliques: [{{name: a, spec: {{roleName: a, replicas: 2, podSpec: {{containers: [{{name: c, resources: \
         {{requests: {{rdma/ib: {amount}}}}}}}]}}}}}}]}}}}\n"
    )
}

#[rstest::rstest]
#[case::fits_no_node(NODE, &[], "requests 9 rdma/ib, and the largest node has 8: request at most 8")]
#[case::provider(NODE, &["--provider", "kind"], "pass --provider local, or --nodes NODESxGPUS")]
#[case::quantity(
    "{apiVersion: v1, kind: Node, status: {allocatable: {memory: 8GB}}}\n",
    &[],
    "status.allocatable[\"memory\"]: \"8GB\" is not a quantity: write an amount such as 8, 500m or 64Gi"
)]
fn a_file_of_nodes_is_used_or_refused(#[case] nodes: &str, #[case] options: &[&str], #[case] expected: &str) {
    let cli = Cli::new();
    let (workload, nodes) = (cli.file("w.yaml", &requesting(9)), cli.file("nodes.yaml", nodes));
    let output = cli.run(&[&["workload", &workload, "--nodes", &nodes], options].concat());
    assert_fails(&output, 2, &[expected]);
    let names_file = options.is_empty() && !expected.contains("largest");
    assert!(!names_file || stderr(&output).contains(&format!("--nodes {nodes}: ")), "{}", stderr(&output));
}

/// An API server that has one Node. Returns its address and the request lines that it receives.
fn server_of_a_node() -> (String, std::sync::Arc<std::sync::Mutex<Vec<String>>>) {
    use std::io::{BufRead as _, BufReader, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let requests = std::sync::Arc::<std::sync::Mutex<Vec<String>>>::default();
    let seen = requests.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let lines: Vec<String> = BufReader::new(&stream)
                .lines()
                .map_while(Result::ok)
                .take_while(|line| !line.is_empty())
                .collect();
            let line = lines.first().cloned().unwrap_or_default();
            let (code, body) = match line.split(['?', ' ']).nth(1) {
                Some("/version") => (
                    200,
                    r#"{"major":"1","minor":"36","gitVersion":"v1.36.0","gitCommit":"",
                    "gitTreeState":"","buildDate":"","goVersion":"","compiler":"","platform":""}"#,
                ),
                Some("/api/v1/nodes") => (
                    200,
                    r#"{"kind":"NodeList","apiVersion":"v1","metadata":{},"items":[
                    {"metadata":{"name":"n","uid":"u"},"status":{"allocatable":{"cpu":"8","rdma/ib":"8"}}}]}"#,
                ),
                _ => (
                    404,
                    r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,
                    "message":"not found"}"#,
                ),
            };
            seen.lock().expect("no test panicked").push(line);
            let head = format!("HTTP/1.1 {code} x\r\ncontent-type: application/json\r\nconnection: close");
            let _ = write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        }
    });
    (format!("http://{address}"), requests)
}

#[test]
fn nodes_of_a_cluster_are_read_and_nothing_is_written_there() {
    let cli = Cli::new();
    let (server, requests) = server_of_a_node();
    let config = cli.file("prod", &kubeconfig(&server));
    let workload = cli.file("w.yaml", &requesting(9));
    let output = cli.run(&["workload", &workload, "--nodes-from", &config]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("requests 9 rdma/ib, and the largest node has 8"),
        "{}",
        stderr(&output)
    );
    let requests = requests.lock().expect("no test panicked");
    assert!(requests.iter().any(|line| line.contains("/api/v1/nodes")), "{requests:?}");
    assert!(requests.iter().all(|line| line.starts_with("GET ")), "{requests:?}");
}

#[test]
fn a_cluster_of_nodes_that_does_not_answer_is_an_infrastructure_error() {
    let cli = Cli::new();
    let (config, workload) =
        (cli.file("prod", &kubeconfig("http://127.0.0.1:1")), cli.file("w.yaml", &requesting(1)));
    let output = cli.run(&["workload", &workload, "--nodes-from", &config]);
    assert_fails(&output, 3, &["http://127.0.0.1:1/ does not answer"]);
}
