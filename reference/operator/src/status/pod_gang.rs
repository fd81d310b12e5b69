//! Computes a PodGang's status from its pods. The status of gang resources is unreliable: kube-scheduler may
//! never reset it, and Volcano may reset too much. It only provides the message of a wait.

use std::sync::Arc;
use std::time::Duration;

use grove_api::names::{
    CONDITION_BACKEND_READY, CONDITION_INITIALIZED, CONDITION_MIN_AVAILABLE_BREACHED,
    CONDITION_POD_GANG_READY, CONDITION_POD_GANG_SCHEDULED, CONDITION_POD_GANG_UNHEALTHY,
    LABEL_BASE_POD_GANG,
};
use grove_api::{PodClique, PodGang, PodGangPhase, PodGangStatus};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;

use super::disruption::{self, Evictions};
use super::foreign_gates;
use super::held::held_since;
use super::unbound_claims::{self, UnboundClaims};
use crate::backend::Served;
use crate::cache::gang_view::GangView;
use crate::cache::observed_pod::PodCondition;
use crate::cache::pods::{is_bound, is_preempted, is_ready, refusal};
use crate::context::action::Action;
use crate::context::error::ReconcileError;
use crate::context::events::{REASON_POD_CREATE_FAILED, REASON_SYNC_FAILED};
use crate::context::failures::{GANG_RESOURCES_MISSING, POD_CREATION_FAILED, SCHEDULER_ERROR};
use crate::context::stable_messages::STABLE;
use crate::context::{Context, writes};
use crate::faults::fault;
use crate::plan::conditions::{self, ConditionUpdate};
use crate::plan::json_diff::merge_patch;

/// The age from which the status of a PodGang reports missing pods.
const CREATION: Duration = Duration::from_secs(3);
const FOREIGN_GATE: &str = "ForeignGate";
const VOLUME_MISSING: &str = "VolumeMissing";

pub(crate) async fn reconcile(
    pod_gang: Arc<PodGang>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    let before = pod_gang.status.clone().unwrap_or_default();
    // `reconcile::pod_gang` writes the first status.
    let has_status = before.conditions.iter().any(|condition| condition.type_ == CONDITION_INITIALIZED);
    if context.caches.is_abandoned(&pod_gang) || !has_status {
        return Ok(Action::await_change());
    }
    let mut gang = Gang::of(&context, &pod_gang);
    if !gang.is_scheduled() && !fault!("omit-unbound-claim") {
        gang.unbound_claims = unbound_claims::find(&context, &pod_gang, &gang.view).await;
    }
    let is_initialized = conditions::is_true(&before.conditions, CONDITION_INITIALIZED);
    // Before `Initialized` is True, `reconcile::pod_gang` writes the other conditions too.
    if !is_initialized && gang.failure.is_none() && gang.age() < CREATION {
        return Ok(Action::requeue(CREATION));
    }
    let status = gang.status(&before);
    if let Some(patch) = merge_patch(&serde_json::to_value(&before)?, &serde_json::to_value(&status)?) {
        context.messages.record_write(&pod_gang, &before.conditions, &status.conditions);
        writes::patch_status_of_version(&context, &*pod_gang, &patch).await?;
    }
    if gang.is_scheduled() {
        let was_bound = conditions::is_true(&before.conditions, CONDITION_POD_GANG_SCHEDULED);
        context.metrics.record_bound(&pod_gang, was_bound);
    }
    // Compute the status again later, because a changed message about an unchanged fact wakes no reconciler.
    let stable_for = context.messages.stable_for(&pod_gang, CONDITION_POD_GANG_SCHEDULED);
    Ok(match gang.is_scheduled() {
        true => Action::await_change(),
        false => Action::requeue(stable_for.unwrap_or(STABLE)),
    })
}

/// The caller must write the status at once.
pub(crate) fn current_status(context: &Context, pod_gang: &PodGang) -> PodGangStatus {
    let before = pod_gang.status.clone().unwrap_or_default();
    let status = Gang::of(context, pod_gang).status(&before);
    context.messages.record_write(pod_gang, &before.conditions, &status.conditions);
    status
}

