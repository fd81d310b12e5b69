use std::sync::{Arc, Mutex};

use http::Method;
use serde_json::{Value, json};

use super::*;
use crate::testing::api_server;

/// An API server that denies the right `denied`. If `strict`, it rejects the ClusterRole as an escalation.
fn client(
    denied: &'static str,
    strict: bool,
    namespaces: Vec<Value>,
    log: Arc<Mutex<Vec<String>>>,
) -> Client {
    api_server(move |method, uri, mut body| {
        let query = uri.query().unwrap_or_default();
        let (mut code, mut answer) = (200, json!({}));
        if uri.path().ends_with("selfsubjectaccessreviews") {
            let asked = &body["spec"]["resourceAttributes"];
            let words =
                format!("{} {}", asked["verb"].as_str().unwrap(), asked["resource"].as_str().unwrap());
            body["status"] = json!({"allowed": words != denied});
            answer = body;
        } else if method == Method::GET {
            answer =
                json!({"kind": "NamespaceList", "apiVersion": "v1", "metadata": {}, "items": namespaces});
        } else if query.contains("dryRun=All") && strict {
            code = 403;
            answer = json!({"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403,
                "message": "user is attempting to grant RBAC permissions not currently held"});
        } else {
            let dry = if query.contains("dryRun=All") { " (dry run)" } else { "" };
            let name = body["metadata"]["name"].as_str().unwrap_or_default();
            log.lock().unwrap().push(format!("{} {name}{dry}", body["kind"].as_str().unwrap_or_default()));
            answer.clone_from(&body);
        }
        (code, answer)
    })
}

fn run(leased_nodes: Option<&str>) -> SuiteRun {
    SuiteRun {
        run: "b".into(),
        image: "suite:1".into(),
        shares: 2,
        args: vec!["run".into()],
        leased_nodes: leased_nodes.map(str::to_owned),
    }
}

fn namespace(run: &str, created: &str, leased_nodes: &str) -> Value {
    json!({"metadata": {"name": format!("grove-conformance-{run}"), "creationTimestamp": created,
        "labels": {(names::RUN): run}, "annotations": {(LEASED_NODES): leased_nodes}}})
}

#[tokio::test]
async fn a_missing_right_is_reported_before_anything_is_created() {
    let log = Arc::<Mutex<Vec<String>>>::default();
    let client = client("create jobs", false, Vec::new(), log.clone());
    match check_rights(&client, &run(None)).await {
        Err(ClusterError::Rights { missing }) => assert_eq!(missing, ["create jobs.batch"]),
        other => panic!("{other:?}"),
    }
    assert!(log.lock().unwrap().is_empty(), "nothing is created");
}

#[tokio::test]
async fn a_right_that_cannot_be_granted_is_reported_before_anything_is_created() {
    let log = Arc::<Mutex<Vec<String>>>::default();
    let client = client("", true, Vec::new(), log.clone());
    let error = check_rights(&client, &run(None)).await.unwrap_err().to_string();
    assert!(error.contains("RBAC permissions not currently held"), "{error}");
    assert!(log.lock().unwrap().is_empty(), "nothing is created");
}

#[tokio::test]
async fn the_job_is_created_last() {
    let log = Arc::<Mutex<Vec<String>>>::default();
    let client = client("", false, Vec::new(), log.clone());
    check_rights(&client, &run(None)).await.unwrap();
    submit(&client, &run(None)).await.unwrap();
    insta::assert_snapshot!(log.lock().unwrap().join("\n"), @r"
    ClusterRole grove-conformance-b (dry run)
    Namespace grove-conformance-b
    ServiceAccount grove-conformance-b
    ClusterRole grove-conformance-b
    ClusterRoleBinding grove-conformance-b
    Role grove-conformance-b
    RoleBinding grove-conformance-b
    Job grove-conformance-b
    ");
}

#[rstest::rstest]
#[case::alone(&[], true)]
#[case::other_nodes(&[("a", "2026-11-24T10:00:00Z", "pool=mine")], true)]
#[case::older(&[("a", "2026-11-24T10:00:00Z", "pool=lent")], false)]
#[case::younger(&[("a", "2026-11-24T10:00:02Z", "pool=lent")], true)]
#[case::of_one_second(&[("a", "2026-11-24T10:00:01Z", "pool=lent")], false)]
#[case::of_one_second_and_behind(&[("c", "2026-11-24T10:00:01Z", "pool=lent")], true)]
#[tokio::test]
async fn only_the_oldest_run_may_lease_the_nodes(
    #[case] others: &[(&str, &str, &str)],
    #[case] continues: bool,
) {
    let mut namespaces: Vec<_> =
        others.iter().map(|(run, created, leased_nodes)| namespace(run, created, leased_nodes)).collect();
    namespaces.push(namespace("b", "2026-11-24T10:00:01Z", "pool=lent"));
    let log = Arc::<Mutex<Vec<String>>>::default();
    let submitted = submit(&client("", false, namespaces, log.clone()), &run(Some("pool=lent"))).await;
    match submitted {
        Ok(()) => assert!(continues),
        Err(ClusterError::NodesLeased { namespace, .. }) => {
            assert_eq!((continues, namespace.as_str()), (false, "grove-conformance-a"));
            assert_eq!(*log.lock().unwrap(), ["Namespace grove-conformance-b"], "no Job");
        }
        Err(other) => panic!("{other}"),
    }
}
