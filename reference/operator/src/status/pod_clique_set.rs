use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use grove_api::names::{
    self, CONDITION_REPLICA_FAILURE, CONDITION_TOPOLOGY_LEVELS_UNAVAILABLE, LABEL_PCS_REPLICA_INDEX,
};
use grove_api::{
    PodCliqueSet, PodCliqueSetReplicaUpdateProgress, PodCliqueSetStatus, PodCliqueSetTemplateSpec,
    PodCliqueSetUpdateProgress, TopologyLevel,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use super::pod_clique::selector_text;
use super::scaling_group::{is_available, is_updated};
use crate::cache::caches::object_key;
use crate::cache::ownership::is_controlled_by;
use crate::context::action::{Action, next_check};
use crate::context::error::ReconcileError;
use crate::context::failures::{self, NAME_TAKEN};
use crate::context::{Context, writes};
use crate::faults::fault;
use crate::plan::conditions::{self, ConditionUpdate};
use crate::plan::json_diff::merge_patch;
use crate::plan::minimums;
use crate::plan::pod_clique_object::generation_hash;
use crate::plan::topology_translation::{constraints, topology_name, unknown_domains};
use crate::update::rolling_update::{ReplicaState, next_replica};
use crate::update::update_view::{CliqueView, GroupView, ReplicaView, rolls};

pub(crate) async fn reconcile(
    pcs: Arc<PodCliqueSet>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    if pcs.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let replicas: Vec<_> = (0..pcs.spec.replicas).map(|i| Replica::of(&context, &pcs, i)).collect();
    let count = |is_counted: fn(&Replica) -> bool| {
        i32::try_from(replicas.iter().filter(|replica| is_counted(replica)).count()).unwrap_or(0)
    };
    let name = topology_name(&pcs.spec.template);
    let binding = name.and_then(|name| context.caches.topologies.get(None, name));
    let levels = binding.as_ref().map(|binding| binding.spec.levels.as_slice());
    let topology = topology_condition(&pcs.spec.template, name, levels);

    let before = pcs.status.clone().unwrap_or_default();
    let hash = generation_hash(&pcs);
    let mut status = before.clone();
    status.update_progress = progress(&pcs, &replicas, &hash, Timestamp::now());
    status.conditions = conditions::with(status.conditions, topology, pcs.metadata.generation);
    // As on a Deployment, the condition exists only while there is a failure.
    status.conditions = match failure(&context, &pcs) {
        Some(failure) => conditions::with(status.conditions, failure, pcs.metadata.generation),
        None => conditions::without(status.conditions, CONDITION_REPLICA_FAILURE),
    };
    status.replicas = pcs.spec.replicas;
    status.available_replicas = count(Replica::is_available);
    status.updated_replicas = count(|replica| replica.is_available() && replica.is_updated());
    status.hpa_pod_selector = Some(selector_text(&names::managed_labels(&pcs.name_any())));
    status.current_generation_hash = Some(hash);
    // A generation is observed once its objects exist.
    if replicas.iter().all(Replica::exists) && !has_excess(&context, &pcs) {
        status.observed_generation = pcs.metadata.generation;
    }
    if let Some(patch) = merge_patch(&serde_json::to_value(&before)?, &serde_json::to_value(&status)?) {
        writes::patch_status_of_version(&context, &*pcs, &patch).await?;
        let ended = |status: &PodCliqueSetStatus| {
            let progress = status.update_progress.as_ref()?;
            Some((progress.update_started_at.clone(), progress.update_ended_at.clone()?))
        };
        if ended(&status).is_some_and(|update| ended(&before) != Some(update)) {
            context.metrics.record_update(&pcs.namespace().unwrap_or_default());
        }
    }
    if fault!("step-start-changes") {
        return Ok(Action::requeue(Duration::from_secs(1)));
    }
    Ok(next_check(status.update_progress.is_some_and(|progress| progress.update_ended_at.is_none())))
}

/// `ReplicaFailure`: a name that is taken, or else the failure that a PodGang reports (STAT-18).
fn failure(context: &Context, pcs: &PodCliqueSet) -> Option<ConditionUpdate> {
    let (caches, events) = (&context.caches, &context.events);
    let key = object_key(&pcs.namespace().unwrap_or_default(), &pcs.name_any());
    let taken_name = || {
        let mut groups = caches.scaling_groups.indexed(&key);
        groups.retain(|group| is_controlled_by(&**group, pcs));
        groups.sort_by_key(|group| group.name_any());
        let of_groups = || groups.iter().find_map(|group| events.last_warning(&**group, NAME_TAKEN));
        let message = events.last_warning(pcs, NAME_TAKEN).or_else(of_groups)?;
        Some((NAME_TAKEN.to_owned(), message))
    };
    let of_pod_gang = || {
        let mut gangs = caches.pod_gangs.indexed(&key);
        gangs.retain(|gang| is_controlled_by(&**gang, pcs));
        gangs.sort_by_key(|gang| gang.name_any());
        gangs.iter().find_map(|gang| {
            let reported = failures::of_pod_gang(gang)?;
            Some((reported.reason.clone(), format!("PodGang {}: {}", gang.name_any(), reported.message)))
        })
    };
    let (reason, message) = taken_name().or_else(of_pod_gang)?;
    Some(ConditionUpdate {
        type_: CONDITION_REPLICA_FAILURE,
        status: Some(true),
        reason: reason.into(),
        message,
    })
}

fn has_excess(context: &Context, pcs: &PodCliqueSet) -> bool {
    let key = object_key(&pcs.namespace().unwrap_or_default(), &pcs.name_any());
    let is_beyond = |labels: &BTreeMap<String, String>| {
        let index = labels.get(LABEL_PCS_REPLICA_INDEX).and_then(|index| index.parse::<i32>().ok());
        index.is_some_and(|index| index >= pcs.spec.replicas)
    };
    let caches = &context.caches;
    let mut cliques = caches.pod_cliques.indexed(&key).into_iter();
    let mut groups =
        caches.scaling_groups.indexed(&key).into_iter().filter(|found| is_controlled_by(&**found, pcs));
    cliques.any(|found| is_beyond(found.labels())) || groups.any(|found| is_beyond(found.labels()))
}

struct Replica(ReplicaView);

impl Replica {
    fn of(context: &Context, pcs: &PodCliqueSet, i: i32) -> Self {
        let (template, pcs_name, namespace) = (&pcs.spec.template, pcs.name_any(), pcs.namespace());
        let caches = &context.caches;
        let clique = |name: &String| {
            let found = caches
                .pod_cliques
                .get(namespace.as_deref(), &names::standalone_pod_clique(&pcs_name, i, name));
            let found = found.filter(|found| is_controlled_by(&**found, pcs))?;
            CliqueView::of(caches, pcs, found)
        };
        let group = |name: &String| {
            let found =
                caches.scaling_groups.get(namespace.as_deref(), &names::scaling_group(&pcs_name, i, name));
            let found = found.filter(|found| is_controlled_by(&**found, pcs))?;
            Some(GroupView::of(caches, pcs, found))
        };
        let standalone: Vec<_> = template.standalone_cliques().collect();
        let cliques: Vec<_> = standalone.iter().filter_map(|template| clique(&template.name)).collect();
        let groups: Vec<_> =
            template.pod_clique_scaling_groups.iter().filter_map(|config| group(&config.name)).collect();
        let gang = caches.own_pod_gang(pcs, &context.pod_gang_names.base(pcs, i));
        let all_exist =
            cliques.len() == standalone.len() && groups.len() == template.pod_clique_scaling_groups.len();
        Self(ReplicaView { exists: all_exist && gang.is_some(), cliques, groups })
    }

    fn exists(&self) -> bool {
        self.0.exists
    }

    fn is_available(&self) -> bool {
        let is_group_available = |group: &GroupView| {
            let available = group.pcsg.status.as_ref().map_or(0, |status| status.available_replicas);
            available >= minimums::of_group(&group.pcsg)
        };
        self.exists()
            && self.0.cliques.iter().all(|clique| is_available(&clique.pclq))
            && self.0.groups.iter().all(is_group_available)
    }

    /// Whether all pods have the current template. Also counts the pods, because statuses may be stale.
    fn is_updated(&self) -> bool {
        let is_group_updated = |group: &GroupView| {
            let updated = group.pcsg.status.as_ref().map_or(0, |status| status.updated_replicas);
            updated >= group.pcsg.spec.replicas
        };
        self.exists()
            && self.0.is_new()
            && self.0.cliques.iter().all(|clique| is_updated(&clique.pclq))
            && self.0.groups.iter().all(is_group_updated)
    }
}

/// `None` until a template changes for the first time.
fn progress(
    pcs: &PodCliqueSet,
    replicas: &[Replica],
    hash: &str,
    now: Timestamp,
) -> Option<PodCliqueSetUpdateProgress> {
    let status = pcs.status.clone().unwrap_or_default();
    let (known, before) = (status.current_generation_hash, status.update_progress);
    let has_changed = known.is_some_and(|known| known != hash);
    let has_old_pods = rolls(pcs) && replicas.iter().any(|replica| replica.0.has_old_template());
    let is_under_way = before.as_ref().is_some_and(|before| before.update_ended_at.is_none());
    // The template may have changed before the first status, or under a strategy that replaces no pods.
    let are_counted = before.is_some() || !fault!("first-status-is-no-update");
    let starts = has_changed || (has_old_pods && are_counted && !is_under_way);
    if before.is_none() && !starts {
        return None;
    }
    let state = |replica: &Replica| match replica.0.state(pcs) {
        ReplicaState::Old { .. } if fault!("update-by-index") => {
            ReplicaState::Old { bound: true, breached: false }
        }
        state => state,
    };
    let states: Vec<_> = replicas.iter().map(state).collect();
    let mut progress = before.unwrap_or_default();
    if starts {
        progress.update_started_at = Some(Time(now));
        progress.update_ended_at = None;
    }
    if !rolls(pcs) {
        progress.currently_updating.clear();
        progress.update_ended_at.get_or_insert(Time(now));
    } else if progress.update_ended_at.is_none() {
        let current = progress.currently_updating.first().map(|current| current.replica_index);
        let current = current.and_then(|current| usize::try_from(current).ok());
        let next = next_replica(&states, current);
        if next != current {
            let started = |replica: usize| PodCliqueSetReplicaUpdateProgress {
                replica_index: i32::try_from(replica).unwrap_or(i32::MAX),
                update_started_at: Some(Time(now)),
                update_ended_at: None,
            };
            progress.currently_updating = next.map(started).into_iter().collect();
        }
        if fault!("step-start-changes") {
            progress.currently_updating.iter_mut().for_each(|step| step.update_started_at = Some(Time(now)));
        }
        if states.iter().all(|state| *state == ReplicaState::Settled) {
            progress.update_ended_at = Some(Time(now));
        }
    }
    let count = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    let (cliques, groups) = (
        || replicas.iter().flat_map(|replica| &replica.0.cliques),
        || replicas.iter().flat_map(|replica| &replica.0.groups),
    );
    progress.total_pod_cliques_count = count(cliques().count());
    progress.updated_pod_cliques_count = count(cliques().filter(|clique| clique.is_new()).count());
    progress.total_pod_clique_scaling_groups_count = count(groups().count());
    progress.updated_pod_clique_scaling_groups_count =
        count(groups().filter(|group| group.is_all_new() && !fault!("updated-groups-not-counted")).count());
    Some(progress)
}

fn topology_condition(
    template: &PodCliqueSetTemplateSpec,
    name: Option<&str>,
    levels: Option<&[TopologyLevel]>,
) -> ConditionUpdate {
    let update = |status, reason, message| ConditionUpdate {
        type_: CONDITION_TOPOLOGY_LEVELS_UNAVAILABLE,
        status,
        reason: Cow::Borrowed(reason),
        message,
    };
    let available = "AllClusterTopologyLevelsAvailable";
    if constraints(template).next().is_none() {
        return update(Some(false), available, "No topology constraints defined".to_owned());
    }
    let Some(name) = name else {
        return update(None, "TopologyNameMissing", "no topologyConstraint sets topologyName".to_owned());
    };
    let Some(levels) = levels else {
        let message = format!("ClusterTopologyBinding {name:?} not found");
        return update(None, "ClusterTopologyNotFound", message);
    };
    let unknown = unknown_domains(template, levels);
    match unknown.is_empty() || fault!("missing-levels-unreported") {
        true => update(Some(false), available, "All topology levels are available".to_owned()),
        false => {
            let message = format!("Unavailable topology domains: [{}]", unknown.join(" "));
            update(Some(true), "ClusterTopologyLevelsUnavailable", message)
        }
    }
}

#[cfg(test)]
#[path = "pod_clique_set_tests.rs"]
mod tests;
