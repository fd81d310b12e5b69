//! A warning is published only when its note changes, so a repeated failure causes no writes (GANG-11).

use std::collections::HashMap;

use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Client, Resource};
use parking_lot::Mutex;

use super::error::ReconcileError;

/// The API's limit for a note, in bytes.
const MAX_NOTE: usize = 1024;

pub(super) const REPORTER: &str = "grove-backend-controller";

/// Reasons of warnings that the status of a PodGang also reports.
pub(crate) const REASON_POD_CREATE_FAILED: &str = "PodCreateFailed";
pub(crate) const REASON_SYNC_FAILED: &str = "PodGangSyncFailed";
/// The backend of a PodCliqueSet or PodGang is not enabled (ADM-22).
pub(crate) const REASON_BACKEND_DISABLED: &str = "SchedulerBackendDisabled";

pub(crate) struct Events {
    client: Client,
    warnings: Mutex<HashMap<(String, &'static str), String>>,
}

impl Events {
    pub(crate) fn new(client: Client) -> Self {
        Self { client, warnings: Mutex::default() }
    }

    pub(crate) async fn publish<K: Resource<DynamicType = ()>>(
        &self,
        object: &K,
        reason: &'static str,
        note: &str,
    ) {
        self.send(object, EventType::Normal, reason, note).await;
    }

    pub(crate) async fn warn<K: Resource<DynamicType = ()>>(
        &self,
        object: &K,
        reason: &'static str,
        note: &str,
    ) {
        if self.is_new_warning(object, reason, note) {
            self.send(object, EventType::Warning, reason, note).await;
        }
    }

    async fn send<K: Resource<DynamicType = ()>>(
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
        // A shared recorder would count an event with the same reason as a repetition, and keep the old note.
        let reporter = Reporter { controller: REPORTER.to_owned(), instance: Some(REPORTER.to_owned()) };
        let recorder = Recorder::new(self.client.clone(), reporter);
        if let Err(error) = recorder.publish(&event, &object.object_ref(&())).await {
            tracing::debug!(%error, reason, "cannot publish the event");
        }
    }

    /// Publishes a warning only if a user has to act: not for a wait or a terminating namespace.
    pub(crate) async fn report<K: Resource<DynamicType = ()>, T>(
        &self,
        object: &K,
        reason: &'static str,
        result: Result<T, ReconcileError>,
    ) -> Result<T, ReconcileError> {
        match &result {
            Ok(_) => self.reset_warning(object, reason),
            Err(error) if error.is_waiting() || error.is_namespace_gone() => {}
            Err(error) => self.warn(object, reason, &error.to_string()).await,
        }
        result
    }

    pub(crate) fn reset_warning<K: Resource<DynamicType = ()>>(&self, object: &K, reason: &'static str) {
        if let Some(uid) = &object.meta().uid {
            self.warnings.lock().remove(&(uid.clone(), reason));
        }
    }

    pub(crate) fn last_warning<K: Resource<DynamicType = ()>>(
        &self,
        object: &K,
        reason: &'static str,
    ) -> Option<String> {
        let warnings = self.warnings.lock();
        warnings.get(&(object.meta().uid.clone()?, reason)).cloned()
    }

    pub(crate) fn forget(&self, uid: &str) {
        let mut warnings = self.warnings.lock();
        warnings.retain(|(object, _), _| object != uid);
    }

    fn is_new_warning<K: Resource<DynamicType = ()>>(
        &self,
        object: &K,
        reason: &'static str,
        note: &str,
    ) -> bool {
        let uid = object.meta().uid.clone().unwrap_or_default();
        let mut warnings = self.warnings.lock();
        warnings.insert((uid, reason), note.to_owned()).as_deref() != Some(note)
    }
}
