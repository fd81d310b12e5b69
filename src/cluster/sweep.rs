//! Finds and removes everything with a run's label in a cluster that outlives the run (`clean --kubeconfig`).
//! The label is checked in the request and in the response, and only the UID that was listed is deleted. A
//! simulated node is deleted. Any other node only loses the run's labels and taints.

use std::fmt;
use std::time::Duration;

use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, Preconditions};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::ClusterError;
use super::polling::{names_left, until_complete};
use super::real_nodes::{PREVIOUS, restore, restoring};
use super::shared::{self, SHARED};
use super::workers::SLOTS;

const DELETED: Duration = Duration::from_secs(120);
const SIMULATED: &str = "kwok.x-k8s.io/node";

/// Cluster-scoped kinds, in the order of removal. Nodes come last, because pods run on them.
const KINDS: [(&str, &str, &str); 9] = [
    ("", "v1", "Namespace"),
    ("grove.io", "v1alpha1", "ClusterTopologyBinding"),
    ("scheduling.volcano.sh", "v1beta1", "Queue"),
    ("topology.volcano.sh", "v1alpha1", "HyperNode"),
    ("scheduling.koordinator.sh", "v1alpha1", "ClusterNetworkTopology"),
    ("kai.scheduler", "v1alpha1", "Topology"),
    ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io", "v1", "ClusterRole"),
    ("", "v1", "Node"),
];

#[derive(Debug, Clone, Copy)]
pub struct RunLabel<'a> {
    pub key: &'a str,
    /// `None` selects every run.
    pub run: Option<&'a str>,
}

impl RunLabel<'_> {
    fn selector(&self) -> String {
        match self.run {
            Some(run) => format!("{} in ({run},{SHARED})", self.key),
            None => self.key.to_owned(),
        }
    }

    fn is_on(&self, object: &DynamicObject) -> bool {
        let is_selected = |value: &String| self.run.is_none_or(|run| run == value || SHARED == value);
        object.labels().get(self.key).is_some_and(is_selected)
    }

    /// Returns the selected run if the object is shared; `None` if every run is selected.
    fn holder(&self, object: &DynamicObject) -> Option<&str> {
        self.run.filter(|_| object.labels().get(self.key).is_some_and(|value| value == SHARED))
    }
}

#[derive(Debug)]
pub struct Left {
    api: Api<DynamicObject>,
    kind: &'static str,
    object: DynamicObject,
    run: String,
    /// The selected run that holds the object, if the object is shared.
    holder: Option<String>,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, name) = (self.kind, self.object.name_any());
        match &self.holder {
            _ if self.is_leased() => write!(f, "{kind} {name} of run {} (labels and taints only)", self.run),
            Some(holder) => write!(f, "{kind} {name} of run {holder} (unless another run holds it)"),
            None if self.run == SHARED => write!(f, "{kind} {name} of all runs"),
            None => write!(f, "{kind} {name} of run {}", self.run),
        }
    }
}

/// The objects that are not being deleted yet. Fails if the API server returns an object without the label.
pub async fn left(client: &Client, label: RunLabel<'_>) -> Result<Vec<Left>, ClusterError> {
    let mut left = Vec::new();
    for (group, version, kind) in KINDS {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let found = match api.list(&ListParams::default().labels(&label.selector())).await {
            Ok(found) => found,
            // The API server answers in plain text for an unserved group, so the status has no reason.
            Err(kube::Error::Api(status)) if status.code == 404 => continue,
            // A user without the right to list a scheduler's own kinds has not created any such objects.
            Err(kube::Error::Api(status)) if status.is_forbidden() && !["", "grove.io"].contains(&group) => {
                continue;
            }
            Err(source) => {
                return Err(ClusterError::api(
                    format!("list objects with label {}: {kind}", label.selector()),
                    source,
                ));
            }
        };
        for object in found {
            if !label.is_on(&object) {
                return Err(ClusterError::Unlabelled {
                    object: format!("{kind} {}", object.name_any()),
                    label: label.selector(),
                });
            }
            let holder = label.holder(&object).map(str::to_owned);
            if holder.as_deref().is_some_and(|run| !shared::is_held_by(&object, run)) {
                continue;
            }
            if object.metadata.deletion_timestamp.is_none() {
                let run = object.labels().get(label.key).cloned().unwrap_or_default();
                left.push(Left { api: api.clone(), kind, object, run, holder });
            }
        }
    }
    Ok(left)
}

/// Removes everything, and waits until the namespaces are deleted, so that a restarted run can reuse them.
pub async fn remove_all_and_wait(client: &Client, label: RunLabel<'_>) -> Result<(), ClusterError> {
    remove_all(client, label).await?;
    let namespaces: Api<DynamicObject> =
        Api::all_with(client.clone(), &ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Namespace")));
    let what = format!("the deletion of the objects of {}", label.run.unwrap_or("a run"));
    until_complete(what, DELETED, || async {
        let found = namespaces.list(&ListParams::default().labels(&label.selector())).await;
        found.map(|found| names_left(&found)).map_err(ClusterError::during("list the namespaces of a run"))
    })
    .await
}

/// Removes everything. Continues after a failure and returns the first error.
pub async fn remove_all(client: &Client, label: RunLabel<'_>) -> Result<(), ClusterError> {
    let mut removed = Ok(());
    for left in left(client, label).await? {
        removed = removed.and(left.remove().await);
    }
    removed
}

impl Left {
    fn is_leased(&self) -> bool {
        let annotations = self.object.annotations();
        self.kind == "Node" && (annotations.contains_key(PREVIOUS) || !annotations.contains_key(SIMULATED))
    }

    /// A leased node loses only the run's additions. A shared object stays if another run holds it.
    pub async fn remove(&self) -> Result<(), ClusterError> {
        let name = self.object.name_any();
        let failed = |source| ClusterError::api(format!("remove {} {name}", self.kind), source);
        if self.is_leased() {
            if self.object.annotations().contains_key(PREVIOUS) {
                let without = json!({(SLOTS): null});
                let slots = Patch::Merge(json!({"status": {"capacity": without, "allocatable": without}}));
                self.api.patch_status(&name, &PatchParams::default(), &slots).await.map_err(failed)?;
                return restore(&self.api, &name).await;
            }
            let patch = Patch::Merge(restoring(&self.object));
            return match self.api.patch(&name, &PatchParams::default(), &patch).await {
                Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
                done => done.map(drop).map_err(failed),
            };
        }
        if let Some(run) = &self.holder {
            return shared::release(&self.api, &name, run).await;
        }
        let seen = Preconditions { uid: self.object.uid(), resource_version: None };
        match self.api.delete(&name, &DeleteParams::background().preconditions(seen)).await.map(drop) {
            // A conflict means that another object now has this name.
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(()),
            done => done.map_err(ClusterError::during(format!("remove {} {name}", self.kind))),
        }
    }
}

#[cfg(test)]
#[path = "sweep_tests.rs"]
mod tests;
