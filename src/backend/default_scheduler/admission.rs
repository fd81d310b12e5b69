//! Which PodCliqueSets kube-scheduler's Workload API can express.
//!
//! Everything here is computed from the spec, before anything exists: what the API cannot name or hold is
//! refused and never half created (KUBE-05), a topology level it cannot honour is refused and never ignored
//! (KUBE-07, ADM-09). An update that leaves the spec alone is never refused for its spec (ADM-08).

use kube::ResourceExt;

use super::config::DefaultSchedulerConfig;
use super::detection::Support;
use super::{GangScope, names, plan, workload_api};
use crate::api::names::ANNOTATION_GANG_SCOPE;
use crate::api::{PodCliqueSet, PodCliqueSetTemplateSpec, TopologyConstraint};
use crate::backend::{DEFAULT_SCHEDULER, FieldError, Validation};

const TEMPLATE: &str = "spec.template";

/// Checks `pcs`; `old` is the stored object on an update, `support` what the cluster has.
pub(super) fn validate(
    config: &DefaultSchedulerConfig,
    pcs: &PodCliqueSet,
    old: Option<&PodCliqueSet>,
    support: &Support,
) -> Validation {
    let mut found = Validation::default();
    let scope = gang_scope(config, pcs, old, &mut found);
    if old.is_some_and(|old| old.spec == pcs.spec) {
        return found;
    }
    membership(config, pcs, old, &mut found);
    if !config.gang_scheduling || is_external(&pcs.spec.template) {
        return found;
    }
    if let (None, Err(reason)) = (old, &support.gangs) {
        let message = format!("scheduler backend {DEFAULT_SCHEDULER} cannot schedule gangs: {reason}");
        found.errors.push(FieldError::forbidden("spec", message));
        return found;
    }
    object_names(pcs, &mut found);
    if scope == GangScope::PodGroup {
        podgroup_limit(&pcs.spec.template, &mut found);
    }
    topology(&pcs.spec.template, scope, old.is_none().then_some(support), &mut found);
    found
}

/// Whether the pods bring a scheduling group of their own (KUBE-15).
pub(super) fn is_external(template: &PodCliqueSetTemplateSpec) -> bool {
    template.cliques.iter().any(|clique| clique.spec.pod_spec.scheduling_group().is_some())
}

/// The scope that applies, and what is wrong with the annotation.
fn gang_scope(
    config: &DefaultSchedulerConfig,
    pcs: &PodCliqueSet,
    old: Option<&PodCliqueSet>,
    found: &mut Validation,
) -> GangScope {
    let path = format!("metadata.annotations[{ANNOTATION_GANG_SCOPE}]");
    let said = pcs.annotations().get(ANNOTATION_GANG_SCOPE);
    if old.is_some_and(|old| old.annotations().get(ANNOTATION_GANG_SCOPE) != said) {
        found
            .errors
            .push(FieldError::forbidden(&path, "the gang scope is immutable; recreate the PodCliqueSet"));
    }
    match said.map(|value| (value, GangScope::parse(value))) {
        None => config.gang_scope,
        Some((_, Some(scope))) => scope,
        Some((value, None)) => {
            found
                .errors
                .push(FieldError::not_supported(path, format!("{value:?}: must be PodGroup or PodGang")));
            config.gang_scope
        }
    }
}

fn membership(
    config: &DefaultSchedulerConfig,
    pcs: &PodCliqueSet,
    old: Option<&PodCliqueSet>,
    found: &mut Validation,
) {
    let external = is_external(&pcs.spec.template);
    for (i, clique) in pcs.spec.template.cliques.iter().enumerate() {
        let path = format!("{TEMPLATE}.cliques[{i}].spec.podSpec.schedulingGroup");
        let group = clique.spec.pod_spec.scheduling_group();
        let before = old.and_then(|old| old.spec.template.cliques.iter().find(|c| c.name == clique.name));
        if before.is_some_and(|before| before.spec.pod_spec.scheduling_group() != group) {
            found.errors.push(FieldError::forbidden(path, "is immutable; recreate the PodCliqueSet"));
        } else if group.is_some() && !config.gang_scheduling {
            found.errors.push(FieldError::forbidden(
                path,
                "may be set only where profile default-scheduler has gangScheduling: true",
            ));
        } else if external && group.is_none() {
            // A gang that is not ours gets no PodGroups: the others of it would run as loose pods.
            found.errors.push(FieldError::required(path, "must be set on every clique if it is set on one"));
        }
    }
}

/// Names that end up where only a DNS label will do, whatever is cut: the headless Service and the pods' host
/// names.
fn object_names(pcs: &PodCliqueSet, found: &mut Validation) {
    let template = &pcs.spec.template;
    let cliques =
        template.cliques.iter().enumerate().map(|(i, c)| (format!("{TEMPLATE}.cliques[{i}].name"), &c.name));
    let groups = template.pod_clique_scaling_groups.iter().enumerate();
    let groups = groups.map(|(i, g)| (format!("{TEMPLATE}.podCliqueScalingGroups[{i}].name"), &g.name));
    let name = pcs.name_any();
    let all = std::iter::once(("metadata.name".to_owned(), &name)).chain(cliques).chain(groups);
    let bad = all.filter(|(_, name)| !names::is_dns_label(name)).map(|(path, name)| {
        FieldError::invalid(
            path,
            format!("{name:?} becomes part of host names and must be a DNS label (RFC 1123)"),
        )
    });
    found.errors.extend(bad);
}

