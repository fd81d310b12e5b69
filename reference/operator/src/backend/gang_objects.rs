//! Writes and prunes gang resources that may change while their pods exist, and determines who owns them.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future;
use kube::api::{ApiResource, DynamicObject, ObjectMeta};
use kube::{Client, Resource, ResourceExt};
use serde_json::{Map, Value, json};

use super::objects::{self, Created, Target};
pub(super) use super::objects::{ABSENT, Pairs, is_kind};
use grove_api::PodGang;
use grove_api::names::{LABEL_MANAGED_BY, LABEL_PART_OF, LABEL_POD_GANG, MANAGED_BY_GROVE};

use super::{BackendError, GangState, idle, names};
use crate::cache::generation;
use crate::cache::ownership::kept_by;

/// Returns the objects with these names, regardless of owner. Reads those that the cache (`existing`) lacks
/// from the API server: the cache may lag, and lacks objects whose owner reference was removed.
pub(super) async fn read_current(
    client: &Client,
    pod_gang: &PodGang,
    resource: &ApiResource,
    names: impl IntoIterator<Item = String>,
    existing: &[Arc<DynamicObject>],
) -> Result<Vec<Arc<DynamicObject>>, BackendError> {
    let find = async |name: String| {
        if let Some(found) =
            existing.iter().find(|found| is_kind(resource, found) && found.name_any() == name)
        {
            return Ok(Some(Arc::clone(found)));
        }
        let mut object = DynamicObject::new(&name, resource);
        object.metadata.namespace = pod_gang.namespace();
        let mut found = Target::new(client, resource, &object).get_opt().await?;
        if let Some(found) = &mut found {
            found.types = object.types;
        }
        Ok(found.map(Arc::new))
    };
    let found = future::try_join_all(names.into_iter().map(find)).await?;
    Ok(found.into_iter().flatten().collect())
}

/// Creates `wanted`, or patches the differences of the existing object ([`objects::repair`]). An object
/// without a controller counts as another owner's if it differs from the plan.
pub(super) async fn ensure(
    client: &Client,
    pod_gang: &PodGang,
    resource: &ApiResource,
    wanted: &DynamicObject,
    existing: &[Arc<DynamicObject>],
) -> Result<(), BackendError> {
    let target = Target::new(client, resource, wanted);
    let cached =
        existing.iter().find(|found| is_kind(resource, found) && found.name_any() == wanted.name_any());
    let found = match cached {
        Some(found) => Arc::clone(found),
        None => match target.create(wanted).await? {
            Created::New => return Ok(()),
            Created::Taken => Arc::new(target.get().await?),
        },
    };
    if let Some(finalizer) = kept_by(&*found) {
        return Err(BackendError::Kept { object: target.to_string(), finalizer: finalizer.to_owned() });
    }
    match owner(&found, pod_gang) {
        Owner::PodGang => {}
        // The object has lost its owner reference, which the repair restores (GANG-12).
        Owner::Absent if objects::change(&wanted.data, &found.data).is_none() => {}
        Owner::Predecessor => {
            let what = target.to_string();
            return Err(BackendError::Waiting(format!(
                "{what} of a deleted PodGang with the same name must be deleted first"
            )));
        }
        Owner::Absent | Owner::Other => return Err(BackendError::NameTaken(target.to_string())),
    }
    if found.metadata.deletion_timestamp.is_some() {
        return Err(BackendError::Waiting(format!("{target} is being deleted")));
    }
    let patch = repair(pod_gang, wanted, &found);
    if patch.is_empty() { Ok(()) } else { target.patch(patch).await }
}

/// After the last pod of a generation, deletes its gang resources, and those of removed podgroups.
pub(super) async fn prune_former(
    client: &Client,
    gang: &GangState<'_>,
    resource: &ApiResource,
    planned: &[DynamicObject],
    existing: &[Arc<DynamicObject>],
) -> Result<(), BackendError> {
    let is_first = generation::of_gang(gang.pod_gang) == 0 && !idle::any_has_been_idle(gang.pod_gang);
    if is_first || !gang.former.is_empty() {
        return Ok(());
    }
    let keep = planned.iter().map(ResourceExt::name_any).collect();
    prune(client, gang.pod_gang, resource, &keep, existing).await
}

pub(super) async fn prune(
    client: &Client,
    pod_gang: &PodGang,
    resource: &ApiResource,
    keep: &BTreeSet<String>,
    existing: &[Arc<DynamicObject>],
) -> Result<(), BackendError> {
    let leftover = existing.iter().filter(|found| {
        is_kind(resource, found)
            && !keep.contains(&found.name_any())
            && matches!(owner(found, pod_gang), Owner::PodGang)
            && found.metadata.deletion_timestamp.is_none()
    });
    for found in leftover {
        Target::new(client, resource, found).delete(found).await?;
    }
    Ok(())
}

/// Garbage collection deletes the resource with the PodGang (GANG-23, DEL-01).
pub(super) fn metadata(pod_gang: &PodGang, name: &str, mut labels: Pairs, annotations: Pairs) -> ObjectMeta {
    let gang = pod_gang.name_any();
    let part_of = pod_gang.labels().get(LABEL_PART_OF).map(String::as_str);
    let grove_labels = [
        (LABEL_MANAGED_BY, Some(MANAGED_BY_GROVE)),
        (LABEL_POD_GANG, Some(gang.as_str())),
        (LABEL_PART_OF, part_of),
    ];
    // These labels are informational: omit one whose value exceeds the limit.
    for (key, value) in grove_labels {
        if let Some(value) = value.filter(|value| value.len() <= names::MAX_LABEL) {
            labels.insert(key.to_owned(), value.to_owned());
        }
    }
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: pod_gang.namespace(),
        labels: Some(labels),
        annotations: (!annotations.is_empty()).then_some(annotations),
        owner_references: pod_gang.controller_owner_ref(&()).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    }
}

pub(super) enum Owner {
    PodGang,
    /// A deleted PodGang of the same name; garbage collection is still pending (DEL-08).
    Predecessor,
    /// No controller: the owner reference was removed, or someone created the object by hand.
    Absent,
    Other,
}

pub(super) fn owner(object: &DynamicObject, pod_gang: &PodGang) -> Owner {
    let controller = object.owner_references().iter().find(|owner| owner.controller == Some(true));
    match controller {
        Some(owner) if Some(&owner.uid) == pod_gang.meta().uid.as_ref() => Owner::PodGang,
        Some(owner) if owner.kind == PodGang::kind(&()) && owner.name == pod_gang.name_any() => {
            Owner::Predecessor
        }
        Some(_) => Owner::Other,
        None => Owner::Absent,
    }
}

fn repair(pod_gang: &PodGang, wanted: &DynamicObject, found: &DynamicObject) -> Map<String, Value> {
    let mut patch = objects::repair(wanted, found);
    if let (Owner::Absent, Some(owner)) = (owner(found, pod_gang), pod_gang.controller_owner_ref(&())) {
        let owners: Vec<_> = found.owner_references().iter().cloned().chain([owner]).collect();
        let metadata = patch.entry("metadata").or_insert_with(|| json!({}));
        metadata["ownerReferences"] = json!(owners);
        // The resourceVersion makes the patch fail if another owner has claimed the object in the meantime.
        metadata["resourceVersion"] = json!(found.resource_version());
    }
    patch
}

#[cfg(test)]
#[path = "gang_objects_tests.rs"]
mod tests;
