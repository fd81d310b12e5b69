//! Runs one reconciler: each object in a task of its own, with growing pauses after failures, metrics and logs.
//!
//! Not kube's applier: that gives out what waits in any order, polls all that is under way whenever one of them wakes, and does
//! so in one task. With thousands of objects the first costs the order in which gangs were begun, the others most of a processor.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use kube::Resource;
use kube::runtime::reflector::{ObjectRef, Store};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use webhook_server::told;

use super::agenda::Agenda;
use super::context::Context;
use super::error::ReconcileError;
use super::queues::Inbox;

/// The pause after a first failure.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// When a cache is looked at again that did not show what was written.
const LOOK_AGAIN: Duration = Duration::from_millis(25);

/// What becomes of an object that was reconciled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Action {
    again: Option<Duration>,
}

impl Action {
    /// It is reconciled again when something about it changes.
    pub(crate) const fn await_change() -> Self {
        Self { again: None }
    }

    /// It is reconciled again after that time, or before if something about it changes.
    pub(crate) const fn requeue(after: Duration) -> Self {
        Self { again: Some(after) }
    }
}

/// How one reconciler runs.
pub(super) struct Settings {
    /// Name in logs and metrics.
    pub name: &'static str,
    /// Objects reconciled at a time.
    pub concurrency: usize,
    /// How long changes gather before an object is reconciled.
    pub gather: Gather,
    /// Whether an object waits until the cache shows what this program has written of it.
    pub after_own_writes: bool,
}

/// How long changes of an object gather. It is reconciled so long after it was asked for, however often it is asked for again
/// meanwhile. (A debounce would begin anew each time, and one that is asked for without a pause would never come.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gather {
    /// At least.
    pub least: Duration,
    /// For each other object that gathers: the more there is to do, the more of it is done at once.
    pub each: Duration,
    /// At most.
    pub most: Duration,
}

impl Gather {
    /// Not at all.
    pub(super) const NONE: Self = Self { least: Duration::ZERO, each: Duration::ZERO, most: Duration::ZERO };

    fn pause(self, waiting: usize) -> Duration {
        let all = self.each.saturating_mul(u32::try_from(waiting).unwrap_or(u32::MAX));
        all.min(self.most).max(self.least)
    }
}

/// Consecutive failures by object.
type Failures<K> = Arc<Mutex<HashMap<ObjectRef<K>, u32>>>;

/// Runs until `stop` says true and what has begun is done.
///
/// # Panics
/// If a reconciliation does.
pub(super) async fn run<K, R, F>(
    settings: Settings,
    store: Store<K>,
    inbox: Inbox<K>,
    context: Arc<Context>,
    stop: watch::Receiver<bool>,
    reconcile: R,
) where
    K: Resource<DynamicType = ()> + Clone + Send + Sync + 'static,
    R: Fn(Arc<K>, Arc<Context>) -> F,
    F: Future<Output = Result<Action, ReconcileError>> + Send + 'static,
{
    let Settings { name, concurrency, gather, after_own_writes } = settings;
    let failures = Failures::<K>::default();
    let mut inbox = Box::pin(inbox.take_until(told(stop))).fuse();
    let (mut agenda, mut tasks) = (Agenda::default(), JoinSet::new());
    while !inbox.is_done() || !tasks.is_empty() {
        let is_open = !inbox.is_done();
        while is_open && tasks.len() < concurrency {
            let Some(object) = agenda.take(Instant::now()) else { break };
            let Some(found) = store.get(&object) else {
                agenda.done(object);
                continue;
            };
            if after_own_writes && context.written.is_outdated(&*found) {
                agenda.done(object.clone());
                agenda.ask(object, Instant::now() + LOOK_AGAIN);
                continue;
            }
            let work = reconcile(found, Arc::clone(&context));
            let (context, failures) = (Arc::clone(&context), Arc::clone(&failures));
            tasks.spawn(async move { (one(name, &object, work, &context, &failures).await, object) });
        }
        let next = agenda.next().filter(|_| is_open && tasks.len() < concurrency);
        tokio::select! {
            biased;
            Some(ended) = tasks.join_next() => match ended {
                Ok((action, object)) => {
                    agenda.done(object.clone());
                    if let Some(after) = action.again {
                        agenda.ask(object, Instant::now() + after);
                    }
                }
                // The program ends by it, as by a panic anywhere else in its reconcilers.
                Err(error) => if let Ok(panic) = error.try_into_panic() { std::panic::resume_unwind(panic) },
            },
            asked = inbox.next(), if is_open => {
                if let Some(object) = asked {
                    let pause = gather.pause(agenda.len());
                    agenda.ask(object, Instant::now() + pause);
                }
            }
            () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
        }
    }
}

/// One reconciliation of an object.
async fn one<K: Resource<DynamicType = ()>>(
    name: &'static str,
    object: &ObjectRef<K>,
    work: impl Future<Output = Result<Action, ReconcileError>>,
    context: &Context,
    failures: &Failures<K>,
) -> Action {
    let (begun, namespace) = (Instant::now(), object.namespace.clone().unwrap_or_default());
    if let Some(rest) = context.ending.rest(&namespace) {
        return Action::requeue(rest);
    }
    let result = work.await;
    if result.as_ref().is_err_and(ReconcileError::is_namespace_gone) {
        context.ending.note(&namespace);
    }
    let result = quiet_if_namespace_gone(result, object);
    context.metrics.reconciled(name, begun.elapsed(), result.is_err());
    let mut failures = failures.lock().unwrap_or_else(PoisonError::into_inner);
    match result {
        Ok(action) => {
            failures.remove(object);
            action
        }
        Err(_) if context.faults.failed_statuses_forgotten && name.ends_with("_status") => {
            Action::await_change()
        }
        Err(error) => {
            report(name, object, &error);
            let count = failures.entry(object.clone()).or_default();
            *count += 1;
            Action::requeue(if context.faults.retries_at_once { FIRST_PAUSE } else { pause(*count) })
        }
    }
}

/// Waits until all reconcilers have ended as `stop` asked. False as soon as one ends or panics unasked: the
/// others go too, as part of a controller looks healthy and is not.
pub(super) async fn ended_as_told(mut reconcilers: JoinSet<()>, stop: &watch::Receiver<bool>) -> bool {
    while let Some(result) = reconcilers.join_next().await {
        if let Err(error) = result {
            tracing::error!(%error, "reconciler failed");
        }
        if !*stop.borrow() {
            reconcilers.shutdown().await;
            return false;
        }
    }
    true
}

fn pause(failures: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1))).min(LONGEST_PAUSE)
}

/// DEL-07: in a namespace that is being deleted there is nothing to do but let go.
fn quiet_if_namespace_gone<K>(
    result: Result<Action, ReconcileError>,
    object: &ObjectRef<K>,
) -> Result<Action, ReconcileError>
where
    K: Resource<DynamicType = ()>,
{
    match result {
        Err(error) if error.is_namespace_gone() => {
            tracing::info!(%object, "namespace is being deleted");
            Ok(Action::await_change())
        }
        result => result,
    }
}

fn report<K: Resource<DynamicType = ()>>(reconciler: &str, object: &ObjectRef<K>, error: &ReconcileError) {
    match error.is_waiting() {
        true => tracing::debug!(reconciler, %object, %error, "not yet"),
        false => tracing::warn!(reconciler, %object, %error, "reconciliation failed"),
    }
}

#[cfg(test)]
#[path = "reconcile_loop_tests.rs"]
mod tests;
