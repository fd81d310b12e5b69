//! Creates the PodCliques of a scaling group. Replicas below `minAvailable` belong to the base PodGang, each
//! other one to a scaled PodGang that waits for the base (AON-06). An update replaces whole replicas.

use std::sync::Arc;

use futures::FutureExt;
use grove_api::{PodClique, PodCliqueScalingGroup, PodCliqueSet, PodCliqueTemplateSpec, names};
use kube::ResourceExt;

use super::resource_claims;
use crate::backend::Served;
use crate::cache::caches::group_key;
use crate::cache::generation::{self, Cause};
use crate::cache::ownership::owner_reference;
use crate::context::action::Action;
use crate::context::children::{self, Children};
use crate::context::error::ReconcileError;
use crate::context::{Context, writes};
use crate::faults::fault;
use crate::plan::patches;
use crate::plan::pod_clique_object::{CliquePosition, pod_clique};
use crate::plan::pod_gang_names::PodGangNames;
use crate::update::previous_template;
use crate::update::update_view::{GroupView, is_in_update_step};

pub(crate) async fn reconcile(
    pcsg: Arc<PodCliqueScalingGroup>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    if pcsg.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let Some(pcs) = context.caches.pod_clique_set_of(&*pcsg) else { return Ok(Action::await_change()) };
    if context.registry.resolve(&pcs).is_none() {
        return Ok(Action::await_change());
    }
    let mut cliques =
        Children::new(&context, &*pcsg, &context.caches.pod_cliques, patches::pod_clique_change);
    for mut clique in pod_cliques(&pcs, &pcsg, context.pod_gang_names) {
        if let Some(existing) = cliques.get(&clique.name_any()) {
            previous_template::store(&context.caches, &pcs, &existing, &mut clique);
        }
        cliques.want(clique);
    }
    let key = group_key(&pcsg.namespace().unwrap_or_default(), &pcsg.name_any());
    for member in cliques.excess(&key) {
        if is_leaving(&context, &pcs, &pcsg, &member) {
            cliques.keep(member.name_any());
        }
    }
    let mut writes = vec![resource_claims::for_scaling_group(&context, &pcs, &pcsg).boxed()];
    writes.extend(cliques.finish(&key));
    let written = children::all(writes).await;
    context.report_taken_name(&pcs, &*pcsg, &written).await;
    written?;
    if is_in_update_step(&pcs, &*pcsg) {
        replace_due_replicas(&context, &pcs, pcsg).await?;
    }
    Ok(Action::await_change())
}

/// Pods are deleted only after the member has left the base PodGang (AUTO-06; see `pod_clique`).
fn is_leaving(
    context: &Context,
    pcs: &PodCliqueSet,
    pcsg: &PodCliqueScalingGroup,
    member: &PodClique,
) -> bool {
    let labels = member.labels();
    let base = labels.get(names::LABEL_POD_GANG).filter(|_| !labels.contains_key(names::LABEL_BASE_POD_GANG));
    let base = base.and_then(|base| context.caches.own_pod_gang(pcs, base));
    pcsg.spec.replicas == 0
        && !fault!("idle-podgroups-stay")
        && base.is_some_and(|base| {
            let mut podgroups = base.spec.podgroups.iter();
            let allows_idle =
                matches!(context.serve(&base), Served::By(backend) if backend.allows_idle(&base));
            allows_idle && podgroups.any(|podgroup| podgroup.name == member.name_any())
        })
}

async fn replace_due_replicas(
    context: &Context,
    pcs: &PodCliqueSet,
    pcsg: Arc<PodCliqueScalingGroup>,
) -> Result<(), ReconcileError> {
    let group = GroupView::of(&context.caches, pcs, pcsg);
    let units = group.units();
    let in_step = group.steps(pcs).current.filter(|current| units.may_be_taken_down(current));
    let all = units.present.iter().filter(|unit| unit.old && fault!("update-deletes-all-old-pods"));
    let due = units.old_and_down().copied().chain(in_step).chain(all.map(|unit| unit.key));
    let mut due: Vec<_> = due.collect();
    due.retain(|j| group.creates_new_pods(*j));
    due.sort_unstable();
    due.dedup();
    if due.is_empty() {
        return Ok(());
    }
    let patch = generation::replace_replicas_patch(&group.pcsg, Cause::Update, &due);
    writes::patch(context, &*group.pcsg, &patch).await
}

fn pod_cliques(pcs: &PodCliqueSet, pcsg: &PodCliqueScalingGroup, gang_names: PodGangNames) -> Vec<PodClique> {
    let group = pcsg.name_any();
    let index = pcsg.labels().get(names::LABEL_PCS_REPLICA_INDEX).and_then(|index| index.parse().ok());
    let replica = index.unwrap_or(0);
    let base = gang_names.base(pcs, replica);
    let min_available = pcsg.spec.min_available.unwrap_or(1);
    let replica_cliques = |j: i32| {
        let scaled = j >= min_available;
        let position = CliquePosition {
            replica,
            pod_gang: if scaled {
                gang_names.scaled(pcs, replica, &group, j, min_available)
            } else {
                base.clone()
            },
            base_pod_gang: scaled.then(|| base.clone()),
            group: Some((&group, j)),
        };
        let templates = &pcs.spec.template.cliques;
        let members = pcsg
            .spec
            .clique_names
            .iter()
            .filter_map(|name| templates.iter().find(|clique| clique.name == *name));
        let clique = |clique: &PodCliqueTemplateSpec| {
            let name = names::scaling_group_pod_clique(&group, j, &clique.name);
            pod_clique(pcs, clique, name, &position, owner_reference(pcsg))
        };
        members.map(clique).collect::<Vec<_>>()
    };
    (0..pcsg.spec.replicas).flat_map(replica_cliques).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn replicas_beyond_the_minimum_belong_to_scaled_gangs() {
        let pcs = json!({"metadata": {"name": "wl", "namespace": "ns"}, "spec": {"replicas": 1, "template": {"cliques": [
            {"name": "a", "spec": {"podSpec": {}, "replicas": 1, "minAvailable": 1}},
        ]}}});
        let pcsg = json!({
            "metadata": {"name": "wl-0-sg", "labels": {names::LABEL_PCS_REPLICA_INDEX: "0"}},
            "spec": {"replicas": 3, "minAvailable": 2, "cliqueNames": ["a"]},
        });
        let cliques = pod_cliques(
            &serde_json::from_value(pcs).unwrap(),
            &serde_json::from_value(pcsg).unwrap(),
            PodGangNames::ByIndex,
        );
        let gang = |clique: &PodClique| {
            let label = |key| clique.labels().get(key).map_or("-", String::as_str).to_owned();
            let (gang, base) = (label(names::LABEL_POD_GANG), label(names::LABEL_BASE_POD_GANG));
            format!("{} {gang} {base}", clique.name_any())
        };
        insta::assert_snapshot!(cliques.iter().map(gang).collect::<Vec<_>>().join("\n"), @r"
        wl-0-sg-0-a wl-0 -
        wl-0-sg-1-a wl-0 -
        wl-0-sg-2-a wl-0-sg-0 wl-0
        ");
    }
}
