//! The watch of one kind. After a lost watch, kube's `watcher` lists again and hides the loss from histories.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use conformance_history::{Change, Kind};
use futures::TryStreamExt;
use kube::Client;
use kube::core::WatchEvent;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::health::Health;
use super::logs::Logs;
use super::served_kind::{ServedKind, api_versions};

/// Pause between the first retries, short because a restarted API server is soon ready.
const SHORT_PAUSE: Duration = Duration::from_millis(200);
const MANY_FAILURES: u32 = 50;
const LONG_PAUSE: Duration = Duration::from_secs(1);
const LIST_LIMIT: Duration = Duration::from_secs(30);
/// The API server ends a watch after this time.
const WATCH: Duration = Duration::from_secs(290);
/// A watch that is open for longer has lost its connection, for example at a load balancer.
pub(super) const WATCH_LIMIT: Duration = Duration::from_secs(320);
/// The list is read in pages, because a full list of a large cluster would take hundreds of MiB.
const PAGE: u32 = 500;

#[derive(Clone)]
pub(super) struct Watching {
    pub client: Client,
    pub logs: Logs,
    pub health: Health,
}

enum Resume {
    AtOnce,
    NotServed,
    /// The number of consecutive failures, which determines the pause.
    Retry(u32),
    Relist(String),
}

impl Watching {
    /// Lists and watches the kind indefinitely. `silent` restarts an open watch that may have stopped
    /// delivering events. This was observed for PodCliques on a control plane that had just started.
    pub(super) async fn follow(self, served: ServedKind, silent: Arc<Notify>) {
        let mut from: Option<String> = None;
        let mut lost: Option<String> = None;
        loop {
            let kind = served.get();
            let mut version = match from.take() {
                Some(version) => version,
                None => match timeout(LIST_LIMIT, list(&self.client, &kind, None)).await {
                    Ok(Ok((version, items))) => {
                        self.logs.relist(kind.name, items, &version, lost.take().as_deref());
                        self.health.record_success(&kind, false);
                        version
                    }
                    // The API server does not serve the kind yet.
                    Ok(Err(kube::Error::Api(status))) if status.code == 404 => {
                        self.health.record_success(&kind, true);
                        served.look_up(&self.client).await;
                        sleep(SHORT_PAUSE).await;
                        continue;
                    }
                    Ok(Err(error)) => {
                        pause(self.health.record_error(&kind, "list", &error)).await;
                        continue;
                    }
                    Err(_) => {
                        pause(self.health.record_no_response(&kind, "list", LIST_LIMIT)).await;
                        continue;
                    }
                },
            };
            let resume = tokio::select! {
                resume = self.watch_from(&kind, &mut version) => resume,
                () = silent.notified() => {
                    tracing::info!(kind = kind.name, "the watch did not deliver what a list shows, restarting it");
                    Resume::AtOnce
                }
                () = sleep(WATCH_LIMIT) => {
                    tracing::info!(kind = kind.name, "the API server did not end the watch, restarting it");
                    Resume::AtOnce
                }
            };
            match resume {
                Resume::AtOnce => from = Some(version),
                // The watch can continue at `version`, because API versions share resourceVersions.
                Resume::NotServed => {
                    from = Some(version);
                    served.look_up(&self.client).await;
                    sleep(SHORT_PAUSE).await;
                }
                Resume::Retry(failures) => {
                    from = Some(version);
                    pause(failures).await;
                }
                Resume::Relist(reason) => {
                    tracing::warn!(
                        kind = kind.name,
                        reason,
                        "a watch was lost; the recorder lists the kind again"
                    );
                    lost = Some(reason);
                }
            }
        }
    }

    /// Watches from `version` on, and advances `version` to the last delivered one.
    async fn watch_from(&self, kind: &Kind, version: &mut String) -> Resume {
        let path = format!(
            "{}?watch=true&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion={version}",
            kind.path(None),
            WATCH.as_secs()
        );
        let stream = match http::Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError) {
            Ok(request) => self.client.request_events::<Value>(request).await,
            Err(error) => Err(error),
        };
        let mut stream = match stream {
            Ok(stream) => pin!(stream),
            Err(kube::Error::Api(status)) if status.code == 410 => {
                return Resume::Relist(status.message.clone());
            }
            // The API server no longer serves the kind. Its objects were deleted before that.
            Err(kube::Error::Api(status)) if status.code == 404 => {
                self.health.record_success(kind, true);
                return Resume::NotServed;
            }
            Err(error) => return Resume::Retry(self.health.record_error(kind, "watch", &error)),
        };
        self.health.record_success(kind, true);
        loop {
            let (change, object) = match stream.try_next().await {
                Ok(Some(WatchEvent::Added(object))) => (Change::Added, object),
                Ok(Some(WatchEvent::Modified(object))) => (Change::Modified, object),
                Ok(Some(WatchEvent::Deleted(object))) => (Change::Deleted, object),
                Ok(Some(WatchEvent::Bookmark(bookmark))) => {
                    *version = bookmark.metadata.resource_version;
                    self.logs.reached(kind.name, version);
                    continue;
                }
                Ok(Some(WatchEvent::Error(status))) if status.code == 410 => {
                    return Resume::Relist(status.message.clone());
                }
                Ok(Some(WatchEvent::Error(status))) => {
                    return Resume::Retry(self.health.record_error(kind, "watch", &kube::Error::Api(status)));
                }
                Err(error) => return Resume::Retry(self.health.record_error(kind, "watch", &error)),
                Ok(None) => return Resume::AtOnce,
            };
            if let Some(at) = object["metadata"]["resourceVersion"].as_str() {
                *version = at.to_owned();
            }
            self.logs.record(kind.name, change, with_kind(object, kind));
        }
    }
}

async fn pause(failures: u32) {
    sleep(if failures < MANY_FAILURES { SHORT_PAUSE } else { LONG_PAUSE }).await;
}

/// Retries until the API server answers. `last` receives the last error.
pub(super) async fn first_api_versions(client: &Client, last: &mut String) -> BTreeSet<String> {
    loop {
        match api_versions(client).await {
            Ok(versions) => return versions,
            Err(error) => {
                *last = error.to_string();
                sleep(SHORT_PAUSE).await;
            }
        }
    }
}

pub(super) async fn list(
    client: &Client,
    kind: &Kind,
    namespace: Option<&str>,
) -> kube::Result<(String, Vec<Value>)> {
    let mut all = Vec::new();
    let mut from = String::new();
    loop {
        let path = format!("{}?limit={PAGE}{from}", kind.path(namespace));
        let request = http::Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
        let mut list: Value = client.request(request).await?;
        if let Value::Array(items) = list["items"].take() {
            all.extend(items.into_iter().map(|item| with_kind(item, kind)));
        }
        let metadata = &list["metadata"];
        match metadata["continue"].as_str().filter(|more| !more.is_empty()) {
            Some(more) => from = format!("&continue={more}"),
            None => return Ok((metadata["resourceVersion"].as_str().unwrap_or_default().to_owned(), all)),
        }
    }
}

/// Sets the kind, which list items lack, to the name that histories use, which is unique across groups.
fn with_kind(mut item: Value, kind: &Kind) -> Value {
    item["kind"] = kind.name.into();
    item["apiVersion"] = kind.api_version.into();
    item
}
