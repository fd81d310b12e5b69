//! Status of a PodCliqueSet: available and updated replicas, the replica in the current update step, and
//! whether its topology exists.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use grove_api::names::{self, CONDITION_TOPOLOGY_LEVELS_UNAVAILABLE, LABEL_PCS_REPLICA_INDEX};
use grove_api::{
    PodCliqueSet, PodCliqueSetReplicaUpdateProgress, PodCliqueSetStatus, PodCliqueSetTemplateSpec,
    PodCliqueSetUpdateProgress, TopologyLevel,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use super::pod_clique::selector_text;
use super::scaling_group::{is_available, is_updated};
use crate::cache::caches::of;
use crate::cache::ownership::is_controlled_by;
use crate::context::action::{Action, next_look};
use crate::context::error::ReconcileError;
use crate::context::{Context, writes};
use crate::faults::fault;
use crate::plan::conditions::{self, Verdict};
use crate::plan::json_diff::merge_patch;
use crate::plan::minimums;
use crate::plan::pod_clique_object::generation_hash;
use crate::plan::topology_translation::{constraints, topology_name, unknown_domains};
use crate::update::rolling_update::{Standing, replica_in_turn};
use crate::update::update_view::{CliqueView, GroupView, ReplicaView, rolls};

pub(crate) async fn reconcile(
    pcs: Arc<PodCliqueSet>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    if pcs.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let replicas: Vec<_> = (0..pcs.spec.replicas).map(|i| Replica::of(&context, &pcs, i)).collect();
    let count = |holds: fn(&Replica) -> bool| {
        i32::try_from(replicas.iter().filter(|replica| holds(replica)).count()).unwrap_or(0)
    };
    let name = topology_name(&pcs.spec.template);
    let binding = name.and_then(|name| context.caches.topologies.get(None, name));
    let levels = binding.as_ref().map(|binding| binding.spec.levels.as_slice());
    let verdict = topology_verdict(&pcs.spec.template, name, levels);

    let before = pcs.status.clone().unwrap_or_default();
    let hash = generation_hash(&pcs);
    let mut status = before.clone();
    status.update_progress = progress(&pcs, &replicas, &hash, Timestamp::now());
    status.conditions = conditions::with(status.conditions, verdict, pcs.metadata.generation);
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
            context.metrics.updated(&pcs.namespace().unwrap_or_default());
        }
    }
    if fault!("restless-turns") {
        return Ok(Action::requeue(Duration::from_secs(1)));
    }
    Ok(next_look(status.update_progress.is_some_and(|progress| progress.update_ended_at.is_none())))
}

fn has_excess(context: &Context, pcs: &PodCliqueSet) -> bool {
    let key = of(&pcs.namespace().unwrap_or_default(), &pcs.name_any());
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
        let gang = caches.gang_of_set(pcs, &context.pod_gang_names.base(pcs, i));
        let whole =
            cliques.len() == standalone.len() && groups.len() == template.pod_clique_scaling_groups.len();
        Self(ReplicaView { exists: whole && gang.is_some(), cliques, groups })
    }

    fn exists(&self) -> bool {
        self.0.exists
    }

    fn is_available(&self) -> bool {
        let group_available = |group: &GroupView| {
            let available = group.pcsg.status.as_ref().map_or(0, |status| status.available_replicas);
            available >= minimums::of_group(&group.pcsg)
        };
        self.exists()
            && self.0.cliques.iter().all(|clique| is_available(&clique.pclq))
            && self.0.groups.iter().all(group_available)
    }

    /// Checks the statuses of cliques and groups and also their pods, because statuses may be stale.
    fn is_updated(&self) -> bool {
        let group_updated = |group: &GroupView| {
            let updated = group.pcsg.status.as_ref().map_or(0, |status| status.updated_replicas);
            updated >= group.pcsg.spec.replicas
        };
        self.exists()
            && self.0.is_new()
            && self.0.cliques.iter().all(|clique| is_updated(&clique.pclq))
            && self.0.groups.iter().all(group_updated)
    }
}