struct Gang<'a> {
    context: &'a Context,
    pod_gang: &'a PodGang,
    view: GangView,
    failure: Option<String>,
    /// Empty if no claims have been listed.
    unbound_claims: UnboundClaims,
}

impl<'a> Gang<'a> {
    fn of(context: &'a Context, pod_gang: &'a PodGang) -> Self {
        let view = GangView::of(&context.caches, pod_gang);
        let failure = context.events.last_warning(pod_gang, REASON_SYNC_FAILED);
        Self { context, pod_gang, view, failure, unbound_claims: UnboundClaims::default() }
    }

    fn status(&self, before: &PodGangStatus) -> PodGangStatus {
        let mut status = before.clone();
        for mut update in self.updates(&before.conditions) {
            let is_held = self.context.messages.stable_for(self.pod_gang, update.type_).is_some();
            let unchanged = before.conditions.iter().find(|old| is_held && is_same_fact(old, &update));
            if let Some(unchanged) = unchanged {
                update.message.clone_from(&unchanged.message);
            }
            status.conditions =
                conditions::with(status.conditions, update, self.pod_gang.metadata.generation);
        }
        status.phase = self.phase();
        status
    }

    fn age(&self) -> Duration {
        let created = self.pod_gang.metadata.creation_timestamp.as_ref();
        let age = created.map(|created| Timestamp::now().duration_since(created.0));
        age.and_then(|age| Duration::try_from(age).ok()).unwrap_or(CREATION)
    }

    fn is_scheduled(&self) -> bool {
        self.view.short_of(is_bound).is_none()
    }

    fn is_ready(&self) -> bool {
        self.view.short_of(is_ready).is_none()
    }

    fn phase(&self) -> PodGangPhase {
        match (self.is_scheduled(), self.is_ready()) {
            (_, true) => PodGangPhase::Running,
            (true, false) => PodGangPhase::Starting,
            (false, false) => PodGangPhase::Pending,
        }
    }

    fn updates(&self, before: &[Condition]) -> impl Iterator<Item = ConditionUpdate> {
        let scheduled_before = conditions::is_true(before, CONDITION_POD_GANG_SCHEDULED);
        let scheduled = self.is_scheduled() || (scheduled_before && fault!("scheduled-is-permanent"));
        let all = [
            Some(self.scheduled(scheduled)),
            Some(self.ready()),
            Some(self.unhealthy()),
            self.backend_ready(),
            self.disrupted(before).filter(|_| !fault!("omit-eviction")),
        ];
        all.into_iter().flatten()
    }

    fn scheduled(&self, is_scheduled: bool) -> ConditionUpdate {
        let (reason, message) = match is_scheduled {
            true => ("MinimumScheduled", "the minimum of every podgroup is scheduled".to_owned()),
            false => self.wait_reason(),
        };
        ConditionUpdate {
            type_: CONDITION_POD_GANG_SCHEDULED,
            status: Some(is_scheduled),
            reason: reason.into(),
            message,
        }
    }

    fn ready(&self) -> ConditionUpdate {
        let (reason, message) = match self.is_ready() {
            true => ("MinimumReady", "the minimum of every podgroup is ready"),
            false => ("MinimumNotReady", "the minimum of some podgroup is not ready"),
        };
        let status = Some(self.is_ready());
        ConditionUpdate {
            type_: CONDITION_POD_GANG_READY,
            status,
            reason: reason.into(),
            message: message.to_owned(),
        }
    }

    fn unhealthy(&self) -> ConditionUpdate {
        let is_breached = self.members().any(|member| self.is_breached(&member));
        let (reason, message) = match is_breached {
            true => (
                "MinAvailableBreached",
                "the minimum of some podgroup was scheduled, but is no longer available",
            ),
            false => ("MinAvailableKept", "every minimum that was scheduled is still available"),
        };
        ConditionUpdate {
            type_: CONDITION_POD_GANG_UNHEALTHY,
            status: Some(is_breached),
            reason: reason.into(),
            message: message.to_owned(),
        }
    }

