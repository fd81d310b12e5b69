//! Kubernetes Events about what a user should know.
//!
//! An event is published when there is something new to say about an object, not on every retry: a workload
//! that rests in a bad state is still at rest (GANG-11).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Client, Resource};

use super::error::ReconcileError;

/// Longest note the API takes, in bytes.
const MAX_NOTE: usize = 1024;

/// Name under which events are reported.
pub(super) const REPORTER: &str = "grove-backend-controller";

/// Publishes events.
pub(super) struct Events {
    client: Client,
    said: Mutex<HashMap<(String, &'static str), String>>,
}

impl Events {
    /// Publishes through `client`.
    pub(super) fn new(client: Client) -> Self {
        Self { client, said: Mutex::default() }
    }

    /// Tells of something that was done to `object`, as often as it is.
    pub(super) async fn tell<K: Resource<DynamicType = ()>>(
        &self,
        object: &K,
        reason: &'static str,
        note: &str,
    ) {
        self.publish(object, EventType::Normal, reason, note).await;
    }

    /// Warns about `object` unless the last warning of this reason said the same.
    pub(super) async fn warn<K: Resource<DynamicType = ()>>(
        &self,
        object: &K,
        reason: &'static str,
        note: &str,
    ) {
        if self.is_news(object, reason, note) {
            self.publish(object, EventType::Warning, reason, note).await;
        }
    }

    async fn publish<K: Resource<DynamicType = ()>>(
        &self,
        object: &K,
        type_: EventType,
        reason: &'static str,
        note: &str,
    ) {
        let mut note = note.to_owned();
        note.truncate(note.floor_char_boundary(MAX_NOTE));
        let event = Event {
            type_,
            reason: reason.to_owned(),
            note: Some(note),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        // A recorder that lives on counts a new note of the same reason as a repetition of the old one, which it keeps.
        let reporter = Reporter { controller: REPORTER.to_owned(), instance: Some(REPORTER.to_owned()) };
        let recorder = Recorder::new(self.client.clone(), reporter);
        if let Err(error) = recorder.publish(&event, &object.object_ref(&())).await {
            tracing::debug!(%error, reason, "event not published");
        }
    }

    /// Tells of writes that failed, and forgets it once they have not. What only waits, and what a namespace that goes takes
    /// with it, is nobody's to put right.
    pub(super) async fn told<K: Resource<DynamicType = ()>, T>(
        &self,
        object: &K,
        reason: &'static str,
        result: Result<T, ReconcileError>,
    ) -> Result<T, ReconcileError> {
        match &result {
            Ok(_) => self.settled(object, reason),
            Err(error) if error.is_waiting() || error.is_namespace_gone() => {}
            Err(error) => self.warn(object, reason, &error.to_string()).await,
        }
        result
    }

    /// Forgets what was reported with this reason, so that it is reported again if it comes back.
    pub(super) fn settled<K: Resource<DynamicType = ()>>(&self, object: &K, reason: &'static str) {
        if let Some(uid) = &object.meta().uid {
            self.said.lock().unwrap_or_else(PoisonError::into_inner).remove(&(uid.clone(), reason));
        }
    }

    /// The last warning of this reason, unless that is settled.
    pub(super) fn standing<K: Resource<DynamicType = ()>>(
        &self,
        object: &K,
        reason: &'static str,
    ) -> Option<String> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.get(&(object.meta().uid.clone()?, reason)).cloned()
    }

    /// Forgets an object that is gone.
    pub(super) fn forget(&self, uid: &str) {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).retain(|(of, _), _| of != uid);
    }

    fn is_news<K: Resource<DynamicType = ()>>(&self, object: &K, reason: &'static str, note: &str) -> bool {
        let uid = object.meta().uid.clone().unwrap_or_default();
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.insert((uid, reason), note.to_owned()).as_deref() != Some(note)
    }
}
