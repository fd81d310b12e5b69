//! The state of an update, from pods: a step on a stale status could take down too many pods.

use std::sync::Arc;

use grove_api::names::{
    self, CONDITION_MIN_AVAILABLE_BREACHED, CONDITION_MIN_AVAILABLE_HELD, LABEL_PCS_REPLICA_INDEX,
    LABEL_POD_INDEX, LABEL_POD_TEMPLATE_HASH,
};
use grove_api::{
    PodClique, PodCliqueScalingGroup, PodCliqueSet, PodCliqueUpdateProgress, PodsSelectedToUpdate,
    UpdateStrategyType,
};
use jiff::Timestamp;
use kube::ResourceExt;

use super::rolling_update::{ReplicaState, Unit, Units, UpdateSteps};
use crate::cache::caches::Caches;
use crate::cache::observed_pod::Pod;
use crate::cache::ownership::is_controlled_by;
use crate::cache::pods::{is_bound, is_former, is_live, is_ready, own_pods, still_has_node, waits_for_room};
use crate::faults::{self, fault};
use crate::plan::pod_clique_object::{generation_hash, template_hash, template_of};
use crate::plan::startup_order::follows;
use crate::plan::startup_parents::awaited;
use crate::plan::{conditions, minimums};

/// Whether the controller replaces old pods. With another update strategy, users delete them.
pub(crate) fn rolls(pcs: &PodCliqueSet) -> bool {
    let strategy = pcs.spec.update_strategy.as_ref().map(|strategy| strategy.type_).unwrap_or_default();
    strategy == UpdateStrategyType::RollingRecreate
}

/// The replica in its update step. `None` if the status does not refer to the current templates.
pub(super) fn reported_replica_in_step(pcs: &PodCliqueSet) -> Option<i32> {
    let progress = pcs.status.as_ref()?.update_progress.as_ref();
    let progress = progress.filter(|progress| progress.update_ended_at.is_none() && rolls(pcs))?;
    let current = progress.currently_updating.first()?.replica_index;
    reported_generation(pcs).map(|_| current)
}

pub(crate) fn reported_generation(pcs: &PodCliqueSet) -> Option<String> {
    let reported = pcs.status.as_ref()?.current_generation_hash.as_ref()?;
    (*reported == generation_hash(pcs)).then(|| reported.clone())
}

/// Also true while the status does not report the update yet.
pub(super) fn awaits_update_step(pcs: &PodCliqueSet, pclq: &PodClique) -> bool {
    if !rolls(pcs) || reported_generation(pcs).is_none() {
        return rolls(pcs);
    }
    let progress = pcs.status.as_ref().and_then(|status| status.update_progress.as_ref());
    let is_under_way = progress.is_some_and(|progress| progress.update_ended_at.is_none());
    is_under_way && !is_in_update_step(pcs, pclq)
}

pub(crate) fn is_in_update_step(pcs: &PodCliqueSet, object: &impl ResourceExt) -> bool {
    let index = object.labels().get(LABEL_PCS_REPLICA_INDEX).and_then(|index| index.parse().ok());
    let in_step = reported_replica_in_step(pcs).filter(|_| !is_forgotten(pcs));
    in_step.is_some() && (fault!("update-all-replicas-at-once") || index == in_step)
}

/// Whether the startup order lets an update replace pods of the PodClique. The PodCliques that start before
/// it must be updated and up, with two exceptions:
/// - A parent that also starts after this PodClique cannot be updated first, so only its minimum must be up.
/// - A parent in the same replica of a scaling group is replaced at the same time, so it does not count.
pub(crate) fn may_follow(caches: &Caches, pcs: &PodCliqueSet, pclq: &PodClique) -> bool {
    let name = |pclq: &PodClique| template_of(pcs, pclq).map(|template| template.name.as_str());
    let group = pclq.labels().get(names::LABEL_SCALING_GROUP);
    fault!("update-ignores-order")
        || awaited(caches, pcs, pclq).iter().all(|parent| {
            let found = caches.pod_cliques.get(pclq.namespace().as_deref(), &parent.name);
            let Some(view) = found.and_then(|found| CliqueView::of(caches, pcs, found)) else { return false };
            if group.is_some() && view.pclq.labels().get(names::LABEL_SCALING_GROUP) == group {
                return true;
            }
            let pair = name(&view.pclq).zip(name(pclq));
            match pair.is_some_and(|(parent, own)| follows(pcs, parent, own)) {
                true => view.is_available(),
                false => view.is_settled(pcs),
            }
        })
}

