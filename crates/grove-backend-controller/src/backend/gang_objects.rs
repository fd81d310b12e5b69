//! Mutable gang resources: created, repaired and pruned according to a plan.
//!
//! For backends whose scheduler allows gang resources to change while their pods live. `objects` decides what
//! differs and how it is written; this module decides who owns an object, and therefore whether it may be written
//! at all. kube-scheduler's resources are immutable and handled separately.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future;
use kube::api::{ApiResource, DynamicObject, ObjectMeta};
use kube::{Client, Resource, ResourceExt};
use serde_json::{Map, Value, json};

use super::objects::{self, Created, Target};
pub(super) use super::objects::{ABSENT, Pairs, is_of};
use grove_api::PodGang;
use grove_api::names::{LABEL_MANAGED_BY, LABEL_PART_OF, LABEL_POD_GANG, MANAGED_BY_GROVE};

use super::{BackendError, GangState, generation, idle, names};

/// The objects of those names that are there, whoever controls them: from `existing`, or else asked for, since the cache
/// may be late and has none whose owner reference was taken away. For plans that depend on what is there.
///
/// # Errors
/// A request that failed.
pub(super) async fn standing(
    client: &Client,
    pod_gang: &PodGang,
    resource: &ApiResource,
    names: impl IntoIterator<Item = String>,
    existing: &[Arc<DynamicObject>],
) -> Result<Vec<Arc<DynamicObject>>, BackendError> {
    let find = async |name: String| {
        if let Some(found) = existing.iter().find(|found| is_of(resource, found) && found.name_any() == name)
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

/// Creates `wanted`, or patches what differs in the object that is there ([`objects::repair`]). `existing`
/// comes from a cache and may be late.
///
/// A field that must not be there is `null` in `wanted`, a label or annotation [`ABSENT`].
///
/// # Errors
/// [`BackendError::NameTaken`] if the object is controlled by anyone but `pod_gang`, or by nobody and is not
/// as planned; [`BackendError::Waiting`] if it belongs to a deleted PodGang of the same name or is being
/// deleted itself; else the request that failed.
pub(super) async fn ensure(
    client: &Client,
    pod_gang: &PodGang,
    resource: &ApiResource,
    wanted: &DynamicObject,
    existing: &[Arc<DynamicObject>],
) -> Result<(), BackendError> {
    let target = Target::new(client, resource, wanted);
    let cached =
        existing.iter().find(|found| is_of(resource, found) && found.name_any() == wanted.name_any());
    let found = match cached {
        Some(found) => Arc::clone(found),
        None => match target.create(wanted).await? {
            Created::New => return Ok(()),
            Created::Taken => Arc::new(target.get().await?),
        },
    };
    match owner(&found, pod_gang) {
        Owner::PodGang => {}
        // Its owner reference was taken away and comes back with the repair (GANG-12).
        Owner::Nobody if objects::change(&wanted.data, &found.data).is_none() => {}
        Owner::Predecessor => {
            let what = target.to_string();
            return Err(BackendError::Waiting(format!("{what} belongs to a deleted PodGang of this name")));
        }
        Owner::Nobody | Owner::Other => return Err(BackendError::NameTaken(target.to_string())),
    }
    if found.metadata.deletion_timestamp.is_some() {
        return Err(BackendError::Waiting(format!("{target} is being deleted")));
    }
    let patch = repair(pod_gang, wanted, &found);
    if patch.is_empty() { Ok(()) } else { target.patch(patch).await }
}

/// Deletes what former generations of the PodGang had of that kind, once the last of their pods is gone, and what podgroups
/// had that left it; `planned` is what the present one has.
///
/// # Errors
/// A request that failed.
pub(super) async fn prune_former(
    client: &Client,
    gang: &GangState<'_>,
    resource: &ApiResource,
    planned: &[DynamicObject],
    existing: &[Arc<DynamicObject>],
) -> Result<(), BackendError> {
    let is_first = generation::of_gang(gang.pod_gang) == 0 && !idle::has_been(gang.pod_gang);
    if is_first || !gang.former.is_empty() {
        return Ok(());
    }
    let keep = planned.iter().map(ResourceExt::name_any).collect();
    prune(client, gang.pod_gang, resource, &keep, existing).await
}

/// Deletes the gang resources of that kind that `pod_gang` controls and whose name is not in `keep`.
///
/// # Errors
/// A request that failed. That the object is gone already is none.
pub(super) async fn prune(
    client: &Client,
    pod_gang: &PodGang,
    resource: &ApiResource,
    keep: &BTreeSet<String>,
    existing: &[Arc<DynamicObject>],
) -> Result<(), BackendError> {
    let leftover = existing.iter().filter(|found| {
        is_of(resource, found)
            && !keep.contains(&found.name_any())
            && matches!(owner(found, pod_gang), Owner::PodGang)
            && found.metadata.deletion_timestamp.is_none()
    });
    for found in leftover {
        Target::new(client, resource, found).delete(found).await?;
    }
    Ok(())
}

/// Metadata of a gang resource of `pod_gang`: the owner that takes it along (GANG-23, DEL-01), Grove's labels
/// beside `labels`, and `annotations`.
pub(super) fn metadata(pod_gang: &PodGang, name: &str, labels: Pairs, annotations: Pairs) -> ObjectMeta {
    let gang = pod_gang.name_any();
    let part_of = pod_gang.labels().get(LABEL_PART_OF).map(String::as_str);
    let own = [
        (LABEL_MANAGED_BY, Some(MANAGED_BY_GROVE)),
        (LABEL_POD_GANG, Some(gang.as_str())),
        (LABEL_PART_OF, part_of),
    ];
    // Labels are for people here: a name that is too long for a label value goes without.
    let own = own.into_iter().filter_map(|(key, value)| Some((key, value?)));
    let own = own.filter(|(_, value)| value.len() <= names::MAX_LABEL);
    let labels: Pairs =
        labels.into_iter().chain(own.map(|(key, value)| (key.to_owned(), value.to_owned()))).collect();
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: pod_gang.namespace(),
        labels: Some(labels),
        annotations: (!annotations.is_empty()).then_some(annotations),
        owner_references: pod_gang.controller_owner_ref(&()).map(|owner| vec![owner]),
        ..ObjectMeta::default()
    }
}

/// Who controls an object that has the name of a planned one.
pub(super) enum Owner {
    /// The PodGang at hand.
    PodGang,
    /// A deleted PodGang of the same name, whose garbage is yet to be collected (DEL-08).
    Predecessor,
    /// No owner: its owner reference was removed, or it was created by hand.
    Nobody,
    /// Somebody else.
    Other,
}

/// Who controls `object`, as seen from `pod_gang`.
pub(super) fn owner(object: &DynamicObject, pod_gang: &PodGang) -> Owner {
    let controller = object.owner_references().iter().find(|owner| owner.controller == Some(true));
    match controller {
        Some(owner) if Some(&owner.uid) == pod_gang.meta().uid.as_ref() => Owner::PodGang,
        Some(owner) if owner.kind == PodGang::kind(&()) && owner.name == pod_gang.name_any() => {
            Owner::Predecessor
        }
        Some(_) => Owner::Other,
        None => Owner::Nobody,
    }
}

/// The merge patch that brings `found` to what is wanted, and back to its PodGang.
fn repair(pod_gang: &PodGang, wanted: &DynamicObject, found: &DynamicObject) -> Map<String, Value> {
    let mut patch = objects::repair(wanted, found);
    if let (Owner::Nobody, Some(owner)) = (owner(found, pod_gang), pod_gang.controller_owner_ref(&())) {
        let owners: Vec<_> = found.owner_references().iter().cloned().chain([owner]).collect();
        let metadata = patch.entry("metadata").or_insert_with(|| json!({}));
        metadata["ownerReferences"] = json!(owners);
        // Only if nobody else has claimed it meanwhile.
        metadata["resourceVersion"] = json!(found.resource_version());
    }
    patch
}

#[cfg(test)]
#[path = "gang_objects_tests.rs"]
mod tests;
