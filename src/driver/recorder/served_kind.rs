use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use conformance_history::Kind;
use kube::Client;
use parking_lot::Mutex;
use tokio::time::timeout;

/// Timeout of a request. The client has no read timeout, because watches stay open for minutes.
pub(super) const ANSWER: Duration = Duration::from_secs(30);

/// A watched kind, in the version that the API server serves. A control-plane upgrade changes the version.
#[derive(Debug, Clone)]
pub(super) struct ServedKind(Arc<Mutex<Kind>>);

impl ServedKind {
    pub(super) fn new(kind: Kind) -> Self {
        Self(Arc::new(Mutex::new(kind)))
    }

    pub(super) fn get(&self) -> Kind {
        *self.0.lock()
    }

    /// Looks up the served version. Returns false and keeps the last one if the API server does not answer.
    pub(super) async fn look_up(&self, client: &Client) -> bool {
        let known: Vec<Kind> = self.get().versions().collect();
        if known.len() < 2 {
            return true;
        }
        let Ok(Ok(served)) = timeout(ANSWER, api_versions(client)).await else { return false };
        if let Some(now) = known.into_iter().find(|kind| served.contains(kind.api_version)) {
            *self.0.lock() = now;
        }
        true
    }
}

pub(super) async fn api_versions(client: &Client) -> kube::Result<BTreeSet<String>> {
    let versions = client.list_api_groups().await?.groups.into_iter().flat_map(|group| group.versions);
    Ok(versions.map(|version| version.group_version).collect())
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::json;
    use tower_test::mock;

    use super::*;

    #[rstest::rstest]
    #[case::upgraded("PodGroup", "scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1beta1")]
    #[case::not_upgraded("PodGroup", "scheduling.k8s.io/v1alpha2", "scheduling.k8s.io/v1alpha2")]
    #[case::unknown_version("PodGroup", "scheduling.k8s.io/v9", "scheduling.k8s.io/v1alpha2")]
    #[case::one_version("PodGang", "scheduling.k8s.io/v1beta1", "scheduler.grove.io/v1alpha1")]
    #[tokio::test]
    async fn a_kind_follows_the_served_version(
        #[case] kind: &str,
        #[case] served: &'static str,
        #[case] expected: &str,
    ) {
        let (service, mut handle) = mock::pair::<Request<Body>, Response<Body>>();
        tokio::spawn(async move {
            while let Some((_, send)) = handle.next_request().await {
                let version = served.rsplit('/').next().unwrap();
                let group = json!({"name": "scheduling.k8s.io",
                    "versions": [{"groupVersion": served, "version": version}]});
                let list = json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": [group]});
                let body = Body::from(list.to_string().into_bytes());
                send.send_response(Response::builder().status(200).body(body).unwrap());
            }
        });
        let old = Kind::named(kind).unwrap().versions().last().unwrap();
        let watched = ServedKind::new(old);
        assert!(watched.look_up(&Client::new(service, "default")).await);
        assert_eq!(watched.get().api_version, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_up_ends_if_the_server_never_answers() {
        let (service, _handle) = mock::pair::<Request<Body>, Response<Body>>();
        let known = *Kind::named("PodGroup").unwrap();
        let watched = ServedKind::new(known);
        assert!(!watched.look_up(&Client::new(service, "default")).await);
        assert_eq!(watched.get().api_version, known.api_version);
    }
}