fn is_forgotten(pcs: &PodCliqueSet) -> bool {
    let progress = pcs.status.as_ref().and_then(|status| status.update_progress.as_ref());
    let started = progress.and_then(|progress| progress.update_started_at.as_ref());
    fault!("forgets-updates") && started.is_some_and(|started| started.0 < *faults::STARTED)
}

pub(crate) struct CliqueView {
    pub pclq: Arc<PodClique>,
    pods: Vec<Arc<Pod>>,
    has_former: bool,
    /// Whether a replacement does not count as waiting for room yet.
    has_leaving: bool,
    template: String,
}

impl CliqueView {
    pub(crate) fn of(caches: &Caches, pcs: &PodCliqueSet, pclq: Arc<PodClique>) -> Option<Self> {
        let template = template_hash(pcs, template_of(pcs, &pclq)?);
        let generation = caches.generation_of(pcs, &pclq);
        let (live, leaving): (Vec<_>, Vec<_>) =
            own_pods(caches, &pclq).into_iter().partition(|pod| is_live(pod));
        let (former, pods): (Vec<_>, Vec<_>) = live.into_iter().partition(|pod| is_former(pod, generation));
        let has_leaving = leaving.iter().any(|pod| still_has_node(pod, Timestamp::now()));
        Some(Self { pclq, pods, has_former: !former.is_empty(), has_leaving, template })
    }

    fn wanted(&self) -> usize {
        usize::try_from(self.pclq.spec.replicas).unwrap_or(0)
    }

    fn min(&self) -> usize {
        usize::try_from(minimums::of_clique(&self.pclq)).unwrap_or(0)
    }

    fn is_old_pod(&self, pod: &Pod) -> bool {
        pod.labels().get(LABEL_POD_TEMPLATE_HASH) != Some(&self.template)
    }

    pub(crate) fn has_old(&self) -> bool {
        self.has_former || self.has_old_template()
    }

    /// Pods of an earlier generation do not count, because they are being deleted.
    fn has_old_template(&self) -> bool {
        self.pods.iter().any(|pod| self.is_old_pod(pod))
    }

    pub(crate) fn is_new(&self) -> bool {
        !self.has_old() && self.pods.len() >= self.wanted()
    }

    fn has_bound(&self) -> bool {
        self.pods.iter().any(|pod| is_bound(pod))
    }

    fn is_available(&self) -> bool {
        self.pods.iter().filter(|pod| is_ready(pod)).count() >= self.min()
    }

    fn is_whole(&self) -> bool {
        let now = Timestamp::now();
        self.pods.len() >= self.wanted()
            && self.pods.iter().all(|pod| is_ready(pod) || (!self.has_leaving && waits_for_room(pod, now)))
    }

    fn condition(&self, type_: &str) -> bool {
        let status = self.pclq.status.as_ref();
        status.is_some_and(|status| conditions::is_true(&status.conditions, type_))
    }

    /// Whether the minimum was ever bound. A later generation keeps the condition, but sets it to False.
    fn was_held(&self) -> bool {
        let status = self.pclq.status.as_ref();
        let mut known = status.iter().flat_map(|status| &status.conditions);
        known.any(|known| known.type_ == CONDITION_MIN_AVAILABLE_HELD)
    }

    pub(crate) fn creates_new_pods(&self) -> bool {
        self.pclq.labels().get(LABEL_POD_TEMPLATE_HASH) == Some(&self.template)
    }

