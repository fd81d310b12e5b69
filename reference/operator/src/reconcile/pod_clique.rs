use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt;
use grove_api::names::{
    LABEL_BASE_POD_GANG, LABEL_GENERATION, LABEL_POD_GANG, LABEL_POD_INDEX, LABEL_POD_TEMPLATE_HASH,
    LABEL_SCALING_GROUP, LABEL_SCHEDULER_NAME,
};
use grove_api::{PodClique, PodCliqueSet, PodGang};
use k8s_openapi::api::core::v1::NodeSelectorRequirement;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};

use super::{pod_creation, resource_claims};
use crate::backend::{GangState, Membership, Release, SchedulerBackend, Served, idle, is_gated};
use crate::cache::expectations::{EXPECTATION_TIMEOUT, Seen, Unseen};
use crate::cache::gang_view::GangView;
use crate::cache::generation;
use crate::cache::observed_pod::Pod;
use crate::cache::pods::{has_earlier_pods, is_bound, is_finished, is_former, is_live, is_ready, own_pods};
use crate::context::action::Action;
use crate::context::children::{self, Write};
use crate::context::error::ReconcileError;
use crate::context::events::REASON_POD_CREATE_FAILED;
use crate::context::{Context, writes};
use crate::faults::fault;
use crate::plan::gate::{self, GangReadiness};
use crate::plan::startup_parents::awaited;
use crate::plan::{pod, replicas};
use crate::update::previous_template;
use crate::update::update_view::{CliqueView, is_in_update_step};

pub(crate) async fn reconcile(pclq: Arc<PodClique>, context: Arc<Context>) -> Result<Action, ReconcileError> {
    let Some(dependencies) = Dependencies::of(&context, &pclq) else { return Ok(Action::await_change()) };
    let clique = dependencies.clique(&context, &pclq);
    if let Some(patch) = previous_template::due_patch(clique.pcs, &pclq) {
        writes::patch(&context, &*pclq, &patch).await?;
    }
    let pods = own_pods(&context.caches, &pclq);
    let claims = resource_claims::for_pod_clique(&context, clique.pcs, &pclq, pods.iter().map(|pod| &**pod));
    let (claimed, scaled, released) = tokio::join!(claims, scale(&clique, &pods), clique.release(&pods));
    claimed.and(scaled).and(released)?;
    Ok(match context.expectations.any(clique.uid()) {
        true => Action::requeue(EXPECTATION_TIMEOUT),
        false => Action::await_change(),
    })
}

/// Waits for a permit before it creates pods, and then plans with the current cache.
async fn scale(clique: &Clique<'_>, pods: &[Arc<Pod>]) -> Result<(), ReconcileError> {
    let Clique { context, pclq, .. } = clique;
    let lacking = clique.lacking(pods);
    if lacking == 0 {
        return clique.scale(pods).await;
    }
    let _permit = context.flow.creation(lacking).await;
    let current = context.caches.pod_cliques.get(pclq.namespace().as_deref(), &pclq.name_any());
    let Some(pclq) = current.filter(|current| current.uid() == pclq.uid()) else { return Ok(()) };
    let Some(dependencies) = Dependencies::of(context, &pclq) else { return Ok(()) };
    dependencies.clique(context, &pclq).scale(&own_pods(&context.caches, &pclq)).await
}

struct Dependencies {
    pcs: Arc<PodCliqueSet>,
    pod_gang: Arc<PodGang>,
    backend: Arc<dyn SchedulerBackend>,
}

impl Dependencies {
    /// `None` if a dependency is missing. The PodClique is reconciled again when the dependency is created.
    fn of(context: &Context, pclq: &PodClique) -> Option<Self> {
        if pclq.metadata.deletion_timestamp.is_some() {
            return None;
        }
        let pcs = context.caches.root_of(pclq)?;
        let pod_gang = context.caches.own_pod_gang(&pcs, pclq.labels().get(LABEL_POD_GANG)?)?;
        let scheduler = pod_gang.labels().get(LABEL_SCHEDULER_NAME).map(String::as_str);
        match context.registry.serve(scheduler, Some(&pcs)) {
            Served::By(backend) => Some(Self { pcs, pod_gang, backend }),
            Served::Disabled(_) => None,
        }
    }

