use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{Config, Error, Event, watcher};

use crate::parents::Parents;

pub(crate) async fn until_ready(pods: Api<Pod>, parents: Parents) {
    let config = Config::default().labels(&parents.selector());
    until(Box::pin(watcher(pods, config).default_backoff()), parents).await;
}

async fn until(mut events: impl Stream<Item = Result<Event<Pod>, Error>> + Unpin, mut parents: Parents) {
    let mut is_listing = true;
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Init) => {
                parents.forget();
                is_listing = true;
            }
            Ok(Event::InitApply(pod) | Event::Apply(pod)) => parents.update(&pod),
            Ok(Event::Delete(pod)) => parents.remove(&pod),
            Ok(Event::InitDone) => is_listing = false,
            Err(error) => tracing::warn!(%error, "the watch of the pods failed; retrying"),
        }
        if !is_listing && parents.are_ready() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;

    use super::*;
    use crate::parents::tests;

    fn pod(name: &str) -> Pod {
        tests::pod(name, "w-0-a", true, false)
    }

    async fn consumed_events(events: Vec<Event<Pod>>) -> usize {
        let mut left = stream::iter(events.into_iter().map(Ok));
        let count = left.size_hint().0;
        until(&mut left, Parents::new(vec!["w-0-a:2".parse().unwrap()])).await;
        count - left.size_hint().0
    }

    #[tokio::test]
    async fn pods_are_counted_after_a_complete_list_and_after_each_event() {
        let listed =
            vec![Event::Init, Event::InitApply(pod("p")), Event::InitApply(pod("q")), Event::InitDone];
        assert_eq!(consumed_events(listed).await, 4);
        let later = vec![Event::Init, Event::InitDone, Event::Apply(pod("p")), Event::Apply(pod("q"))];
        assert_eq!(consumed_events([later, vec![Event::Delete(pod("q"))]].concat()).await, 4);
    }

    #[tokio::test]
    async fn pods_missing_from_a_new_list_are_forgotten() {
        let events = vec![
            Event::Init,
            Event::InitApply(pod("p")),
            Event::InitDone,
            Event::Init,
            Event::InitApply(pod("q")),
            Event::InitDone,
            Event::Apply(pod("p")),
            Event::Apply(pod("r")),
        ];
        assert_eq!(consumed_events(events).await, 7);
    }
}
