//! Runs one reconciler: one task per object, exponential backoff after failures, metrics and logs.
//!
//! kube's applier is not used. It returns waiting objects in any order, and it polls all running work in one
//! task whenever a part of it wakes. With thousands of objects, gangs would not be processed in the order in
//! which they started, and polling would cost most of a CPU.

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
use crate::context::Context;
use crate::context::action::Action;
use crate::context::error::ReconcileError;
use crate::context::queues::Inbox;
use crate::faults::fault;

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// When to check a cache again that did not show this program's own write.
const LOOK_AGAIN: Duration = Duration::from_millis(25);

pub(super) struct Settings {
    pub name: &'static str,
    pub concurrency: usize,
    /// How long changes are collected before an object is reconciled.
    pub gather: Gather,
    /// Whether to wait until the cache shows this program's own writes of the object.
    pub after_own_writes: bool,
}

/// How long changes of an object are collected. The time starts with the first request, and later ones do not
/// restart it. A debounce would restart it, and never reconcile an object that changes constantly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gather {
    pub least: Duration,
    /// For each other object that waits, so that under load more changes are collected.
    pub each: Duration,
    pub most: Duration,
}

impl Gather {
    pub(super) const NONE: Self = Self { least: Duration::ZERO, each: Duration::ZERO, most: Duration::ZERO };

    fn pause(self, waiting: usize) -> Duration {
        let all = self.each.saturating_mul(u32::try_from(waiting).unwrap_or(u32::MAX));
        all.min(self.most).max(self.least)
    }
}

type Failures<K> = Arc<Mutex<HashMap<ObjectRef<K>, u32>>>;

/// Runs until `stop` is true and running work is done. Panics if a reconciliation panics.
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
                // A panic in a reconciliation ends the program.
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
        Err(_) if fault!("failed-statuses-forgotten") && name.ends_with("_status") => Action::await_change(),
        Err(error) => {
            report(name, object, &error);
            let count = failures.entry(object.clone()).or_default();
            *count += 1;
            Action::requeue(if fault!("retries-at-once") { FIRST_PAUSE } else { pause(*count) })
        }
    }
}

/// Waits until all reconcilers have ended after `stop`. Returns false as soon as one ends or panics before,
/// and aborts the others, because a partial controller looks healthy but is not.
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

/// DEL-07: in a namespace that is being deleted, there is nothing left to do.
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