/// Progress of an update, and the replica in the current update step. `None` until a template changes.
fn progress(
    pcs: &PodCliqueSet,
    replicas: &[Replica],
    hash: &str,
    now: Timestamp,
) -> Option<PodCliqueSetUpdateProgress> {
    let status = pcs.status.clone().unwrap_or_default();
    let (known, before) = (status.current_generation_hash, status.update_progress);
    let has_changed = known.is_some_and(|known| known != hash);
    let is_left = rolls(pcs) && replicas.iter().any(|replica| replica.0.has_old_template());
    let is_under_way = before.as_ref().is_some_and(|before| before.update_ended_at.is_none());
    // If no update is in progress, old pods start one. Their template changed before the first status was
    // written, or under a strategy that does not replace pods.
    let is_seen = before.is_some() || !fault!("first-status-is-no-update");
    let begins = has_changed || (is_left && is_seen && !is_under_way);
    if before.is_none() && !begins {
        return None;
    }
    let standing = |replica: &Replica| match replica.0.standing(pcs) {
        Standing::Old { .. } if fault!("update-by-index") => Standing::Old { bound: true, breached: false },
        standing => standing,
    };
    let standings: Vec<_> = replicas.iter().map(standing).collect();
    let mut progress = before.unwrap_or_default();
    if begins {
        progress.update_started_at = Some(Time(now));
        progress.update_ended_at = None;
    }
    if !rolls(pcs) {
        progress.currently_updating.clear();
        progress.update_ended_at.get_or_insert(Time(now));
    } else if progress.update_ended_at.is_none() {
        let current = progress.currently_updating.first().map(|current| current.replica_index);
        let current = current.and_then(|current| usize::try_from(current).ok());
        let next = replica_in_turn(&standings, current);
        if next != current {
            let begun = |replica: usize| PodCliqueSetReplicaUpdateProgress {
                replica_index: i32::try_from(replica).unwrap_or(i32::MAX),
                update_started_at: Some(Time(now)),
                update_ended_at: None,
            };
            progress.currently_updating = next.map(begun).into_iter().collect();
        }
        if fault!("restless-turns") {
            progress.currently_updating.iter_mut().for_each(|turn| turn.update_started_at = Some(Time(now)));
        }
        if standings.iter().all(|standing| *standing == Standing::Settled) {
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
        count(groups().filter(|group| group.is_all_new()).count());
    Some(progress)
}

/// Condition `TopologyLevelsUnavailable`; `levels` are those of the ClusterTopologyBinding `name`, if it
/// exists.
fn topology_verdict(
    template: &PodCliqueSetTemplateSpec,
    name: Option<&str>,
    levels: Option<&[TopologyLevel]>,
) -> Verdict {
    let verdict = |status, reason, message| Verdict {
        type_: CONDITION_TOPOLOGY_LEVELS_UNAVAILABLE,
        status,
        reason: Cow::Borrowed(reason),
        message,
    };
    let available = "AllClusterTopologyLevelsAvailable";
    if constraints(template).next().is_none() {
        return verdict(Some(false), available, "No topology constraints defined".to_owned());
    }
    let Some(name) = name else {
        return verdict(None, "TopologyNameMissing", "no topologyName can be resolved".to_owned());
    };
    let Some(levels) = levels else {
        let message = format!("ClusterTopologyBinding {name:?} not found");
        return verdict(None, "ClusterTopologyNotFound", message);
    };
    let unknown = unknown_domains(template, levels);
    match unknown.is_empty() {
        true => verdict(Some(false), available, "All topology levels are available".to_owned()),
        false => {
            let message = format!("Unavailable topology domains: [{}]", unknown.join(" "));
            verdict(Some(true), "ClusterTopologyLevelsUnavailable", message)
        }
    }
}

#[cfg(test)]
mod tests {
    use kube::runtime::watcher::Event;
    use serde_json::{Value, json};

    use super::*;
    use crate::context::test_api::World;
    use crate::plan::pod_clique_object::template_hash;

    /// Progress in the first status of a PodCliqueSet with one pod. The pod's template has this hash, the
    /// gang this generation.
    async fn first_progress(set: &PodCliqueSet, hash: &str, generation: u64) -> Value {
        let mut world = World::new();
        let owned = |name: &str, kind: &str, owner: &str| {
            json!({
                "metadata": {
                    "name": name, "namespace": "ns", "uid": format!("uid-of-{name}"), "labels": {
                        names::LABEL_PART_OF: "wl", names::LABEL_POD_CLIQUE: "wl-0-a", names::LABEL_POD_GANG: "wl-0",
                        LABEL_PCS_REPLICA_INDEX: "0", names::LABEL_POD_TEMPLATE_HASH: hash,
                    },
                    "ownerReferences": [{"apiVersion": "grove.io/v1alpha1", "kind": kind, "name": owner,
                                         "uid": format!("uid-of-{owner}"), "controller": true}],
                },
                "spec": {"podSpec": {}, "replicas": 1, "containers": []},
            })
        };
        let clique = owned("wl-0-a", "PodCliqueSet", "wl");
        world.feeds.pod_cliques.take(Event::Apply(serde_json::from_value(clique).unwrap()));
        let pod = owned("p", "PodClique", "wl-0-a");
        world.feeds.pods.take(Event::Apply(serde_json::from_value(pod).unwrap()));
        let mut gang = owned("wl-0", "PodCliqueSet", "wl");
        gang["spec"] = json!({"podgroups": []});
        gang["metadata"]["annotations"] = json!({names::ANNOTATION_GENERATION: generation.to_string()});
        world.feeds.pod_gangs.take(Event::Apply(serde_json::from_value(gang).unwrap()));
        reconcile(Arc::new(set.clone()), Arc::clone(&world.context)).await.unwrap();
        let written = world.written();
        let (_, patch) = written.iter().find(|(request, _)| request.ends_with("/wl/status")).unwrap();
        patch["status"]["updateProgress"].clone()
    }

    #[tokio::test]
    async fn templates_that_change_before_the_first_status_are_updated() {
        let set = json!({
            "metadata": {"name": "wl", "namespace": "ns", "uid": "uid-of-wl", "generation": 2},
            "spec": {"replicas": 1, "template": {"cliques": [{"name": "a", "spec": {"podSpec": {}, "replicas": 1}}]}},
        });
        let mut set: PodCliqueSet = serde_json::from_value(set).unwrap();
        let hash = template_hash(&set, &set.spec.template.cliques[0]);
        assert_eq!(first_progress(&set, &hash, 0).await, Value::Null, "nothing is old");
        assert_eq!(first_progress(&set, &hash, 1).await, Value::Null, "a recycle is no update");
        let progress = first_progress(&set, "of-the-first-template", 0).await;
        assert!(progress["updateStartedAt"].is_string(), "{progress}");
        assert_eq!(progress["currentlyUpdating"][0]["replicaIndex"], 0, "{progress}");
        set.spec.update_strategy = serde_json::from_value(json!({"type": "OnDelete"})).unwrap();
        let left_alone = first_progress(&set, "of-the-first-template", 0).await;
        assert_eq!(left_alone, Value::Null, "pods are left alone");
    }

    fn template(topology_name: Option<&str>, domain: Option<&str>) -> PodCliqueSetTemplateSpec {
        let constraint =
            domain.map(|domain| json!({"topologyName": topology_name, "pack": {"required": domain}}));
        serde_json::from_value(json!({"cliques": [], "topologyConstraint": constraint})).unwrap()
    }

    #[rstest::rstest]
    #[case::none(None, None, true, "False/AllClusterTopologyLevelsAvailable")]
    #[case::known(Some("t"), Some("rack"), true, "False/AllClusterTopologyLevelsAvailable")]
    #[case::unknown(Some("t"), Some("zone"), true, "True/ClusterTopologyLevelsUnavailable")]
    #[case::gone(Some("t"), Some("rack"), false, "Unknown/ClusterTopologyNotFound")]
    #[case::nameless(None, Some("rack"), true, "Unknown/TopologyNameMissing")]
    fn topology_condition(
        #[case] name: Option<&str>,
        #[case] domain: Option<&str>,
        #[case] exists: bool,
        #[case] says: &str,
    ) {
        let levels = [TopologyLevel { domain: "rack".into(), key: "key/rack".into() }];
        let levels = exists.then_some(levels.as_slice());
        let verdict = topology_verdict(&template(name, domain), name, levels);
        let condition = &conditions::with(Vec::new(), verdict, None)[0];
        assert_eq!(format!("{}/{}", condition.status, condition.reason), says);
    }
}
