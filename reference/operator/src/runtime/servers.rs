//! `/readyz` succeeds if the caches are complete and a maintained certificate is served. A missing scheduler
//! API does not make the controller unready, because the other backends continue (ADM-19).

use std::fmt::Write;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use tokio::sync::watch;

use crate::backend::Registry;
use crate::context::Context;

#[derive(Clone)]
pub(super) struct Readiness {
    pub registry: Registry,
    pub ready: watch::Receiver<bool>,
    /// `None` if the certificate comes from files.
    pub certificates: Option<watch::Receiver<Result<(), String>>>,
}

pub(super) fn health(readiness: Readiness) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .with_state(readiness)
}

pub(super) fn metrics(context: Arc<Context>) -> Router {
    let text = |State(context): State<Arc<Context>>| async move {
        let text = context.metrics.text(&context.caches.pod_gangs.store.state());
        text.map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))
    };
    Router::new().route("/metrics", get(text)).with_state(context)
}

async fn readyz(State(readiness): State<Readiness>) -> (StatusCode, String) {
    let ready = *readiness.ready.borrow();
    let certificates = readiness.certificates.as_ref().map(|state| state.borrow().clone());
    let mut text = String::new();
    let mut line = |good: bool, what: &str, detail: &str| {
        let _ = writeln!(text, "[{}]{what} {detail}", if good { '+' } else { '-' });
    };
    line(ready, "caches", if ready { "complete" } else { "incomplete" });
    if let Some(state) = &certificates {
        let detail = state
            .as_ref()
            .err()
            .map_or("served, and the webhook configurations contain their authority", |reason| reason);
        line(state.is_ok(), "certificates", detail);
    }
    // Query the backends concurrently, so that the probe takes no longer than the slowest backend.
    let backends =
        readiness.registry.iter().map(|backend| async { (backend.name(), backend.readiness().await) });
    for (name, found) in futures::future::join_all(backends).await {
        line(
            found.is_ok(),
            &format!("backend {name}"),
            found.as_ref().err().map_or("ready", |reason| reason),
        );
    }
    let ready = ready && certificates.is_none_or(|state| state.is_ok());
    (if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, text)
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use axum::http::Request;
    use tower::ServiceExt;

    use super::*;
    use crate::admission::fixture::cluster;
    use crate::backend::fake_backend::FakeBackend;

    async fn get_readyz(caches: bool, certificates: Option<Result<(), String>>) -> (StatusCode, String) {
        let (_ready, ready) = watch::channel(caches);
        // A receiver keeps the last state after its sender is dropped.
        let certificates = certificates.map(|state| watch::channel(state).1);
        let registry = cluster(vec![FakeBackend::ready("fake")]).registry;
        let request = Request::get("/readyz").body(Body::empty()).unwrap();
        let router = health(Readiness { registry, ready, certificates });
        let response = router.oneshot(request).await.unwrap();
        let status = response.status();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[rstest::rstest]
    #[case::from_files(true, None, StatusCode::OK, None)]
    #[case::managed(true, Some(Ok(())), StatusCode::OK, Some("[+]certificates served"))]
    #[case::managed_but_missing(
        true,
        Some(Err("the webhook has no certificate yet")),
        StatusCode::SERVICE_UNAVAILABLE,
        Some("[-]certificates the webhook has no certificate yet")
    )]
    #[case::incomplete_caches(false, Some(Ok(())), StatusCode::SERVICE_UNAVAILABLE, Some("[+]certificates served"))]
    #[tokio::test]
    async fn readiness_depends_on_caches_and_certificate(
        #[case] caches: bool,
        #[case] certificates: Option<Result<(), &str>>,
        #[case] status: StatusCode,
        #[case] line: Option<&str>,
    ) {
        let certificates = certificates.map(|state| state.map_err(str::to_owned));
        let (found, text) = get_readyz(caches, certificates).await;
        assert_eq!(found, status, "{text}");
        assert_eq!(text.contains("certificates"), line.is_some(), "{text}");
        assert!(line.is_none_or(|line| text.contains(line)), "{text}");
    }
}
