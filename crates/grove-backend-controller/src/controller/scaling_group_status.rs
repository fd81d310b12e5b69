//! Status of a PodCliqueScalingGroup: how many of its replicas are scheduled, available and up to date.

use std::sync::Arc;

use grove_api::names::{
    self, CONDITION_MIN_AVAILABLE_BREACHED, CONDITION_POD_CLIQUE_SCHEDULED, LABEL_SCALING_GROUP,
};
use grove_api::{PodClique, PodCliqueScalingGroup, PodCliqueScalingGroupStatus};
use kube::ResourceExt;
use kube::runtime::controller::Action;
use serde_json::json;

use super::conditions::{self, Verdict};
use super::context::Context;
use super::error::ReconcileError;
use super::json_diff::merge_patch;
use super::ownership::is_controlled_by;
use super::pod_clique_status::selector_text;
use super::writes;

/// Writes the status of one PodCliqueScalingGroup if it has changed.
///
/// # Errors
/// The write failed.
pub(super) async fn reconcile(
    pcsg: Arc<PodCliqueScalingGroup>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    let Some(pcs) = context.caches.set_of(&*pcsg) else { return Ok(Action::await_change()) };
    let members = |j: i32| -> Option<Vec<Arc<PodClique>>> {
        let names = pcsg.spec.clique_names.iter();
        let member = |clique: &String| {
            let name = names::scaling_group_pod_clique(&pcsg.name_any(), j, clique);
            let found = context.caches.pod_cliques.get(pcsg.namespace().as_deref(), &name)?;
            is_controlled_by(&*found, &*pcsg).then_some(found)
        };
        names.map(member).collect()
    };
    let replicas: Vec<_> = (0..pcsg.spec.replicas).map(members).collect();
    let status = status(&pcsg, &pcs.name_any(), &replicas);
    let before = serde_json::to_value(pcsg.status.clone().unwrap_or_default())?;
    if let Some(patch) = merge_patch(&before, &serde_json::to_value(&status)?) {
        writes::patch_status(&context.client, &*pcsg, &json!({ "status": patch })).await?;
    }
    Ok(Action::await_change())
}

/// The status by what the PodCliques say; `None` is a replica of which not all exist.
fn status(
    pcsg: &PodCliqueScalingGroup,
    pcs: &str,
    replicas: &[Option<Vec<Arc<PodClique>>>],
) -> PodCliqueScalingGroupStatus {
    let count = |holds: fn(&PodClique) -> bool| {
        let whole = replicas.iter().flatten().filter(|cliques| cliques.iter().all(|clique| holds(clique)));
        i32::try_from(whole.count()).unwrap_or(0)
    };
    let minimum = pcsg.spec.min_available.unwrap_or(1);
    let healthy = count(|clique| has_status(clique) && !is_true(clique, CONDITION_MIN_AVAILABLE_BREACHED));
    let breached = healthy < minimum;
    let reason = match breached {
        true => "InsufficientAvailablePodCliqueScalingGroupReplicas",
        false => "SufficientAvailablePodCliqueScalingGroupReplicas",
    };
    let message = format!("healthy replicas: {healthy}, minAvailable: {minimum}");
    let verdict =
        Verdict { type_: CONDITION_MIN_AVAILABLE_BREACHED, status: Some(breached), reason, message };
    let mut selector = names::managed_labels(pcs);
    selector.insert(LABEL_SCALING_GROUP.to_owned(), pcsg.name_any());
    let before = pcsg.status.clone().unwrap_or_default();
    PodCliqueScalingGroupStatus {
        observed_generation: pcsg.metadata.generation,
        replicas: pcsg.spec.replicas,
        scheduled_replicas: count(|clique| is_true(clique, CONDITION_POD_CLIQUE_SCHEDULED)),
        available_replicas: count(is_available),
        updated_replicas: count(is_updated),
        selector: Some(selector_text(&selector)),
        conditions: conditions::with(before.conditions.clone(), verdict, None),
        ..before
    }
}

fn has_status(clique: &PodClique) -> bool {
    clique.status.as_ref().is_some_and(|status| !status.conditions.is_empty())
}

fn is_true(clique: &PodClique, type_: &str) -> bool {
    clique.status.as_ref().is_some_and(|status| conditions::is_true(&status.conditions, type_))
}

/// Whether the minimum of a PodClique is ready.
pub(super) fn is_available(clique: &PodClique) -> bool {
    let minimum = clique.spec.min_available.unwrap_or(clique.spec.replicas);
    clique.status.as_ref().is_some_and(|status| status.ready_replicas >= minimum)
}

/// Whether every pod of a PodClique exists and has the current template.
pub(super) fn is_updated(clique: &PodClique) -> bool {
    clique.status.as_ref().is_some_and(|status| status.updated_replicas >= clique.spec.replicas)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clique(ready: i32, scheduled: bool) -> Arc<PodClique> {
        let condition = |type_: &str, status: bool| {
            json!({"type": type_, "status": if status { "True" } else { "False" }, "reason": "R", "message": "",
                   "lastTransitionTime": "2026-01-01T00:00:00Z"})
        };
        let conditions = [
            condition(CONDITION_POD_CLIQUE_SCHEDULED, scheduled),
            condition(CONDITION_MIN_AVAILABLE_BREACHED, !scheduled),
        ];
        let clique = json!({
            "metadata": {"name": "c"}, "spec": {"podSpec": {}, "replicas": 2, "minAvailable": 2},
            "status": {"readyReplicas": ready, "conditions": conditions},
        });
        Arc::new(serde_json::from_value(clique).unwrap())
    }

    #[rstest::rstest]
    #[case::all(vec![Some(vec![clique(2, true), clique(2, true)]), Some(vec![clique(2, true)])], 2, 2, false)]
    #[case::one_clique_not_ready(vec![Some(vec![clique(2, true), clique(1, true)])], 1, 0, false)]
    #[case::one_not_scheduled(vec![Some(vec![clique(0, false), clique(2, true)])], 0, 0, true)]
    #[case::incomplete_replicas_do_not_count(vec![None], 0, 0, true)]
    fn replicas_count_whole(
        #[case] replicas: Vec<Option<Vec<Arc<PodClique>>>>,
        #[case] scheduled: i32,
        #[case] available: i32,
        #[case] breached: bool,
    ) {
        let pcsg = PodCliqueScalingGroup::new("wl-0-sg", grove_api::PodCliqueScalingGroupSpec::default());
        let status = status(&pcsg, "wl", &replicas);
        assert_eq!((status.scheduled_replicas, status.available_replicas), (scheduled, available));
        assert_eq!(conditions::is_true(&status.conditions, CONDITION_MIN_AVAILABLE_BREACHED), breached);
    }
}