/// Podgroups of the base PodGang and, per scaling group, of each scaled one.
fn podgroup_counts(template: &PodCliqueSetTemplateSpec) -> (usize, Vec<usize>) {
    let groups = &template.pod_clique_scaling_groups;
    let grouped = |name: &String| groups.iter().any(|group| group.clique_names.contains(name));
    let standalone = template.cliques.iter().filter(|clique| !grouped(&clique.name)).count();
    let in_base = groups.iter().map(|group| {
        let replicas = usize::try_from(group.min_available.unwrap_or(1)).unwrap_or(0);
        replicas.saturating_mul(group.clique_names.len())
    });
    let base = in_base.fold(standalone, usize::saturating_add);
    (base, groups.iter().map(|group| group.clique_names.len()).collect())
}

fn podgroup_limit(template: &PodCliqueSetTemplateSpec, found: &mut Validation) {
    let (base, scaled) = podgroup_counts(template);
    let advice = format!("annotation {ANNOTATION_GANG_SCOPE}: PodGang has no such limit");
    if base > workload_api::MAX_TEMPLATES {
        let message = format!("the base PodGang would have {}; {advice}", plan::too_many_podgroups(base));
        found.errors.push(FieldError::invalid(format!("{TEMPLATE}.cliques"), message));
    }
    for (i, podgroups) in scaled.into_iter().enumerate().filter(|(_, n)| *n > workload_api::MAX_TEMPLATES) {
        let message =
            format!("a scaled PodGang would have {}; {advice}", plan::too_many_podgroups(podgroups));
        let path = format!("{TEMPLATE}.podCliqueScalingGroups[{i}].cliqueNames");
        found.errors.push(FieldError::invalid(path, message));
    }
}

/// KUBE-07. `support` is given on a create only.
fn topology(
    template: &PodCliqueSetTemplateSpec,
    scope: GangScope,
    support: Option<&Support>,
    found: &mut Validation,
) {
    let (base, scaled) = podgroup_counts(template);
    let single = base <= 1 && scaled.iter().all(|podgroups| *podgroups == 1);
    let on_set = template.topology_constraint.as_ref();
    let set_refusal = match scope {
        GangScope::PodGroup if !single => Some(
            "kube-scheduler takes one topology key per PodGroup, and PodGroups of one PodGang would choose \
             domains of their own; a constraint of the PodCliqueSet needs PodGangs of one podgroup, or \
             annotation scheduling.grove.io/gang-scope: PodGang",
        ),
        _ => None,
    };
    check(on_set, &format!("{TEMPLATE}.topologyConstraint"), set_refusal, support, found);

    let clique_refusal = match scope {
        GangScope::PodGang => {
            Some("gang scope PodGang has one PodGroup: only the PodCliqueSet may have a constraint")
        }
        GangScope::PodGroup if on_set.is_some() => {
            Some("kube-scheduler takes one topology key per PodGroup, and the PodCliqueSet has one already")
        }
        GangScope::PodGroup => None,
    };
    for (i, clique) in template.cliques.iter().enumerate() {
        let path = format!("{TEMPLATE}.cliques[{i}].topologyConstraint");
        check(clique.topology_constraint.as_ref(), &path, clique_refusal, support, found);
    }
    for (i, group) in template.pod_clique_scaling_groups.iter().enumerate() {
        let path = format!("{TEMPLATE}.podCliqueScalingGroups[{i}].topologyConstraint");
        let refusal =
            Some("kube-scheduler cannot keep the PodGroups of a scaling-group replica in one domain");
        check(group.topology_constraint.as_ref(), &path, refusal, support, found);
    }
}

fn check(
    constraint: Option<&TopologyConstraint>,
    path: &str,
    refusal: Option<&str>,
    support: Option<&Support>,
    found: &mut Validation,
) {
    let Some(constraint) = constraint else { return };
    let (required, preferred) = (constraint.required_domain(), constraint.preferred_domain());
    let missing = support.and_then(|support| support.topology.as_ref().err());
    if let Some(reason) = refusal.map(str::to_owned).or_else(|| missing.cloned()) {
        let message =
            format!("scheduler backend {DEFAULT_SCHEDULER} cannot honour this constraint: {reason}");
        found.errors.push(FieldError::forbidden(path, message));
    } else if required.is_none() && preferred.is_some() {
        let message =
            format!("scheduler backend {DEFAULT_SCHEDULER} has no preferred topology; use pack.required");
        found.errors.push(FieldError::forbidden(format!("{path}.pack.preferred"), message));
    } else if preferred.is_some() {
        found.warnings.push(format!(
            "{path}.pack.preferred has no effect: scheduler backend {DEFAULT_SCHEDULER} has no preferred \
             topology"
        ));
    }
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
