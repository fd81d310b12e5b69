//! Runs one reconciler: kube's applier with growing pauses after failures, metrics and logs.
//!
//! The applier never reconciles one object twice at a time, and folds requests that arrive meanwhile into
//! one.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::stream::{self, BoxStream, FuturesUnordered};
use futures::{FutureExt, Stream, StreamExt};
use kube::Resource;
use kube::runtime::controller::{Action, Config};
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::{applier, controller};
use tokio::sync::watch;
use tokio::task::JoinSet;
use webhook_server::told;

use super::context::Context;
use super::error::ReconcileError;
use super::queues::Inbox;

/// The pause after a first failure.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// How one reconciler runs.
pub(super) struct Settings {
    /// Name in logs and metrics.
    pub name: &'static str,
    /// Objects reconciled at a time.
    pub concurrency: u16,
    /// How long changes gather before an object is reconciled.
    pub gather: Duration,
}

/// Consecutive failures by object.
type Failures<K> = Arc<Mutex<HashMap<ObjectRef<K>, u32>>>;

/// Runs until `stop` says true and what has begun is done.
pub(super) async fn run<K, R, F>(
    settings: Settings,
    store: Store<K>,
    inbox: Inbox<K>,
    context: Arc<Context>,
    stop: watch::Receiver<bool>,
    reconcile: R,
) where
    K: Resource<DynamicType = ()> + Clone + Send + Sync + 'static,
    R: Fn(Arc<K>, Arc<Context>) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Action, ReconcileError>> + Send + 'static,
{
    let name = settings.name;
    let failures = Failures::<K>::default();
    let counted = Arc::clone(&failures);
    let queue = gathered(inbox.take_until(told(stop).boxed()), settings.gather);
    let queue = queue.map(Ok::<_, std::convert::Infallible>);
    let one = move |object: Arc<K>, context: Arc<Context>| {
        let (begun, metrics) = (Instant::now(), context.metrics.clone());
        let reference = ObjectRef::from_obj(&*object);
        let (work, counted) = (reconcile(object, Arc::clone(&context)), Arc::clone(&counted));
        async move {
            let namespace = reference.namespace.clone().unwrap_or_default();
            if let Some(rest) = context.ending.rest(&namespace) {
                return Ok(Action::requeue(rest));
            }
            let result = work.await;
            if result.as_ref().is_err_and(ReconcileError::is_namespace_gone) {
                context.ending.note(&namespace);
            }
            let result = quiet_if_namespace_gone(result, &reference);
            metrics.reconciled(name, begun.elapsed(), result.is_err());
            if context.faults.failed_statuses_forgotten && name.ends_with("_status") {
                return result.or_else(|_| Ok(Action::await_change()));
            }
            let mut failures = counted.lock().unwrap_or_else(PoisonError::into_inner);
            match &result {
                Ok(_) => drop(failures.remove(&reference)),
                Err(error) => {
                    *failures.entry(reference.clone()).or_default() += 1;
                    report(name, &reference, error);
                }
            }
            result
        }
        .boxed()
    };
    let after_failure = move |object: Arc<K>, _: &ReconcileError, context: Arc<Context>| {
        if context.faults.retries_at_once {
            return Action::requeue(FIRST_PAUSE);
        }
        let failures = failures.lock().unwrap_or_else(PoisonError::into_inner);
        Action::requeue(pause(failures.get(&ObjectRef::from_obj(&*object)).copied().unwrap_or(1)))
    };
    let config = Config::default().concurrency(settings.concurrency);
    applier(one, after_failure, context, store, queue, config)
        .for_each(|outcome| {
            // Failures have been reported; that an object is gone is no news.
            if let Err(error @ (controller::Error::QueueError(_) | controller::Error::RunnerError(_))) =
                outcome
            {
                tracing::error!(reconciler = name, %error, "reconciler failed");
            }
            std::future::ready(())
        })
        .await;
}

/// Each object a while after it was asked for, however often it is asked for again meanwhile. (A debounce would begin anew each
/// time, and one that is asked for without a pause would never come.)
fn gathered<K: Resource<DynamicType = ()> + 'static>(
    inbox: impl Stream<Item = ObjectRef<K>> + Send + 'static,
    pause: Duration,
) -> BoxStream<'static, ObjectRef<K>> {
    if pause.is_zero() {
        return inbox.boxed();
    }
    let later = move |object: ObjectRef<K>| async move {
        tokio::time::sleep(pause).await;
        object
    };
    let state = (inbox.boxed().fuse(), FuturesUnordered::new(), HashSet::new());
    stream::unfold(state, move |(mut inbox, mut waiting, mut known)| async move {
        loop {
            tokio::select! {
                biased;
                Some(object) = waiting.next() => {
                    known.remove(&object);
                    return Some((object, (inbox, waiting, known)));
                }
                asked = inbox.next(), if !inbox.is_done() => match asked {
                    Some(object) if known.insert(object.clone()) => waiting.push(later(object)),
                    Some(_) => {}
                    None => return None,
                },
            }
        }
    })
    .boxed()
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
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::told(true, false, true)]
    #[case::unasked(false, false, false)]
    #[case::panicked(false, true, false)]
    #[tokio::test]
    async fn no_reconciler_may_end_unasked(#[case] asked: bool, #[case] panics: bool, #[case] well: bool) {
        let (_keep, stop) = watch::channel(asked);
        let mut reconcilers = JoinSet::new();
        reconcilers.spawn(async move { assert!(!panics, "as the case wants") });
        if !asked {
            reconcilers.spawn(std::future::pending());
        }
        assert_eq!(ended_as_told(reconcilers, &stop).await, well);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_asked_for_without_a_pause_comes_all_the_same() {
        let asked = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            Some((ObjectRef::<grove_api::PodGang>::new("busy"), ()))
        });
        let begin = tokio::time::Instant::now();
        let gathered = gathered(asked, Duration::from_millis(100));
        let names: Vec<_> = gathered.take(3).map(|object| object.name).collect().await;
        assert_eq!(names, ["busy"; 3]);
        assert!((300..=350).contains(&begin.elapsed().as_millis()), "one in 100 ms: {:?}", begin.elapsed());
        let none = super::gathered(stream::empty::<ObjectRef<grove_api::PodGang>>(), Duration::ZERO);
        assert_eq!(none.count().await, 0);
    }

    #[rstest::rstest]
    #[case(1, 50)]
    #[case(2, 100)]
    #[case(5, 800)]
    #[case(9, 10_000)]
    #[case(1000, 10_000)]
    fn pauses_grow_up_to_a_limit(#[case] failures: u32, #[case] milliseconds: u64) {
        assert_eq!(pause(failures), Duration::from_millis(milliseconds));
    }
}
