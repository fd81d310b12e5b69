use grove_api::PodGang;
use kube::runtime::watcher::Event;
use serde_json::json;
use tokio::time::sleep;

use super::*;
use crate::context::test_api::World;

#[rstest::rstest]
#[case::after_a_stop(true, false, true)]
#[case::without_a_stop(false, false, false)]
#[case::panicked(false, true, false)]
#[tokio::test]
async fn a_reconciler_that_ends_before_the_stop_is_a_failure(
    #[case] stopped: bool,
    #[case] panics: bool,
    #[case] succeeds: bool,
) {
    let stop = CancellationToken::new();
    if stopped {
        stop.cancel();
    }
    let mut reconcilers = JoinSet::new();
    reconcilers.spawn(async move { assert!(!panics, "the case panics") });
    if !stopped {
        reconcilers.spawn(std::future::pending());
    }
    assert_eq!(wait_for_shutdown(reconcilers, &stop).await, succeeds);
}

#[rstest::rstest]
#[case::alone(0, 250)]
#[case::few(10, 250)]
#[case::many(50, 500)]
#[case::too_many(100_000, 2000)]
fn the_delay_grows_with_the_number_of_waiting_objects(#[case] waiting: usize, #[case] milliseconds: u64) {
    let [min, per_waiting, max] = [250, 10, 2000].map(Duration::from_millis);
    assert_eq!(Gather { min, per_waiting, max }.delay(waiting), Duration::from_millis(milliseconds));
    assert_eq!(Gather::NONE.delay(waiting), Duration::ZERO);
}

#[rstest::rstest]
#[case(1, 50)]
#[case(2, 100)]
#[case(5, 800)]
#[case(9, 10_000)]
#[case(1000, 10_000)]
fn the_backoff_grows_up_to_a_limit(#[case] failures: u32, #[case] milliseconds: u64) {
    assert_eq!(backoff(failures), Duration::from_millis(milliseconds));
}

fn world(names: &[&str]) -> (World, Settings) {
    let mut world = World::new();
    names.iter().for_each(|name| world.feeds.pod_gangs.take(Event::Apply(pod_gang(name, "1"))));
    (world, Settings { name: "test", concurrency: 1, gather: Gather::NONE, after_own_writes: true })
}

fn pod_gang(name: &str, version: &str) -> PodGang {
    let metadata = json!({"name": name, "namespace": "ns", "uid": name, "resourceVersion": version});
    serde_json::from_value(json!({"metadata": metadata, "spec": {"podgroups": []}})).unwrap()
}

/// Each reconciliation takes 1 s. Returns the second at which each one started. The first one of an object
/// fails if `fails`; the others requeue after 60 s. After 20 s, the cache receives `later`.
async fn reconciled(
    (mut world, settings): (World, Settings),
    requested: &[&str],
    fails: bool,
    later: Option<PodGang>,
) -> Vec<(String, u64)> {
    let (sender, inbox) = futures::channel::mpsc::unbounded();
    requested.iter().for_each(|name| sender.unbounded_send(ObjectRef::new(name).within("ns")).unwrap());
    let stop = CancellationToken::new();
    let (start, log) = (Instant::now(), Arc::<Mutex<Vec<(String, u64)>>>::default());
    let seen = Arc::clone(&log);
    let reconcile = move |object: Arc<PodGang>, _| {
        let seen = Arc::clone(&seen);
        async move {
            let name = object.metadata.name.clone().unwrap_or_default();
            let is_first = {
                let mut seen = seen.lock();
                seen.push((name.clone(), start.elapsed().as_secs()));
                seen.iter().filter(|(seen, _)| *seen == name).count() == 1
            };
            sleep(Duration::from_secs(1)).await;
            match (fails, is_first) {
                (true, true) => Err(ReconcileError::Waiting("the case fails".to_owned())),
                (false, true) => Ok(Action::requeue(Duration::from_secs(60))),
                (_, false) => Ok(Action::await_change()),
            }
        }
    };
    let store = world.context.caches.pod_gangs.store.clone();
    let context = Arc::clone(&world.context);
    let running = tokio::spawn(run(settings, store, inbox, context, stop.clone(), reconcile));
    sleep(Duration::from_secs(20)).await;
    later.into_iter().for_each(|later| world.feeds.pod_gangs.take(Event::Apply(later)));
    sleep(Duration::from_secs(300)).await;
    stop.cancel();
    running.await.unwrap();
    let log = log.lock();
    log.clone()
}

fn expected(starts: &[(&str, u64)]) -> Vec<(String, u64)> {
    starts.iter().map(|(name, at)| ((*name).to_owned(), *at)).collect()
}

#[tokio::test(start_paused = true)]
async fn objects_are_reconciled_in_the_order_of_their_requests() {
    let starts = reconciled(world(&["a", "b", "c"]), &["c", "a", "deleted", "b", "a"], false, None).await;
    let requeued = [("c", 0), ("a", 1), ("b", 2), ("c", 61), ("a", 62), ("b", 63)];
    assert_eq!(starts, expected(&requeued), "each once, and again when it is requeued");
}

#[tokio::test(start_paused = true)]
async fn an_object_requested_during_its_reconciliation_is_reconciled_again_afterwards() {
    let (world, settings) = world(&["a"]);
    let settings = Settings { concurrency: 9, ..settings };
    let starts = reconciled((world, settings), &["a", "a"], false, None).await;
    assert_eq!(starts, expected(&[("a", 0), ("a", 1)]), "the second one replaces the requeue after a minute");
}

#[tokio::test(start_paused = true)]
async fn a_failed_reconciliation_is_retried() {
    assert_eq!(reconciled(world(&["a"]), &["a"], true, None).await, expected(&[("a", 0), ("a", 1)]));
}

#[tokio::test(start_paused = true)]
async fn an_object_waits_until_the_cache_shows_its_last_write() {
    let (world, settings) = world(&["a", "b"]);
    world.context.written.record(&pod_gang("a", "1"), Some("2"));
    let starts = reconciled((world, settings), &["a", "b"], false, Some(pod_gang("a", "2"))).await;
    let delayed = [("b", 0), ("a", 20), ("b", 61), ("a", 81)];
    assert_eq!(starts, expected(&delayed), "a waiting object delays no other");
}
