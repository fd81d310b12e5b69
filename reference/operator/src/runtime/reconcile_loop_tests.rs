//! One reconciler with stubbed reconciliations.

use grove_api::PodGang;
use kube::runtime::watcher::Event;
use serde_json::json;
use tokio::time::sleep;

use super::*;
use crate::context::test_api::World;

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

#[rstest::rstest]
#[case::alone(0, 250)]
#[case::few(10, 250)]
#[case::many(50, 500)]
#[case::too_many(100_000, 2000)]
fn more_objects_gather_longer(#[case] waiting: usize, #[case] milliseconds: u64) {
    let [least, each, most] = [250, 10, 2000].map(Duration::from_millis);
    assert_eq!(Gather { least, each, most }.pause(waiting), Duration::from_millis(milliseconds));
    assert_eq!(Gather::NONE.pause(waiting), Duration::ZERO);
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

/// A world with these PodGangs, and the settings of a reconciler that processes one at a time.
fn world(names: &[&str]) -> (World, Settings) {
    let mut world = World::new();
    names.iter().for_each(|name| world.feeds.pod_gangs.take(Event::Apply(pod_gang(name, "1"))));
    (world, Settings { name: "test", concurrency: 1, gather: Gather::NONE, after_own_writes: true })
}

fn pod_gang(name: &str, version: &str) -> PodGang {
    let metadata = json!({"name": name, "namespace": "ns", "uid": name, "resourceVersion": version});
    serde_json::from_value(json!({"metadata": metadata, "spec": {"podgroups": []}})).unwrap()
}

/// Requests `asked` from a reconciler that takes 1 s each, and returns which object it started after how many
/// seconds. The first reconciliation of an object fails if `fails`, and otherwise requeues after 60 s.
/// `later` arrives after 20 s.
async fn done(
    (mut world, settings): (World, Settings),
    asked: &[&str],
    fails: bool,
    later: Option<PodGang>,
) -> Vec<(String, u64)> {
    let (sender, inbox) = futures::channel::mpsc::unbounded();
    asked.iter().for_each(|name| sender.unbounded_send(ObjectRef::new(name).within("ns")).unwrap());
    let (stop, stopped) = watch::channel(false);
    let (begin, log) = (Instant::now(), Arc::<Mutex<Vec<(String, u64)>>>::default());
    let seen = Arc::clone(&log);
    let reconcile = move |object: Arc<PodGang>, _| {
        let seen = Arc::clone(&seen);
        async move {
            let name = object.metadata.name.clone().unwrap_or_default();
            let is_first = {
                let mut seen = seen.lock().unwrap();
                seen.push((name.clone(), begin.elapsed().as_secs()));
                seen.iter().filter(|(seen, _)| *seen == name).count() == 1
            };
            sleep(Duration::from_secs(1)).await;
            match (fails, is_first) {
                (true, true) => Err(ReconcileError::Waiting("as the case wants".to_owned())),
                (false, true) => Ok(Action::requeue(Duration::from_secs(60))),
                (_, false) => Ok(Action::await_change()),
            }
        }
    };
    let store = world.context.caches.pod_gangs.store.clone();
    let running = tokio::spawn(run(settings, store, inbox, Arc::clone(&world.context), stopped, reconcile));
    sleep(Duration::from_secs(20)).await;
    later.into_iter().for_each(|later| world.feeds.pod_gangs.take(Event::Apply(later)));
    sleep(Duration::from_secs(300)).await;
    stop.send_replace(true);
    running.await.unwrap();
    let log = log.lock().unwrap();
    log.clone()
}

fn said(done: &[(&str, u64)]) -> Vec<(String, u64)> {
    done.iter().map(|(name, at)| ((*name).to_owned(), *at)).collect()
}

#[tokio::test(start_paused = true)]
async fn objects_come_in_the_order_in_which_they_were_asked_for() {
    let done = done(world(&["a", "b", "c"]), &["c", "a", "gone", "b", "a"], false, None).await;
    assert_eq!(
        done,
        said(&[("c", 0), ("a", 1), ("b", 2), ("c", 61), ("a", 62), ("b", 63)]),
        "once, and again"
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_for_while_it_is_reconciled_is_reconciled_again_afterwards() {
    let (world, settings) = world(&["a"]);
    let done = done((world, Settings { concurrency: 9, ..settings }), &["a", "a"], false, None).await;
    assert_eq!(done, said(&[("a", 0), ("a", 1)]), "and not after a minute as well");
}

#[tokio::test(start_paused = true)]
async fn what_failed_is_tried_again() {
    assert_eq!(done(world(&["a"]), &["a"], true, None).await, said(&[("a", 0), ("a", 1)]));
}

#[tokio::test(start_paused = true)]
async fn the_cache_has_to_show_what_was_written_first() {
    let (world, settings) = world(&["a", "b"]);
    world.context.written.note(&pod_gang("a", "1"), Some("2"));
    let done = done((world, settings), &["a", "b"], false, Some(pod_gang("a", "2"))).await;
    assert_eq!(done, said(&[("b", 0), ("a", 20), ("b", 61), ("a", 81)]), "which holds up no other");
}
