use http::Method;
use serde_json::{Value, json};

use super::*;
use crate::testing::api_server;

/// Returns workers whose pods never leave the `occupied` nodes, and where writes to the `broken` nodes fail.
fn workers(names: &[&str], occupied: &'static [&'static str], broken: &'static [&'static str]) -> Workers {
    let client = api_server(move |method, uri, _| {
        let (path, query) = (uri.path(), uri.query().unwrap_or_default());
        let name = path.rsplit('/').next().unwrap_or_default();
        let node = json!({"kind": "Node", "apiVersion": "v1", "metadata": {"name": name}});
        if method == Method::GET && path.contains("/nodes/") {
            (200, node)
        } else if method == Method::GET {
            let left = occupied.iter().any(|node| query.ends_with(&format!("spec.nodeName%3D{node}")));
            let items: &[Value] = if left { &[json!({"metadata": {"name": "p"}})] } else { &[] };
            (200, json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}))
        } else if broken.iter().any(|node| path.contains(node)) {
            (500, json!({"kind": "Status", "status": "Failure", "code": 500, "message": "broken"}))
        } else {
            (200, node)
        }
    });
    let worker = |name: &&str| Worker { name: (*name).into(), before: NodeState::default() };
    Workers {
        client,
        real: None,
        size: watch::Sender::new(names.len()),
        permits: Arc::new(Semaphore::new(names.len())),
        free: Mutex::new(names.iter().map(worker).collect()),
        leases: Mutex::default(),
    }
}

fn lease(workers: &Workers, pool: &str, count: usize) {
    for _ in 0..count {
        let worker = workers.free.lock().pop().unwrap();
        workers.leases.lock().get_mut(pool).unwrap().workers.push(worker);
    }
}

fn free(workers: &Workers) -> Vec<String> {
    let mut names: Vec<_> = workers.free.lock().iter().map(|worker| worker.name.clone()).collect();
    names.sort();
    names
}

#[rstest::rstest]
#[case::all(&[], &[], &["a", "b", "c"])]
#[case::one_cannot_be_restored(&[], &["b"], &["a", "c"])]
#[case::pods_stay_on_one(&["c"], &[], &["a", "b"])]
#[tokio::test]
async fn each_node_is_released_independently(
    #[case] occupied: &'static [&'static str],
    #[case] broken: &'static [&'static str],
    #[case] back: &[&str],
) {
    let workers = workers(&["a", "b", "c"], occupied, broken);
    workers.reserve("ns", 3).await.unwrap();
    lease(&workers, "ns", 3);
    if !occupied.is_empty() {
        tokio::time::pause();
    }
    assert_eq!(workers.release("ns").await.is_ok(), back.len() == 3);
    assert_eq!(
        (free(&workers), workers.size()),
        (back.iter().map(|name| (*name).to_owned()).collect(), back.len())
    );
    assert_eq!(workers.permits.available_permits(), back.len(), "exactly one permit for each returned node");
    workers.reserve("next", back.len()).await.unwrap();
    if back.len() < 3 {
        assert!(workers.reserve("more", 3).await.is_err(), "too few nodes remain");
    }
}

#[tokio::test]
async fn a_reservation_fails_when_too_few_nodes_remain() {
    let workers = workers(&["a", "b"], &[], &["a", "b"]);
    workers.reserve("ns", 2).await.unwrap();
    lease(&workers, "ns", 2);
    let (waits, _) = futures::join!(workers.reserve("next", 2), workers.release("ns"));
    assert_eq!(
        waits.unwrap_err().to_string(),
        "a case needs 2 nodes, only 0 can be leased: add nodes, or skip the case"
    );
}

#[tokio::test(start_paused = true)]
async fn a_reservation_times_out() {
    let workers = workers(&["a", "b"], &[], &[]);
    workers.reserve("ns", 1).await.unwrap();
    lease(&workers, "ns", 1);
    let late = workers.reserve("next", 2).await.unwrap_err().to_string();
    assert_eq!(late, "timed out after 7200 s waiting for 2 free nodes of 2: 1 are free, ns has 1");
}

#[tokio::test]
async fn a_node_that_was_not_reserved_is_not_leased() {
    let workers = workers(&["a", "b"], &[], &[]);
    let node = || {
        let labels = BTreeMap::new();
        NodeSpec { name: "n".into(), labels, taint: None, gpus: 0, pods: 1, template: None }
    };
    assert!(workers.add("ns", vec![node()], false).await.is_err());
    workers.reserve("ns", 1).await.unwrap();
    assert!(workers.add("ns", vec![node(), node()], false).await.is_err());
    assert_eq!(free(&workers).len(), 2, "a rejected request takes no node");
}

#[tokio::test]
async fn nodes_of_a_cancelled_release_are_not_leased_again() {
    let workers = workers(&["a", "b"], &["a"], &[]);
    workers.reserve("ns", 2).await.unwrap();
    lease(&workers, "ns", 2);
    let soon = tokio::time::timeout(Duration::from_millis(100), workers.release("ns")).await;
    assert!(soon.is_err());
    assert_eq!((free(&workers), workers.size()), (vec!["b".to_owned()], 1));
    assert_eq!(workers.permits.available_permits(), 1);
}