    fn clique<'a>(&'a self, context: &'a Context, pclq: &'a PodClique) -> Clique<'a> {
        let Self { pcs, pod_gang, backend } = self;
        let generation = context.caches.generation_of(pcs, pclq);
        Clique { context, pcs, pclq, pod_gang, backend: &**backend, generation }
    }
}

struct Clique<'a> {
    context: &'a Context,
    pcs: &'a PodCliqueSet,
    pclq: &'a PodClique,
    pod_gang: &'a PodGang,
    backend: &'a dyn SchedulerBackend,
    generation: u64,
}

impl Clique<'_> {
    fn uid(&self) -> &str {
        self.pclq.metadata.uid.as_deref().unwrap_or_default()
    }

    fn unseen(&self, pods: &[Arc<Pod>]) -> Unseen {
        let cache: Vec<_> = pods.iter().map(|pod| seen(pod)).collect();
        self.context.expectations.unseen(self.uid(), &cache)
    }

    fn lacking(&self, pods: &[Arc<Pod>]) -> usize {
        let live = pods.iter().filter(|pod| is_live(pod) && !is_former(pod, self.generation)).count();
        usize::try_from(self.pclq.spec.replicas).unwrap_or(0).saturating_sub(live)
    }

    /// A finished pod no longer belongs to the gang, so it is replaced (AON-11).
    async fn scale(&self, pods: &[Arc<Pod>]) -> Result<(), ReconcileError> {
        let unseen = self.unseen(pods);
        // A PodClique deleted meanwhile has lost its expectations: the plan would count too few pods.
        let current =
            self.context.caches.pod_cliques.get(self.pclq.namespace().as_deref(), &self.pclq.name_any());
        if current.is_none_or(|current| current.uid() != self.pclq.uid()) {
            return Ok(());
        }
        let undeleted = |pod: &&Arc<Pod>| pod.uid().is_some_and(|uid| !unseen.deleted.contains(&uid));
        let is_counted =
            |pod: &&Arc<Pod>| is_live(pod) || (fault!("terminating-pods-are-replicas") && !is_finished(pod));
        // Gated pods of a deleted PodGang of this name keep its gang resources alive and are never released.
        let resources_held = self.context.synced.are_held_by_pods(self.pod_gang);
        let (former, current): (Vec<_>, Vec<_>) = pods
            .iter()
            .filter(undeleted)
            .partition(|pod| is_former(pod, self.generation) || (resources_held && is_gated(pod)));
        let live: Vec<_> = current.into_iter().filter(is_counted).map(|pod| self.replica(pod)).collect();
        let member = Membership { pod_gang: self.pod_gang, pod_clique: &self.pclq.name_any(), pod_index: 0 };
        let hard =
            member.min_replicas().filter(|_| self.backend.has_fixed_members(self.pod_gang)).unwrap_or(0);
        let mut plan = replicas::plan(self.pclq.spec.replicas, hard, &live, &unseen.created);
        if self.is_leaving() {
            plan.delete.clear();
        }

        let finished =
            pods.iter().filter(|pod| is_finished(pod) && pod.metadata.deletion_timestamp.is_none());
        let finished = finished.filter(undeleted);
        let former: Vec<_> = former.into_iter().filter(|pod| is_live(pod)).collect();
        // Pods of the next generation reuse the indexes of former pods.
        let indexes_are_free = former.is_empty();
        let surplus = pods.iter().filter(|pod| pod.uid().is_some_and(|uid| plan.delete.contains(&uid)));
        let due = if plan.delete.is_empty() { self.due_in_update(pods, &unseen) } else { Vec::new() };
        let replaced = pods.iter().filter(|pod| is_live(pod) && due.contains(&pod.name_any()));
        let replaced: Vec<_> = replaced.filter(undeleted).collect();
        if fault!("update-deletes-podgang") && !replaced.is_empty() {
            writes::delete(&self.context.client, self.pod_gang).await?;
        }
        let deletions =
            finished.chain(surplus).chain(former).chain(replaced).map(|pod| self.delete(pod).boxed());
        // Pods name their PodGroup. The finalizer of a PodGroup keeps it while pods name it. So pods of a new
        // PodGang would keep a deleted PodGroup of the same name indefinitely (DEL-08).
        let may_create = indexes_are_free
            && self.context.synced.are_synced(self.pod_gang)
            && self.is_gang_of_this_generation()
            && !idle::is_idle(self.pod_gang, &self.pclq.name_any())
            && !has_earlier_pods(&self.context.caches, self.pclq);
        let may_create = may_create && !plan.create.is_empty() && self.still_exists().await?;
        let create = if may_create { plan.create.as_slice() } else { &[] };
        let writes: Vec<Write<'_>> =
            deletions.chain(create.iter().map(|index| self.create(*index).boxed())).collect();
        let result = children::all(writes).await;
        match &result {
            Ok(_) => self.context.events.reset_warning(self.pclq, REASON_POD_CREATE_FAILED),
            Err(error) if error.is_waiting() || error.is_namespace_gone() => {}
            Err(error) => {
                let reason = reason(error, &self.pclq.name_any());
                self.context.events.warn(self.pclq, REASON_POD_CREATE_FAILED, &reason).await;
            }
        }
        result
    }

    /// Earlier pods may have disappeared because the PodClique was deleted, which another watch reports
    /// later. New pods would then have the same hostnames as the pods of a new PodClique of the same name.
    async fn still_exists(&self) -> Result<bool, ReconcileError> {
        if !self.context.expectations.has_created(self.uid()) {
            return Ok(true);
        }
        writes::still_exists(&self.context.client, self.pclq).await
    }

    /// Whether the PodClique is scaled to 0 but still in its PodGang. Its pods are deleted later: otherwise
    /// the PodGang would be incomplete, and later pods could be mistaken for the deleted ones (AUTO-06).
    fn is_leaving(&self) -> bool {
        let mut podgroups = self.pod_gang.spec.podgroups.iter();
        self.pclq.spec.replicas == 0
            && !fault!("idle-podgroups-stay")
            && self.backend.allows_idle(self.pod_gang)
            && !self.pclq.labels().contains_key(LABEL_SCALING_GROUP)
            && podgroups.any(|podgroup| podgroup.name == self.pclq.name_any())
    }

    /// Pods that an update replaces now: the pod of the current update step, and old pods that are not Ready.
    /// Pods of a scaling group are replaced together with their replica.
    fn due_in_update(&self, pods: &[Arc<Pod>], unseen: &Unseen) -> Vec<String> {
        let is_standalone = !self.pclq.labels().contains_key(LABEL_SCALING_GROUP);
        if !is_standalone || !is_in_update_step(self.pcs, self.pclq) {
            return Vec::new();
        }
        let view = CliqueView::of(&self.context.caches, self.pcs, Arc::new(self.pclq.clone()));
        let Some(view) = view.filter(CliqueView::creates_new_pods) else { return Vec::new() };
        let is_being_deleted = |pod: &&Arc<Pod>| pod.uid().is_some_and(|uid| unseen.deleted.contains(&uid));
        let deleting: Vec<_> = pods.iter().filter(is_being_deleted).map(|pod| pod.name_any()).collect();
        let units = view.units().without(&deleting);
        let in_step = view.steps(self.pcs).current.filter(|current| units.may_be_taken_down(current));
        let all = units.present.iter().filter(|unit| unit.old && fault!("update-deletes-all-old-pods"));
        let due = units.old_and_down().cloned().chain(in_step).chain(all.map(|unit| unit.key.clone()));
        let earlier = if fault!("update-deletes-new-pods") { view.earlier_new_pods() } else { Vec::new() };
        due.chain(earlier).collect()
    }

    fn replica(&self, pod: &Pod) -> replicas::ExistingPod {
        let hash = |labels: &BTreeMap<String, String>| labels.get(LABEL_POD_TEMPLATE_HASH).cloned();
        let is_current = hash(pod.labels()) == hash(self.pclq.labels());
        let created = pod.metadata.creation_timestamp.as_ref().map_or(0, |created| created.0.as_second());
        replicas::ExistingPod {
            uid: pod.uid().unwrap_or_default(),
            index: pod.labels().get(LABEL_POD_INDEX).and_then(|index| index.parse().ok()),
            bound: is_bound(pod),
            ready: is_ready(pod),
            current: if fault!("scale-in-deletes-new-template") { !is_current } else { is_current },
            created: if fault!("scale-in-deletes-oldest") { -created } else { created },
        }
    }

    /// Whether pods of this generation may be created in the PodGang. A scaled PodGang must have the same
    /// generation. In a base PodGang, a replica of a scaling group may have a later generation.
    fn is_gang_of_this_generation(&self) -> bool {
        let is_scaled = self.pclq.labels().contains_key(LABEL_BASE_POD_GANG);
        !is_scaled || generation::of_gang(self.pod_gang) == self.generation
    }

    async fn create(&self, index: i32) -> Result<(), ReconcileError> {
        let name = pod_creation::pod_name(&self.pclq.name_any());
        let previous = previous_template::with_stored_template(self.pcs, self.pclq, (self.generation, index));
        let pclq = previous.as_ref().unwrap_or(self.pclq);
        let parents = awaited(&self.context.caches, self.pcs, pclq);
        let mut pod = pod::pod(self.pcs, pclq, (&name, index), &parents, &self.context.init_image);
        let pod_clique = self.pclq.name_any();
        let member = Membership { pod_gang: self.pod_gang, pod_clique: &pod_clique, pod_index: index };
        if self.generation > 0 {
            pod.labels_mut().insert(LABEL_GENERATION.to_owned(), self.generation.to_string());
        }
        self.backend.prepare_pod(&mut pod, &member)?;
        let expectations = &self.context.expectations;
        expectations.expect_creation(self.uid(), &name, index);
        let created = pod_creation::create(&self.context.client, &pod).await;
        if !matches!(created, Ok(()) | Err(ReconcileError::Unsettled(_))) {
            expectations.creation_failed(self.uid(), &name);
        }
        created
    }

    async fn delete(&self, pod: &Pod) -> Result<(), ReconcileError> {
        writes::delete(&self.context.client, pod).await?;
        self.context.expectations.expect_deletion(self.uid(), &pod.uid().unwrap_or_default());
        Ok(())
    }

    /// Removes the gates of the pods that may be scheduled.
    async fn release(&self, pods: &[Arc<Pod>]) -> Result<(), ReconcileError> {
        let mut gated: Vec<_> = pods.iter().filter(|pod| is_live(pod) && is_gated(pod)).collect();
        if gated.is_empty() {
            return Ok(());
        }
        let released = self.unseen(pods).released;
        gated.retain(|pod| pod.uid().is_none_or(|uid| !released.contains(&uid)));
        if fault!("startup-order-keeps-gates") && !self.pclq.spec.starts_after.is_empty() {
            return Ok(());
        }
        if fault!("early-ungate") {
            return children::all(
                gated.into_iter().map(|pod| self.ungate(pod, Vec::new()).boxed()).collect(),
            )
            .await;
        }
        if fault!("idle-pods-stay-gated") && idle::has_been_idle(self.pod_gang, &self.pclq.name_any()) {
            return Ok(());
        }
        if let Some(reason) = self.readiness().hold() {
            tracing::debug!(pod_clique = self.pclq.name_any(), reason, "the pods stay gated");
            return Ok(());
        }
        let view = GangView::of(&self.context.caches, self.pod_gang);
        let (gang_pods, former) = (view.pods(), view.former());
        if fault!("former-pods-keep-gates") && !former.is_empty() {
            return Ok(());
        }
        let topology = self.context.caches.topology_of(self.pod_gang);
        let state = GangState {
            pod_gang: self.pod_gang,
            pods: &gang_pods,
            former: &former,
            topology: topology.as_deref(),
        };
        // A gated pod of a later generation results from a termination that the cache does not show yet.
        let of_generation = gated.into_iter().filter(|pod| generation::of_pod(pod) == self.generation);
        let referenced = of_generation.filter(|pod| gate::is_referenced(self.pod_gang, &pod.name_any()));
        children::all(referenced.map(|pod| self.release_one(pod, &state).boxed()).collect()).await
    }

    async fn release_one(&self, pod: &Pod, gang: &GangState<'_>) -> Result<(), ReconcileError> {
        match self.backend.release_pod(pod, gang).await? {
            Release::Now(requirements) => self.ungate(pod, requirements).await,
            Release::Hold(reason) => {
                tracing::debug!(pod = pod.name_any(), reason, "the pod stays gated");
                Ok(())
            }
            Release::Replace(reason) => {
                tracing::info!(pod = pod.name_any(), reason, "deleting the pod to create it again");
                self.delete(pod).await
            }
        }
    }

    fn readiness(&self) -> GangReadiness {
        let base = self.pclq.labels().get(LABEL_BASE_POD_GANG).map(|base| {
            let base = self.context.caches.own_pod_gang(self.pcs, base);
            base.map_or_else(
                || Some("it does not exist".to_owned()),
                |base| GangView::of(&self.context.caches, &base).unbound_minimum(),
            )
        });
        GangReadiness {
            initialized: gate::is_initialized(self.pod_gang),
            synced: self.context.synced.is_current(self.pod_gang),
            base_unbound: base.flatten().filter(|_| !fault!("ignore-unbound-base")),
        }
    }

    async fn ungate(
        &self,
        pod: &Pod,
        requirements: Vec<NodeSelectorRequirement>,
    ) -> Result<(), ReconcileError> {
        let labels = self.backend.release_labels(self.pod_gang, pod);
        let patch = Patch::Strategic(gate::release_patch(pod, &requirements, &labels));
        let request = writes::requests::<Pod>(pod).patch(&pod.name_any(), &PatchParams::default(), &patch);
        let _permit = self.context.flow.release().await;
        match writes::send(&self.context.client, request).await {
            Ok(_) => {
                self.context.expectations.expect_release(self.uid(), &pod.uid().unwrap_or_default());
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(()),
            Err(source) => {
                Err(ReconcileError::Api { action: format!("ungate Pod {}", pod.name_any()), source })
            }
        }
    }
}

fn seen(pod: &Pod) -> Seen<'_> {
    Seen {
        name: pod.metadata.name.as_deref().unwrap_or_default(),
        uid: pod.metadata.uid.as_deref().unwrap_or_default(),
        terminating: pod.metadata.deletion_timestamp.is_some(),
        gated: is_gated(pod),
    }
}

/// Omits the pod's name, which differs with every attempt, so that the reason stays the same.
fn reason(error: &ReconcileError, pod_clique: &str) -> String {
    let ReconcileError::Api { source: kube::Error::Api(status), .. } = error else {
        return error.to_string();
    };
    let quoted = status.message.split('"').nth(1).filter(|name| name.starts_with(pod_clique));
    quoted.map_or_else(|| status.message.clone(), |pod| status.message.replace(pod, pod_clique))
}

#[cfg(test)]
#[path = "pod_clique_tests.rs"]
mod tests;
