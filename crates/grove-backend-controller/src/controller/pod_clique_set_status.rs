//! Status of a PodCliqueSet: how many of its replicas are available and up to date, and whether its topology
//! is there.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use grove_api::names::{self, CONDITION_TOPOLOGY_LEVELS_UNAVAILABLE, LABEL_PCS_REPLICA_INDEX};
use grove_api::{PodClique, PodCliqueScalingGroup, PodCliqueSet, PodCliqueSetTemplateSpec, TopologyLevel};
use kube::ResourceExt;
use kube::runtime::controller::Action;

use super::caches::of;
use super::conditions::{self, Verdict};
use super::context::Context;
use super::error::ReconcileError;
use super::json_diff::merge_patch;
use super::ownership::is_controlled_by;
use super::pod_clique_object::generation_hash;
use super::pod_clique_status::selector_text;
use super::scaling_group_status::{is_available, is_updated};
use super::topology_translation::{constraints, topology_name, unknown_domains};
use super::writes;

/// Writes the status of one PodCliqueSet if it has changed.
///
/// # Errors
/// The write failed.
pub(super) async fn reconcile(
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
    let mut status = before.clone();
    status.conditions = conditions::with(status.conditions, verdict, pcs.metadata.generation);
    status.replicas = pcs.spec.replicas;
    status.available_replicas = count(Replica::is_available);
    status.updated_replicas = count(|replica| replica.is_available() && replica.is_updated());
    status.hpa_pod_selector = Some(selector_text(&names::managed_labels(&pcs.name_any())));
    status.current_generation_hash = Some(generation_hash(&pcs));
    // The generation has been dealt with when its objects exist.
    if replicas.iter().all(|replica| replica.exists) && !has_excess(&context, &pcs) {
        status.observed_generation = pcs.metadata.generation;
    }
    if let Some(patch) = merge_patch(&serde_json::to_value(&before)?, &serde_json::to_value(&status)?) {
        writes::patch_status_of_version(&context.client, &*pcs, &patch).await?;
    }
    Ok(Action::await_change())
}

/// Whether anything is left of replicas that were scaled in.
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

/// What there is of one replica.
struct Replica {
    cliques: Vec<Arc<PodClique>>,
    groups: Vec<Arc<PodCliqueScalingGroup>>,
    /// Every object directly under the PodCliqueSet exists.
    exists: bool,
}

impl Replica {
    fn of(context: &Context, pcs: &PodCliqueSet, i: i32) -> Self {
        let (template, pcs_name, namespace) = (&pcs.spec.template, pcs.name_any(), pcs.namespace());
        let caches = &context.caches;
        let grouped = |name: &String| {
            template.pod_clique_scaling_groups.iter().any(|group| group.clique_names.contains(name))
        };
        let clique = |name: &String| {
            let found = caches
                .pod_cliques
                .get(namespace.as_deref(), &names::standalone_pod_clique(&pcs_name, i, name));
            found.filter(|found| is_controlled_by(&**found, pcs))
        };
        let group = |name: &String| {
            let found =
                caches.scaling_groups.get(namespace.as_deref(), &names::scaling_group(&pcs_name, i, name));
            found.filter(|found| is_controlled_by(&**found, pcs))
        };
        let standalone: Vec<_> = template.cliques.iter().filter(|clique| !grouped(&clique.name)).collect();
        let cliques: Vec<_> = standalone.iter().filter_map(|template| clique(&template.name)).collect();
        let groups: Vec<_> =
            template.pod_clique_scaling_groups.iter().filter_map(|config| group(&config.name)).collect();
        let gang = caches.gang_of_set(pcs, &context.faults.pod_gang_names().base(pcs, i));
        let whole =
            cliques.len() == standalone.len() && groups.len() == template.pod_clique_scaling_groups.len();
        Self { exists: whole && gang.is_some(), cliques, groups }
    }

    fn is_available(&self) -> bool {
        let group_available = |group: &Arc<PodCliqueScalingGroup>| {
            let available = group.status.as_ref().map_or(0, |status| status.available_replicas);
            available >= group.spec.min_available.unwrap_or(1)
        };
        self.exists
            && self.cliques.iter().all(|clique| is_available(clique))
            && self.groups.iter().all(group_available)
    }

    fn is_updated(&self) -> bool {
        let group_updated = |group: &Arc<PodCliqueScalingGroup>| {
            group.status.as_ref().is_some_and(|status| status.updated_replicas >= group.spec.replicas)
        };
        self.exists
            && self.cliques.iter().all(|clique| is_updated(clique))
            && self.groups.iter().all(group_updated)
    }
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
    use serde_json::json;

    use super::*;

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
