//! The loop that runs a reconciler. It replaces kube's applier, which returns waiting objects in any order,
//! so that gangs would not be processed in the order in which they started. The applier also polls all
//! running work in one task, which costs most of a CPU with thousands of objects.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kube::Resource;
use kube::runtime::reflector::{ObjectRef, Store};
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::agenda::Agenda;
use crate::context::Context;
use crate::context::action::Action;
use crate::context::error::ReconcileError;
use crate::context::queues::Inbox;
use crate::faults::fault;

const MIN_BACKOFF: Duration = Duration::from_millis(50);
const MAX_BACKOFF: Duration = Duration::from_secs(10);

const CACHE_RECHECK: Duration = Duration::from_millis(25);

pub(super) struct Settings {
    pub name: &'static str,
    pub concurrency: usize,
    pub gather: Gather,
    /// Whether to wait until the cache shows this program's own writes of the object.
    pub after_own_writes: bool,
}

/// How long to wait for more changes of an object. Later changes do not restart the time, because
/// an object that changes constantly must be reconciled too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gather {
    pub min: Duration,
    /// Added for each other object that waits, so that a reconciliation covers more changes under load.
    pub per_waiting: Duration,
    pub max: Duration,
}

impl Gather {
    pub(super) const NONE: Self =
        Self { min: Duration::ZERO, per_waiting: Duration::ZERO, max: Duration::ZERO };

    fn delay(self, waiting: usize) -> Duration {
        let under_load = self.per_waiting.saturating_mul(u32::try_from(waiting).unwrap_or(u32::MAX));
        under_load.min(self.max).max(self.min)
    }
}

type Failures<K> = Arc<Mutex<HashMap<ObjectRef<K>, u32>>>;

/// Panics if a reconciliation panics.
pub(super) async fn run<K, R, F>(
    settings: Settings,
    store: Store<K>,
    inbox: Inbox<K>,
    context: Arc<Context>,
    stop: CancellationToken,
    reconcile: R,
) where
    K: Resource<DynamicType = ()> + Clone + Send + Sync + 'static,
    R: Fn(Arc<K>, Arc<Context>) -> F,
    F: Future<Output = Result<Action, ReconcileError>> + Send + 'static,
{
    let Settings { name, concurrency, gather, after_own_writes } = settings;
    let failures = Failures::<K>::default();
    let mut inbox = Box::pin(inbox.take_until(stop.cancelled_owned())).fuse();
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
                agenda.request(object, Instant::now() + CACHE_RECHECK);
                continue;
            }
            let work = reconcile(found, Arc::clone(&context));
            let (context, failures) = (Arc::clone(&context), Arc::clone(&failures));
            tasks.spawn(
                async move { (reconcile_one(name, &object, work, &context, &failures).await, object) },
            );
        }
        let next = agenda.next().filter(|_| is_open && tasks.len() < concurrency);
        tokio::select! {
            biased;
            Some(ended) = tasks.join_next() => match ended {
                Ok((action, object)) => {
                    agenda.done(object.clone());
                    if let Some(after) = action.again {
                        agenda.request(object, Instant::now() + after);
                    }
                }
                Err(error) => if let Ok(panic) = error.try_into_panic() { std::panic::resume_unwind(panic) },
            },
            requested = inbox.next(), if is_open => {
                if let Some(object) = requested {
                    let delay = gather.delay(agenda.len());
                    agenda.request(object, Instant::now() + delay);
                }
            }
            () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
        }
    }
}

/// Returns when the object is due again.
async fn reconcile_one<K: Resource<DynamicType = ()>>(
    name: &'static str,
    object: &ObjectRef<K>,
    work: impl Future<Output = Result<Action, ReconcileError>>,
    context: &Context,
    failures: &Failures<K>,
) -> Action {
    let (started, namespace) = (Instant::now(), object.namespace.clone().unwrap_or_default());
    if let Some(remaining) = context.terminating.remaining(&namespace) {
        return Action::requeue(remaining);
    }
    let result = work.await;
    if result.as_ref().is_err_and(ReconcileError::is_namespace_gone) {
        context.terminating.record(&namespace);
    }
    let result = accept_namespace_gone(result, object);
    context.metrics.record_reconciliation(name, started.elapsed(), result.is_err());
    let mut failures = failures.lock();
    match result {
        Ok(action) => {
            failures.remove(object);
            action
        }
        Err(_) if fault!("failed-statuses-forgotten") && name.ends_with("_status") => Action::await_change(),
        Err(error) => {
            report(name, object, &error);
            let count = failures.entry(object.clone()).or_default();
            *count += 1;
            Action::requeue(if fault!("retries-without-backoff") { MIN_BACKOFF } else { backoff(*count) })
        }
    }
}

/// Returns true after a regular stop. If a reconciler ends or panics earlier, aborts the other reconcilers
/// and returns false: a controller without one of its reconcilers would look healthy, but would not work.
pub(super) async fn wait_for_shutdown(mut reconcilers: JoinSet<()>, stop: &CancellationToken) -> bool {
    while let Some(result) = reconcilers.join_next().await {
        if let Err(error) = result {
            tracing::error!(%error, "a reconciler panicked");
        }
        if !stop.is_cancelled() {
            reconcilers.shutdown().await;
            return false;
        }
    }
    true
}

fn backoff(failures: u32) -> Duration {
    MIN_BACKOFF.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1))).min(MAX_BACKOFF)
}

/// Accepts the error of a namespace that is being deleted, because nothing is left to do there (DEL-07).
fn accept_namespace_gone<K>(
    result: Result<Action, ReconcileError>,
    object: &ObjectRef<K>,
) -> Result<Action, ReconcileError>
where
    K: Resource<DynamicType = ()>,
{
    match result {
        Err(error) if error.is_namespace_gone() => {
            tracing::info!(%object, "the namespace of the object is being deleted");
            Ok(Action::await_change())
        }
        result => result,
    }
}

fn report<K: Resource<DynamicType = ()>>(reconciler: &str, object: &ObjectRef<K>, error: &ReconcileError) {
    match error.is_waiting() {
        true => tracing::debug!(reconciler, %object, %error, "waiting before the next attempt"),
        false => tracing::warn!(reconciler, %object, %error, "reconciliation failed"),
    }
}

#[cfg(test)]
#[path = "reconcile_loop_tests.rs"]
mod tests;