    pub(crate) fn units(&self) -> Units<String> {
        let index =
            |pod: &Arc<Pod>| pod.labels().get(LABEL_POD_INDEX).and_then(|index| index.parse::<i32>().ok());
        let mut pods: Vec<_> = self.pods.iter().collect();
        pods.sort_by_key(|pod| (index(pod), pod.name_any()));
        let unit =
            |pod: &Arc<Pod>| Unit { key: pod.name_any(), old: self.is_old_pod(pod), up: is_ready(pod) };
        Units { present: pods.into_iter().map(unit).collect(), wanted: self.wanted(), min: self.min() }
    }

    pub(crate) fn steps(&self, pcs: &PodCliqueSet) -> UpdateSteps<String> {
        let progress = self.pclq.status.as_ref().and_then(|status| status.update_progress.as_ref());
        let current = progress.filter(|progress| is_of_update(pcs, &progress.pod_clique_set_generation_hash));
        current.map(reported_steps).unwrap_or_default()
    }

    /// Pods for the fault `update-deletes-new-pods`.
    pub(crate) fn earlier_new_pods(&self) -> Vec<String> {
        let progress = self.pclq.status.as_ref().and_then(|status| status.update_progress.as_ref());
        let Some(started) = progress.and_then(|progress| progress.update_started_at.as_ref()) else {
            return Vec::new();
        };
        let is_earlier =
            |pod: &Pod| pod.metadata.creation_timestamp.as_ref().is_some_and(|created| created.0 < started.0);
        let pods = self.pods.iter().filter(|pod| is_earlier(pod) && !self.is_old_pod(pod));
        pods.map(|pod| pod.name_any()).collect()
    }

    pub(crate) fn is_settled(&self, pcs: &PodCliqueSet) -> bool {
        !self.has_former && self.is_whole() && self.units().is_done(&self.steps(pcs))
    }
}

pub(crate) fn is_of_update(pcs: &PodCliqueSet, hash: &String) -> bool {
    pcs.status.as_ref().and_then(|status| status.current_generation_hash.as_ref()) == Some(hash)
}

pub(crate) fn reported_steps(progress: &PodCliqueUpdateProgress) -> UpdateSteps<String> {
    let selected = progress.ready_pods_selected_to_update.as_ref();
    selected.map_or_else(UpdateSteps::default, |selected| UpdateSteps {
        current: Some(selected.current.clone()),
        completed: selected.completed.clone(),
    })
}

pub(crate) fn selected_pods(steps: UpdateSteps<String>) -> Option<PodsSelectedToUpdate> {
    let UpdateSteps { current, completed } = steps;
    current.map(|current| PodsSelectedToUpdate { current, completed })
}

pub(crate) struct GroupView {
    pub pcsg: Arc<PodCliqueScalingGroup>,
    /// For each replica, the members that exist, and whether all members exist.
    pub replicas: Vec<(Vec<CliqueView>, bool)>,
}

impl GroupView {
    pub(crate) fn of(caches: &Caches, pcs: &PodCliqueSet, pcsg: Arc<PodCliqueScalingGroup>) -> Self {
        let replica = |j: i32| {
            let names = pcsg.spec.clique_names.iter();
            let names = names.map(|clique| names::scaling_group_pod_clique(&pcsg.name_any(), j, clique));
            let members = names.filter_map(|name| {
                let member = caches.pod_cliques.get(pcsg.namespace().as_deref(), &name)?;
                is_controlled_by(&*member, &*pcsg).then(|| CliqueView::of(caches, pcs, member)).flatten()
            });
            let members: Vec<_> = members.collect();
            let are_all = members.len() == pcsg.spec.clique_names.len();
            (members, are_all)
        };
        Self { replicas: (0..pcsg.spec.replicas).map(replica).collect(), pcsg }
    }

    /// A remaining pod of an earlier generation does not make a replica old, because it is being deleted.
    pub(crate) fn units(&self) -> Units<i32> {
        let unit = |(j, (members, are_all)): (usize, &(Vec<CliqueView>, bool))| Unit {
            key: i32::try_from(j).unwrap_or(i32::MAX),
            old: members.iter().any(CliqueView::has_old_template),
            up: *are_all && members.iter().all(CliqueView::is_available),
        };
        Units {
            present: self.replicas.iter().enumerate().map(unit).collect(),
            wanted: self.replicas.len(),
            min: usize::try_from(minimums::of_group(&self.pcsg)).unwrap_or(0),
        }
    }

