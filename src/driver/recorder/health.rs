//! The state of the watches: problems of each kind, logged once, and failures that must stop a run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use conformance_cluster::ClusterError;
use conformance_history::Kind;
use tokio::sync::watch;
use tokio::time::Instant;

/// Consecutive refusals that the start of an API server does not explain.
const REFUSALS: u32 = 3;
/// A watch that has been down for this long will not recover. A case restarts an API server in less time.
const LOST: Duration = Duration::from_secs(120);
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// How long an API server that a case restarts may be down before this is logged.
const RESTART: Duration = Duration::from_secs(10);
/// Maximum number of causes that are logged per kind, each once.
const CAUSES: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecorderError {
    #[error("this identity may not {}: {reason}", rights.join(", "))]
    Forbidden {
        /// All missing permissions that are known, as `VERB RESOURCE.GROUP`.
        rights: Vec<String>,
        /// The API server's message for the first one.
        reason: String,
    },
    #[error("{what} could not be listed and watched in {seconds} s: {last}")]
    NotReady {
        what: String,
        /// The limit that has passed.
        seconds: u64,
        last: String,
    },
    /// A watch has been down for too long.
    #[error("the watch of {kind} has been down for {seconds} s, after {failures} attempts: {last}")]
    Lost {
        kind: &'static str,
        /// How long it has been down.
        seconds: u64,
        failures: u32,
        last: String,
    },
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
    begun: bool,
    trouble: Option<Trouble>,
    /// Causes that were logged.
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

    /// Records success. `begun` means that the watch gets events, or that the kind is not served.
    pub(super) fn is_well(&self, kind: &Kind, begun: bool) {
        self.0.send_if_modified(|states| {
            let state = states.entry(kind.name).or_default();
            let recovered = begun.then(|| state.trouble.take()).flatten();
            if let Some(Trouble { since, failures, .. }) = &recovered {
                let seconds = since.elapsed().as_secs_f64();
                tracing::info!(kind = kind.name, failures, seconds, "the watch is re-established");
            }
            let news = recovered.is_some() || (begun && !state.begun);
            state.begun |= begun;
            news
        });
    }

    /// Records an error. Returns the number of consecutive failures.
    pub(super) fn failed(&self, kind: &Kind, verb: &'static str, error: &kube::Error) -> u32 {
        let (cause, last, forbidden) = match error {
            kube::Error::Api(status) => {
                let cause = format!("{} {}", status.code, status.reason);
                (cause, status.message.clone(), status.code == 403)
            }
            error => (error.to_string(), error.to_string(), false),
        };
        self.trouble(kind, verb, cause, last, forbidden)
    }

    /// Records that there was no answer. Returns the number of consecutive failures.
    pub(super) fn unanswered(&self, kind: &Kind, verb: &'static str, limit: Duration) -> u32 {
        let last = format!("no response in {} s", limit.as_secs());
        self.trouble(kind, verb, last.clone(), last, false)
    }

    fn trouble(&self, kind: &Kind, verb: &'static str, cause: String, last: String, forbidden: bool) -> u32 {
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
            let lasts = forbidden || trouble.since.elapsed() > RESTART;
            if lasts && state.logged.len() < CAUSES && state.logged.insert(format!("{verb} {cause}")) {
                tracing::warn!(kind = kind.name, verb, error = last, "failed to record this kind, retrying");
            } else {
                tracing::debug!(kind = kind.name, verb, error = last, "a watch failed, retrying");
            }
            trouble.last = last;
        });
        failures
    }

    /// A failure after which a run must stop.
    pub(super) fn failure(&self) -> Option<RecorderError> {
        failure(&self.0.borrow())
    }

    pub(super) async fn has_failed(&self) -> RecorderError {
        let mut states = self.0.subscribe();
        loop {
            if let Some(failure) = failure(&states.borrow_and_update()) {
                return failure;
            }
            // A watch becomes lost as time passes, without another failure.
            let _ = tokio::time::timeout(LOOK_AGAIN, states.changed()).await;
        }
    }

    /// Waits until every kind is watched or not served. The error names all missing permissions.
    pub(super) async fn begun(&self, limit: Duration) -> Result<(), RecorderError> {
        let is_decided = |states: &BTreeMap<&'static str, State>| {
            states.values().all(|state| state.begun || state.trouble.as_ref().is_some_and(is_forbidden))
        };
        let mut states = self.0.subscribe();
        let decided = tokio::time::timeout(limit, states.wait_for(is_decided)).await.is_ok();
        let states = self.0.borrow();
        match failure(&states) {
            Some(failure) => Err(failure),
            None if decided => Ok(()),
            None => {
                let late: Vec<_> = states.iter().filter(|(_, state)| !state.begun).collect();
                let last =
                    late.iter().find_map(|(_, state)| state.trouble.as_ref().map(|trouble| &trouble.last));
                Err(RecorderError::NotReady {
                    what: late.iter().map(|(name, _)| **name).collect::<Vec<_>>().join(", "),
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
    let (kind, lost) = troubles().find(|(_, trouble)| trouble.since.elapsed() >= LOST)?;
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

    fn answer(code: u16, reason: &str) -> kube::Error {
        let status =
            serde_json::json!({"code": code, "reason": reason, "message": reason, "status": "Failure"});
        kube::Error::Api(serde_json::from_value(status).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_that_stays_is_fatal_and_one_that_goes_is_not() {
        let health = Health::new(&[pod()]);
        for _ in 1..REFUSALS {
            health.failed(&pod(), "watch", &answer(403, "Forbidden"));
        }
        assert_eq!(health.failure(), None);
        health.failed(&pod(), "watch", &answer(403, "Forbidden"));
        let error = health.begun(Duration::from_secs(1)).await.unwrap_err();
        assert_eq!(error.to_string(), "this identity may not watch pods: Forbidden");
        assert_eq!(health.failure(), Some(error.clone()));
        let shown = ClusterError::from(error).to_string();
        assert!(shown.contains("watch pods"), "{shown}");
        health.is_well(&pod(), true);
        assert_eq!(health.failure(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_stays_away_is_lost() {
        let health = Health::new(&[pod()]);
        health.failed(&pod(), "list", &answer(500, "InternalError"));
        health.is_well(&pod(), false);
        tokio::time::advance(LOST).await;
        assert_eq!(health.failed(&pod(), "watch", &answer(500, "InternalError")), 2);
        let lost = health.failure().unwrap().to_string();
        assert_eq!(lost, "the watch of Pod has been down for 120 s, after 2 attempts: InternalError");
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_begin_is_named_with_its_last_error() {
        let health = Health::new(&[pod(), *Kind::named("Node").unwrap()]);
        health.is_well(&pod(), true);
        health.failed(Kind::named("Node").unwrap(), "list", &answer(503, "Overloaded"));
        let error = health.begun(Duration::from_secs(7)).await.unwrap_err();
        assert_eq!(error.to_string(), "Node could not be listed and watched in 7 s: Overloaded");
    }
}
