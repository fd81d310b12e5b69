//! Finds leftovers in the namespace of a case, of every kind that the API server lists. A history contains
//! only the kinds that cases need, but a controller may also leave a Role or a Secret (DEL-01).

use std::time::Instant;

use conformance_cluster::ClusterError;
use conformance_expect::Gang;
use conformance_facts::leftovers::{Leftovers, is_unrelated};
use conformance_facts::ownership::{left_of, services_of};
use conformance_history::SharedMark;

use futures::future::try_join_all;
use kube::Api;
use kube::api::{DynamicObject, ListParams};
use kube::discovery::{ApiResource, Discovery, Scope, verbs};
use serde_json::{Value, json};

use super::limits::{CLEANUP, NAMESPACE_END, NAMESPACE_QUIET};
use super::namespace_end::Progress;
use crate::context::{Stop, TestContext};

impl TestContext {
    pub async fn take_baseline(&self) -> Result<(), Stop> {
        let present = self.present(&self.listable().await?).await?;
        self.mark(SharedMark::Baseline, present.into());
        Ok(())
    }

    /// Waits until only the objects of the baseline remain in the namespace. On a timeout it records the
    /// leftovers, and a check decides. [`TestContext::take_baseline`] must come first.
    pub async fn until_nothing_left(&self) -> Result<(), Stop> {
        if self.history().marks(SharedMark::Baseline).next().is_none() {
            let action = "list the remaining objects".into();
            return Err(Stop::Refused {
                action,
                reason: "the case recorded no baseline before its first submit".into(),
            });
        }
        let begin = Instant::now();
        let kinds = self.listable().await?;
        let mut changes = self.test_cluster.recorder.follow(&self.namespace);
        let watched = Leftovers::of(&self.history(), std::iter::empty::<&Value>());
        let is_late = || begin.elapsed() > self.length_since(CLEANUP, begin);
        loop {
            // Lists of all kinds load the API server, so the watched kinds must be deleted first.
            if is_late() || !self.look(|live| live.all().any(|object| watched.contains(object))) {
                let present = self.present(&kinds).await?;
                let leftovers = Leftovers::of(&self.history(), &present);
                let is_listed = present.iter().any(|object| leftovers.contains(object));
                // A list may already omit a deleted object whose deletion the watch has not delivered yet.
                let is_delivered = || self.look(|live| live.all().any(|object| leftovers.contains(object)));
                if (!is_listed && !is_delivered()) || is_late() {
                    self.test_cluster.cluster.healthy().await?;
                    self.mark(SharedMark::LeftOver, present.into());
                    return Ok(());
                }
            }
            // Wake up on watch events, and poll the kinds that are not watched, without much load.
            let _ = tokio::time::timeout(std::time::Duration::from_millis(200), changes.changed()).await;
        }
    }

    pub async fn until_gangs_deleted(&self, gangs: &[Gang]) -> Result<(), Stop> {
        let history = self.history();
        self.until("all objects of the removed PodGangs deleted", CLEANUP, |live| {
            left_of(&history, live, gangs).next().is_none()
        })
        .await
    }

    pub async fn try_until_services_deleted(&self, gangs: &[Gang]) -> Result<(), Stop> {
        let target = self.target;
        let deleted = self.until("the Services of the removed PodGangs deleted", CLEANUP, |live| {
            services_of(target, live, gangs).next().is_none()
        });
        self.continue_after_timeout(deleted.await).map(drop)
    }

    /// Waits until the namespace of the case is deleted, or until the deletion has made no progress for
    /// [`NAMESPACE_QUIET`]. This is longer than any pause of the namespace controller.
    pub async fn until_namespace_deleted(&self) -> Result<(), Stop> {
        let recorder = &self.test_cluster.recorder;
        let (mut cluster_changes, mut changes) = (recorder.follow(""), recorder.follow(&self.namespace));
        let progress = || {
            let namespace = recorder.look("", |live| live.get("Namespace", &self.namespace).cloned());
            self.look(|live| Progress::of(namespace.as_ref(), live))
        };
        let begin = Instant::now();
        let (mut last, mut since) = (Progress::default(), Instant::now());
        let end = loop {
            let Some(now) = progress() else { break "gone" };
            if now.is_further_than(&last) {
                since = Instant::now();
                tracing::debug!(
                    case = self.case.id,
                    progress = now.describe(),
                    "the namespace is terminating"
                );
            }
            last = now;
            if begin.elapsed() > self.length_since(NAMESPACE_END, begin) {
                return Err(self.timed_out("the namespace deleted", NAMESPACE_END, begin).await);
            }
            let Some(left) = self.length_since(NAMESPACE_QUIET, since).checked_sub(since.elapsed()) else {
                break "stuck";
            };
            let changed = async {
                tokio::select! { _ = cluster_changes.changed() => {}, _ = changes.changed() => {} }
            };
            let _ = tokio::time::timeout(left, changed).await;
        };
        self.test_cluster.cluster.healthy().await?;
        let detail = json!({"end": end, "seconds": begin.elapsed().as_secs_f64(), "last": last.describe()});
        self.mark(SharedMark::WaitedForNamespace, detail);
        Ok(())
    }

    async fn present(&self, kinds: &[ApiResource]) -> Result<Vec<Value>, Stop> {
        let lists = try_join_all(kinds.iter().map(|kind| self.list(kind))).await?;
        Ok(lists.into_iter().flatten().filter(|object| !is_unrelated(object)).collect())
    }

    async fn list(&self, kind: &ApiResource) -> Result<Vec<Value>, Stop> {
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.test_cluster.client.clone(), &self.namespace, kind);
        let failed = |source| ClusterError::api(format!("list {}", kind.plural), source);
        let found = api.list(&ListParams::default()).await.map_err(failed)?;
        Ok(found
            .items
            .into_iter()
            .map(|object| json!({"apiVersion": kind.api_version, "kind": kind.kind, "metadata": object.metadata}))
            .collect())
    }

    async fn listable(&self) -> Result<Vec<ApiResource>, Stop> {
        let failed = |source| ClusterError::api("discover the kinds of the API server", source);
        let discovery = Discovery::new(self.test_cluster.client.clone()).run().await.map_err(failed)?;
        let all = discovery.groups().flat_map(|group| group.resources_by_stability());
        let listable =
            all.filter(|(_, able)| able.scope == Scope::Namespaced && able.supports_operation(verbs::LIST));
        Ok(listable.map(|(kind, _)| kind).collect())
    }
}
