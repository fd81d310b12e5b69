use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use conformance_cluster::ClusterError;
use conformance_history::Kind;
use tokio::sync::watch;
use tokio::time::Instant;

/// After this many consecutive refusals, the start of an API server is no longer a likely cause.
const REFUSALS: u32 = 3;
/// A watch that has been down for this long counts as lost. A case restarts an API server faster.
const LOST_AFTER: Duration = Duration::from_secs(120);
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// A failure is logged after this time, because a case may restart an API server within it.
const LOGGED_AFTER: Duration = Duration::from_secs(10);
/// Maximum number of distinct causes that are logged per kind.
const CAUSES: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecorderError {
    #[error("this identity may not {}: {reason}", rights.join(", "))]
    Forbidden {
        /// All missing permissions that are known, as `VERB RESOURCE.GROUP`.
        rights: Vec<String>,
        reason: String,
    },
    #[error("the recorder could not list and watch {what} within {seconds} s: {last}")]
    NotReady { what: String, seconds: u64, last: String },
    #[error("the watch of {kind} has been down for {seconds} s, after {failures} attempts: {last}")]
    Lost { kind: &'static str, seconds: u64, failures: u32, last: String },
}

impl From<RecorderError> for ClusterError {
    fn from(error: RecorderError) -> Self {
        match error {
            RecorderError::Forbidden { rights, .. } => Self::Rights { missing: rights },
            RecorderError::NotReady { what, seconds, last } => {
                Self::NotReady { what: format!("the watch of {what}"), seconds, last }
            }
            RecorderError::Lost { kind, seconds, failures, last } => {
                Self::WatchLost { kind, seconds, failures, last }
            }
        }
    }
}

#[derive(Debug, Clone, Default)]
struct State {
    /// The kind was listed and is watched, or is not served.
    is_watching: bool,
    trouble: Option<Trouble>,
    logged: BTreeSet<String>,
}

#[derive(Debug, Clone)]
struct Trouble {
    verb: &'static str,
    resource: String,
    since: Instant,
    failures: u32,
    refusals: u32,
    last: String,
}

#[derive(Clone)]
pub(super) struct Health(watch::Sender<BTreeMap<&'static str, State>>);

impl Health {
    pub(super) fn new(kinds: &[Kind]) -> Self {
        Self(watch::Sender::new(kinds.iter().map(|kind| (kind.name, State::default())).collect()))
    }

    /// `is_watching` means that the kind is watched, or that the API server does not serve it.
    pub(super) fn record_success(&self, kind: &Kind, is_watching: bool) {
        self.0.send_if_modified(|states| {
            let state = states.entry(kind.name).or_default();
            let recovered = is_watching.then(|| state.trouble.take()).flatten();
            if let Some(Trouble { since, failures, .. }) = &recovered {
                let seconds = since.elapsed().as_secs_f64();
                tracing::info!(kind = kind.name, failures, seconds, "the watch is re-established");
            }
            let is_changed = recovered.is_some() || (is_watching && !state.is_watching);
            state.is_watching |= is_watching;
            is_changed
        });
    }

    pub(super) fn record_error(&self, kind: &Kind, verb: &'static str, error: &kube::Error) -> u32 {
        let (cause, last, forbidden) = match error {
            kube::Error::Api(status) => {
                let cause = format!("{} {}", status.code, status.reason);
                (cause, status.message.clone(), status.code == 403)
            }
            error => (error.to_string(), error.to_string(), false),
        };
        self.record_trouble(kind, verb, cause, last, forbidden)
    }

    pub(super) fn record_no_response(&self, kind: &Kind, verb: &'static str, limit: Duration) -> u32 {
        let last = format!("no response in {} s", limit.as_secs());
        self.record_trouble(kind, verb, last.clone(), last, false)
    }

    /// Logs each cause once. Returns the number of consecutive failures.
    fn record_trouble(
        &self,
        kind: &Kind,
        verb: &'static str,
        cause: String,
        last: String,
        forbidden: bool,
    ) -> u32 {
        let mut failures = 0;
        self.0.send_modify(|states| {
            let state = states.entry(kind.name).or_default();
            let trouble = state.trouble.get_or_insert_with(|| Trouble {
                verb,
                resource: resource(kind),
                since: Instant::now(),
                failures: 0,
                refusals: 0,
                last: String::new(),
            });
            trouble.verb = verb;
            trouble.failures += 1;
            trouble.refusals = if forbidden { trouble.refusals + 1 } else { 0 };
            failures = trouble.failures;
            let is_notable = forbidden || trouble.since.elapsed() > LOGGED_AFTER;
            if is_notable && state.logged.len() < CAUSES && state.logged.insert(format!("{verb} {cause}")) {
                tracing::warn!(
                    kind = kind.name,
                    verb,
                    error = last,
                    "failed to list or watch a kind; the recorder retries"
                );
            } else {
                tracing::debug!(kind = kind.name, verb, error = last, "a watch failed, retrying");
            }
            trouble.last = last;
        });
        failures
    }

    pub(super) fn failure(&self) -> Option<RecorderError> {
        failure(&self.0.borrow())
    }

    pub(super) async fn wait_for_failure(&self) -> RecorderError {
        let mut states = self.0.subscribe();
        loop {
            if let Some(failure) = failure(&states.borrow_and_update()) {
                return failure;
            }
            // Poll, because a watch counts as lost once enough time has passed, without another failure.
            let _ = tokio::time::timeout(POLL_INTERVAL, states.changed()).await;
        }
    }

    /// Waits until all kinds are watched. The error names all missing permissions.
    pub(super) async fn wait_until_watching(&self, limit: Duration) -> Result<(), RecorderError> {
        let is_decided = |states: &BTreeMap<&'static str, State>| {
            states.values().all(|state| state.is_watching || state.trouble.as_ref().is_some_and(is_forbidden))
        };
        let mut states = self.0.subscribe();
        let decided = tokio::time::timeout(limit, states.wait_for(is_decided)).await.is_ok();
        let states = self.0.borrow();
        match failure(&states) {
            Some(failure) => Err(failure),
            None if decided => Ok(()),
            None => {
                let missing: Vec<_> = states.iter().filter(|(_, state)| !state.is_watching).collect();
                let last =
                    missing.iter().find_map(|(_, state)| state.trouble.as_ref().map(|trouble| &trouble.last));
                Err(RecorderError::NotReady {
                    what: missing.iter().map(|(name, _)| **name).collect::<Vec<_>>().join(", "),
                    seconds: limit.as_secs(),
                    last: last.cloned().unwrap_or_else(|| "the API server did not respond".into()),
                })
            }
        }
    }
}

fn failure(states: &BTreeMap<&'static str, State>) -> Option<RecorderError> {
    let troubles = || states.iter().filter_map(|(kind, state)| Some((*kind, state.trouble.as_ref()?)));
    let forbidden: Vec<_> =
        troubles().map(|(_, trouble)| trouble).filter(|trouble| is_forbidden(trouble)).collect();
    if let Some(first) = forbidden.first() {
        let right = |trouble: &&Trouble| format!("{} {}", trouble.verb, trouble.resource);
        let reason = first.last.clone();
        return Some(RecorderError::Forbidden { rights: forbidden.iter().map(right).collect(), reason });
    }
    let (kind, lost) = troubles().find(|(_, trouble)| trouble.since.elapsed() >= LOST_AFTER)?;
    let seconds = lost.since.elapsed().as_secs();
    Some(RecorderError::Lost { kind, seconds, failures: lost.failures, last: lost.last.clone() })
}

fn is_forbidden(trouble: &Trouble) -> bool {
    trouble.refusals >= REFUSALS
}

fn resource(kind: &Kind) -> String {
    match kind.api_version.split_once('/') {
        Some((group, _)) => format!("{}.{group}", kind.plural),
        None => kind.plural.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod() -> Kind {
        *Kind::named("Pod").unwrap()
    }

    fn api_error(code: u16, reason: &str) -> kube::Error {
        let status =
            serde_json::json!({"code": code, "reason": reason, "message": reason, "status": "Failure"});
        kube::Error::Api(serde_json::from_value(status).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn repeated_refusals_are_fatal_until_a_request_succeeds() {
        let health = Health::new(&[pod()]);
        for _ in 1..REFUSALS {
            health.record_error(&pod(), "watch", &api_error(403, "Forbidden"));
        }
        assert_eq!(health.failure(), None);
        health.record_error(&pod(), "watch", &api_error(403, "Forbidden"));
        let error = health.wait_until_watching(Duration::from_secs(1)).await.unwrap_err();
        assert_eq!(error.to_string(), "this identity may not watch pods: Forbidden");
        assert_eq!(health.failure(), Some(error.clone()));
        let shown = ClusterError::from(error).to_string();
        assert!(shown.contains("watch pods"), "{shown}");
        health.record_success(&pod(), true);
        assert_eq!(health.failure(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_is_down_for_too_long_is_lost() {
        let health = Health::new(&[pod()]);
        health.record_error(&pod(), "list", &api_error(500, "InternalError"));
        health.record_success(&pod(), false);
        tokio::time::advance(LOST_AFTER).await;
        assert_eq!(health.record_error(&pod(), "watch", &api_error(500, "InternalError")), 2);
        let lost = health.failure().unwrap().to_string();
        assert_eq!(lost, "the watch of Pod has been down for 120 s, after 2 attempts: InternalError");
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_is_not_watched_in_time_is_named_with_its_last_error() {
        let health = Health::new(&[pod(), *Kind::named("Node").unwrap()]);
        health.record_success(&pod(), true);
        health.record_error(Kind::named("Node").unwrap(), "list", &api_error(503, "Overloaded"));
        let error = health.wait_until_watching(Duration::from_secs(7)).await.unwrap_err();
        assert_eq!(error.to_string(), "the recorder could not list and watch Node within 7 s: Overloaded");
    }
}