    fn disrupted(&self, before: &[Condition]) -> Option<ConditionUpdate> {
        let mut pods =
            self.view.podgroups.iter().flat_map(|podgroup| podgroup.pods.iter().chain(&podgroup.former));
        let mut members = self.members();
        let evictions = Evictions {
            is_marked: pods.any(|pod| is_preempted(pod)),
            is_remembered: members
                .any(|member| member.uid().is_some_and(|uid| self.context.evictions.has(&uid))),
        };
        disruption::condition(before, evictions, self.is_scheduled())
    }

    /// `None` until the gang resources have been synced, or the sync has failed.
    fn backend_ready(&self) -> Option<ConditionUpdate> {
        let (status, reason, message) = match &self.failure {
            Some(failure) => (false, REASON_SYNC_FAILED, failure.clone()),
            None if self.context.synced.are_synced(self.pod_gang) => {
                (true, "GangResourcesMade", "the gang resources exist".to_owned())
            }
            None => return None,
        };
        Some(ConditionUpdate {
            type_: CONDITION_BACKEND_READY,
            status: Some(status),
            reason: reason.into(),
            message,
        })
    }

    /// The reason and message of a wait (STAT-09). They describe the first step that is not done.
    fn wait_reason(&self) -> (&'static str, String) {
        if let Some(failure) = &self.failure {
            return (GANG_RESOURCES_MISSING, failure.clone());
        }
        if let Some(podgroup) = self.view.incomplete() {
            let member = self.member(&podgroup.name);
            let failure = member
                .and_then(|member| self.context.events.last_warning(&*member, REASON_POD_CREATE_FAILED));
            let message = format!("not every pod of {} exists", podgroup.name);
            return match failure {
                Some(failure) => (POD_CREATION_FAILED, format!("{message}: {failure}")),
                None => ("PodsMissing", message),
            };
        }
        if let Some(base) = self.unbound_base() {
            let message =
                format!("the PodGang waits until the minimum of its base PodGang {base} is scheduled");
            return ("BaseNotScheduled", message);
        }
        let gates = foreign_gates::message(&self.view).filter(|_| !fault!("omit-foreign-gates"));
        let mut message = self.scheduler_message();
        if let (Some(message), Some(claims)) = (&mut message, &self.unbound_claims.without_node)
            && cause(message) == Cause::Volume
        {
            *message = format!("{message}; {claims}");
        }
        let has_cause = message.as_deref().is_some_and(|message| cause(message) != Cause::Unknown);
        // If the minimum is complete without gated pods, also report what the others lack (STAT-16).
        let lacks_more = (has_cause || self.unbound_claims.with_node.is_some())
            && self.view.short_of(foreign_gates::has_none).is_none();
        let message = match gates {
            Some(gates) if !lacks_more => return (FOREIGN_GATE, gates),
            Some(gates) => message.map(|message| format!("{message}; {gates}")),
            None => message,
        };
        // If a pod is bound, there was room for the whole gang, so the message is from an earlier attempt.
        let lacks_room = has_cause && !self.has_bound_pod();
        match (message, &self.unbound_claims.with_node) {
            (_, Some(claims)) if !lacks_room => (VOLUME_MISSING, claims.clone()),
            (Some(message), _) if self.is_scheduler_error() => (SCHEDULER_ERROR, message),
            (Some(message), _) => ("Unschedulable", message),
            (None, _) => ("Scheduling", "the PodGang waits for the scheduler".to_owned()),
        }
    }

    fn is_scheduler_error(&self) -> bool {
        let pods = self.view.pods();
        let mut refusals = pods.iter().filter_map(|pod| refusal(pod)).peekable();
        refusals.peek().is_some()
            && refusals.all(|refusal| refusal.reason.as_deref() == Some(SCHEDULER_ERROR))
    }