    pub(crate) fn steps(&self, pcs: &PodCliqueSet) -> UpdateSteps<i32> {
        let progress = self.pcsg.status.as_ref().and_then(|status| status.update_progress.as_ref());
        let current = progress.filter(|progress| is_of_update(pcs, &progress.pod_clique_set_generation_hash));
        let selected =
            current.and_then(|progress| progress.ready_replica_indices_selected_to_update.as_ref());
        selected.map_or_else(UpdateSteps::default, |selected| UpdateSteps {
            current: Some(selected.current),
            completed: selected.completed.clone(),
        })
    }

    pub(crate) fn creates_new_pods(&self, j: i32) -> bool {
        let replica = usize::try_from(j).ok().and_then(|j| self.replicas.get(j));
        replica.is_some_and(|(members, are_all)| *are_all && members.iter().all(CliqueView::creates_new_pods))
    }

    pub(crate) fn is_new(&self, j: usize) -> bool {
        self.replicas
            .get(j)
            .is_some_and(|(members, are_all)| *are_all && members.iter().all(CliqueView::is_new))
    }

    pub(crate) fn is_up(&self, j: usize) -> bool {
        self.replicas.get(j).is_some_and(|(members, _)| members.iter().all(CliqueView::is_available))
    }

    pub(crate) fn is_all_new(&self) -> bool {
        (0..self.replicas.len()).all(|j| self.is_new(j))
    }

    pub(crate) fn members_of(&self, j: i32) -> impl Iterator<Item = &CliqueView> {
        let replica = usize::try_from(j).ok().and_then(|j| self.replicas.get(j));
        replica.into_iter().flat_map(|(members, _)| members)
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = &CliqueView> {
        self.replicas.iter().flat_map(|(members, _)| members)
    }

    pub(crate) fn is_settled(&self, pcs: &PodCliqueSet) -> bool {
        let is_whole = |(members, are_all): &(Vec<CliqueView>, bool)| {
            *are_all && members.iter().all(|member| !member.has_former && member.is_whole())
        };
        self.replicas.iter().all(is_whole) && self.units().is_done(&self.steps(pcs))
    }
}

pub(crate) struct ReplicaView {
    pub cliques: Vec<CliqueView>,
    pub groups: Vec<GroupView>,
    pub exists: bool,
}

impl ReplicaView {
    fn all(&self) -> impl Iterator<Item = &CliqueView> {
        self.cliques.iter().chain(self.groups.iter().flat_map(GroupView::members))
    }

    pub(crate) fn is_new(&self) -> bool {
        self.all().all(CliqueView::is_new)
    }

    pub(crate) fn has_old(&self) -> bool {
        self.all().any(CliqueView::has_old)
    }

    /// Pods that gang termination replaces do not count.
    pub(crate) fn has_old_template(&self) -> bool {
        self.all().any(CliqueView::has_old_template)
    }

    pub(crate) fn state(&self, pcs: &PodCliqueSet) -> ReplicaState {
        let bound = self.all().any(CliqueView::has_bound);
        if self.has_old() {
            let breached = self.all().any(|clique| clique.condition(CONDITION_MIN_AVAILABLE_BREACHED));
            return ReplicaState::Old { bound, breached };
        }
        let is_settled = self.exists
            && self.cliques.iter().all(|clique| clique.is_settled(pcs))
            && self.groups.iter().all(|group| group.is_settled(pcs));
        if is_settled {
            ReplicaState::Settled
        } else if !bound && !self.all().any(CliqueView::was_held) {
            ReplicaState::Waiting
        } else {
            ReplicaState::Unsettled
        }
    }
}

#[cfg(test)]
#[path = "update_view_tests.rs"]
mod tests;