    fn unbound_base(&self) -> Option<String> {
        let member = self.members().find(|member| member.labels().contains_key(LABEL_BASE_POD_GANG))?;
        let base = member.labels().get(LABEL_BASE_POD_GANG)?;
        let pcs = self.context.caches.root_of(&member)?;
        let found = self.context.caches.own_pod_gang(&pcs, base);
        let is_bound =
            found.is_some_and(|found| GangView::of(&self.context.caches, &found).unbound_minimum().is_none());
        (!is_bound).then(|| base.clone())
    }

    fn has_bound_pod(&self) -> bool {
        self.view.pods().iter().any(|pod| is_bound(pod))
    }

    /// The most specific cause wins. Among equal causes, the reason `Unschedulable` wins.
    fn scheduler_message(&self) -> Option<String> {
        let pods = self.view.pods();
        let has_message =
            |refusal: &&PodCondition| refusal.message.as_ref().is_some_and(|text| !text.is_empty());
        let refusals = pods.iter().filter_map(|pod| refusal(pod)).filter(has_message);
        let most_specific = refusals.min_by_key(|refusal| {
            let cause = refusal.message.as_deref().map_or(Cause::Unknown, cause);
            let cause = (!fault!("report-first-message")).then_some(cause);
            (cause, refusal.reason.as_deref() != Some("Unschedulable"))
        });
        let of_pod = most_specific.and_then(|refusal| refusal.message.clone());
        let Served::By(backend) = self.context.serve(self.pod_gang) else { return of_pod };
        let resources = self.context.caches.gang_resources_of(self.pod_gang);
        match (of_pod, resources.iter().find_map(|resource| backend.domains_tried(resource))) {
            (Some(of_pod), Some(tried)) => Some(format!("{tried}; in the first domain: {of_pod}")),
            (Some(of_pod), None) => Some(of_pod),
            (None, _) => resources.iter().find_map(|resource| backend.refusal(resource)),
        }
    }

    fn member(&self, name: &str) -> Option<Arc<PodClique>> {
        self.context.caches.pod_cliques.get(self.pod_gang.namespace().as_deref(), name)
    }

    fn members(&self) -> impl Iterator<Item = Arc<PodClique>> {
        self.view.podgroups.iter().filter_map(|podgroup| self.member(&podgroup.name))
    }

    fn is_breached(&self, member: &PodClique) -> bool {
        let conditions =
            member.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        let Some(pcs) = self.context.caches.root_of(member) else { return false };
        let generation = self.context.caches.generation_of(&pcs, member);
        conditions::is_true(conditions, CONDITION_MIN_AVAILABLE_BREACHED)
            && held_since(conditions, generation).is_some()
    }
}

/// The most specific first. Messages on the pods of one gang differ. A small pod may report taints of other
/// tenants' nodes, a large pod missing GPUs, and the others that they wait for the gang.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    Resource,
    Volume,
    Nodes,
    Unknown,
}

fn cause(message: &str) -> Cause {
    let message = message.to_lowercase();
    let has = |any: &[&str]| any.iter().any(|part| message.contains(part));
    // The last three are from kube-scheduler's plugin DynamicResources.
    let resource = [
        "insufficient",
        "resources available in",
        "didn't have enough resources",
        "cannot allocate all claims",
        "resourceclaim",
        "device class",
    ];
    if has(&resource) {
        Cause::Resource
    } else if has(&["volume"]) {
        Cause::Volume
    } else if has(&["node(s)", "enough resources"]) {
        Cause::Nodes
    } else {
        Cause::Unknown
    }
}

/// Other gates or claims, or those of other pods, are another fact (STAT-15).
fn is_same_fact(old: &Condition, new: &ConditionUpdate) -> bool {
    let status = if new.status == Some(true) { "True" } else { "False" };
    let has_same_gates = foreign_gates::listed_in(&old.message) == foreign_gates::listed_in(&new.message);
    let lists_same = has_same_gates && new.reason != VOLUME_MISSING;
    old.type_ == new.type_
        && old.status == status
        && old.reason == new.reason
        && (lists_same || fault!("keep-gate-message"))
}

#[cfg(test)]
#[path = "pod_gang_tests.rs"]
mod tests;
