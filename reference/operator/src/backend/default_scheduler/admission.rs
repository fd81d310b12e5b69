//! Refuses PodCliqueSets that exceed the limits of the Workload API, so that no gang is partially created
//! (KUBE-05, KUBE-12). Also refuses topology levels that the scheduler cannot honour (KUBE-07, ADM-09). An
//! update that does not change the spec is never refused for an error in the spec (ADM-08).

use grove_api::names::ANNOTATION_GANG_SCOPE;
use grove_api::{PodCliqueScalingGroupConfig, PodCliqueSet, PodCliqueSetTemplateSpec, PodSpecJson};
use kube::ResourceExt;

use super::config::DefaultSchedulerConfig;
use super::detection::Support;
use super::outline::too_many;
use super::{GangScope, workload_api};
use crate::backend::template::{ConstraintPath, PodGroupCounts, TEMPLATE, constraints, podgroup_counts};
use crate::backend::{DEFAULT_SCHEDULER, FieldError, Validation};

const SYSTEM_CLASSES: [&str; 2] = ["system-cluster-critical", "system-node-critical"];

pub(super) fn validate(
    config: &DefaultSchedulerConfig,
    pcs: &PodCliqueSet,
    old: Option<&PodCliqueSet>,
    support: &Support,
) -> Validation {
    let mut findings = Validation::default();
    let scope = gang_scope(config, pcs, old, &mut findings);
    if old.is_some_and(|old| old.spec == pcs.spec) {
        return findings;
    }
    scheduling_groups(config, pcs, old, &mut findings);
    if !config.gang_scheduling || is_external(&pcs.spec.template) {
        return findings;
    }
    if let (None, Err(reason)) = (old, &support.gangs) {
        let message = format!("scheduler backend {DEFAULT_SCHEDULER} cannot schedule gangs: {reason}");
        findings.errors.push(FieldError::forbidden("spec", message));
        return findings;
    }
    priority(pcs, old, &mut findings);
    one_priority(&pcs.spec.template, old.map(|old| &old.spec.template), support, &mut findings);
    system_priority(pcs, old, support, &mut findings);
    let scope = match support.scope(scope) {
        Ok(chosen) => {
            if chosen != scope && pcs.annotations().contains_key(ANNOTATION_GANG_SCOPE) {
                findings.warnings.push(format!(
                    "annotation {ANNOTATION_GANG_SCOPE}: {} has no effect: the API server serves \
                     CompositePodGroup, so every PodGang becomes a tree",
                    scope.as_str()
                ));
            }
            Some(chosen)
        }
        // Never substitute another scope for the requested one, and never guess the API server's answer.
        Err(reason) if old.is_none() => {
            let message = format!("scheduler backend {DEFAULT_SCHEDULER} cannot schedule gangs: {reason}");
            findings.errors.push(FieldError::forbidden("spec", message));
            return findings;
        }
        // No limit of an unknown scope refuses an update.
        Err(_) => None,
    };
    match scope {
        Some(GangScope::PodGroup) => podgroup_limit(&pcs.spec.template, &mut findings),
        Some(GangScope::Tree) => tree_limit(&pcs.spec.template, &mut findings),
        Some(GangScope::PodGang) | None => {}
    }
    let (scope, support) = (scope.unwrap_or(GangScope::Tree), old.is_none().then_some(support));
    topology(&pcs.spec.template, scope, support, &mut findings);
    findings
}

/// Whether the user set a scheduling group on the pods (KUBE-15).
pub(super) fn is_external(template: &PodCliqueSetTemplateSpec) -> bool {
    template.cliques.iter().any(|clique| clique.spec.pod_spec.scheduling_group().is_some())
}

fn gang_scope(
    config: &DefaultSchedulerConfig,
    pcs: &PodCliqueSet,
    old: Option<&PodCliqueSet>,
    findings: &mut Validation,
) -> GangScope {
    let path = format!("metadata.annotations[{ANNOTATION_GANG_SCOPE}]");
    let requested = pcs.annotations().get(ANNOTATION_GANG_SCOPE);
    if old.is_some_and(|old| old.annotations().get(ANNOTATION_GANG_SCOPE) != requested) {
        findings
            .errors
            .push(FieldError::forbidden(&path, "the gang scope is immutable; recreate the PodCliqueSet"));
    }
    match requested.map(|value| (value, GangScope::parse(value))) {
        None => config.gang_scope,
        Some((_, Some(scope))) => scope,
        Some((value, None)) => {
            findings.errors.push(FieldError::not_supported(
                path,
                format!("{value:?}: must be PodGroup, PodGang or Tree"),
            ));
            config.gang_scope
        }
    }
}

fn scheduling_groups(
    config: &DefaultSchedulerConfig,
    pcs: &PodCliqueSet,
    old: Option<&PodCliqueSet>,
    findings: &mut Validation,
) {
    let external = is_external(&pcs.spec.template);
    for (i, clique) in pcs.spec.template.cliques.iter().enumerate() {
        let path = format!("{TEMPLATE}.cliques[{i}].spec.podSpec.schedulingGroup");
        let group = clique.spec.pod_spec.scheduling_group();
        let before = old.and_then(|old| old.spec.template.cliques.iter().find(|c| c.name == clique.name));
        if before.is_some_and(|before| before.spec.pod_spec.scheduling_group() != group) {
            findings.errors.push(FieldError::forbidden(path, "is immutable; recreate the PodCliqueSet"));
        } else if group.is_some() && !config.gang_scheduling {
            findings.errors.push(FieldError::forbidden(
                path,
                "needs gangScheduling: true in profile default-scheduler of the OperatorConfiguration",
            ));
        } else if external && group.is_none() {
            // Grove creates no PodGroups, so kube-scheduler would schedule these pods one by one.
            findings.errors.push(FieldError::required(
                path,
                "must be set on every clique, because another clique sets it",
            ));
        }
    }
}

/// A PodGroup keeps the priority that it was created with (UPD-20).
fn priority(pcs: &PodCliqueSet, old: Option<&PodCliqueSet>, findings: &mut Validation) {
    let class =
        |pcs: &PodCliqueSet| pcs.spec.template.priority_class_name.clone().filter(|name| !name.is_empty());
    if old.is_some_and(|old| old.spec.replicas > 0 && class(old) != class(pcs)) {
        let message =
            "cannot change while PodGangs exist, because PodGroups are immutable; recreate the PodCliqueSet";
        findings.errors.push(FieldError::forbidden(format!("{TEMPLATE}.priorityClassName"), message));
    }
}

/// Requires one priority and one preemption policy for all pods of a gang. Otherwise kube-scheduler 1.37 does
/// not bind the gang (KUBE-22, observation `priority/between-pods`). Classes are compared by name, because a
/// class may be deleted and recreated with another value.
///
/// After an upgrade of Kubernetes, a clique may keep a different value, so that repairs can be gradual.
fn one_priority(
    template: &PodCliqueSetTemplateSpec,
    old: Option<&PodCliqueSetTemplateSpec>,
    support: &Support,
    findings: &mut Validation,
) {
    if !support.gangs.as_ref().is_ok_and(|version| version.requires_one_priority()) {
        return;
    }
    let of_gang = class_of_set(template);
    let before = |name: &str| {
        let clique = old?.cliques.iter().find(|clique| clique.name == name)?;
        Some(&clique.spec.pod_spec)
    };
    let had_several_policies = old.is_some_and(has_several_policies);
    let mut policy: Option<(&str, &str)> = None;
    for (i, clique) in template.cliques.iter().enumerate() {
        let (name, pod_spec) = (clique.name.as_str(), &clique.spec.pod_spec);
        let path = format!("{TEMPLATE}.cliques[{i}].spec.podSpec");
        let own = pod_spec.priority_class_name().filter(|own| Some(*own) != of_gang);
        let differed = |own: &str| {
            let kept = before(name).and_then(PodSpecJson::priority_class_name) == Some(own);
            kept && old.and_then(class_of_set) != Some(own)
        };
        if let Some(own) = own.filter(|own| !differed(own)) {
            let of_gang = of_gang.map_or("is not set".to_owned(), |class| format!("is {class:?}"));
            let message = format!(
                "{own:?}: kube-scheduler binds a gang only if all its pods have one priority, and \
                 {TEMPLATE}.priorityClassName {of_gang}: set the class there, or remove it here"
            );
            findings.errors.push(FieldError::invalid(format!("{path}.priorityClassName"), message));
        }
        let Some(own) = pod_spec.preemption_policy() else { continue };
        let (first, first_policy) = *policy.get_or_insert((name, own));
        let is_kept = before(name).and_then(PodSpecJson::preemption_policy) == Some(own);
        if own != first_policy && !(is_kept && had_several_policies) {
            let message = format!(
                "{own:?}: kube-scheduler binds a gang only if all its pods have one preemption policy, and clique \
                 {first:?} has {first_policy:?}: set the same policy on all cliques"
            );
            findings.errors.push(FieldError::invalid(format!("{path}.preemptionPolicy"), message));
        }
    }
}

fn class_of_set(template: &PodCliqueSetTemplateSpec) -> Option<&str> {
    template.priority_class_name.as_deref().filter(|class| !class.is_empty())
}

fn has_several_policies(template: &PodCliqueSetTemplateSpec) -> bool {
    let mut policies = template.cliques.iter().filter_map(|clique| clique.spec.pod_spec.preemption_policy());
    policies.next().is_some_and(|first| policies.any(|policy| policy != first))
}

/// Refuses a class whose value a PodGroup cannot have (KUBE-23). An update may keep such a class, which may
/// be older than an upgrade of Kubernetes.
fn system_priority(
    pcs: &PodCliqueSet,
    old: Option<&PodCliqueSet>,
    support: &Support,
    findings: &mut Validation,
) {
    let Some(max) = support.gangs.as_ref().ok().and_then(|version| version.max_priority()) else { return };
    let class = pcs.spec.template.priority_class_name.as_deref();
    let Some(class) = class.filter(|class| SYSTEM_CLASSES.contains(class)) else { return };
    if old.is_some_and(|old| old.spec.template.priority_class_name.as_deref() == Some(class)) {
        return;
    }
    let message = format!(
        "{class:?}: its value is above {max}, the highest priority of a PodGroup, and kube-scheduler binds a gang \
         only if its pods have the priority of their PodGroup: name a PriorityClass with a value of at most {max}"
    );
    findings.errors.push(FieldError::invalid(format!("{TEMPLATE}.priorityClassName"), message));
}

fn podgroup_limit(template: &PodCliqueSetTemplateSpec, findings: &mut Validation) {
    let PodGroupCounts { base, scaled } = podgroup_counts(template);
    let advice = format!("with annotation {ANNOTATION_GANG_SCOPE}: PodGang this limit does not apply");
    if base > workload_api::MAX_TEMPLATES {
        let message =
            format!("the base PodGang would have {}; {advice}", too_many("Workload", "podgroups", base));
        findings.errors.push(FieldError::invalid(format!("{TEMPLATE}.cliques"), message));
    }
    for (i, podgroups) in scaled.into_iter().enumerate().filter(|(_, n)| *n > workload_api::MAX_TEMPLATES) {
        let message =
            format!("a scaled PodGang would have {}; {advice}", too_many("Workload", "podgroups", podgroups));
        let path = format!("{TEMPLATE}.podCliqueScalingGroups[{i}].cliqueNames");
        findings.errors.push(FieldError::invalid(path, message));
    }
}

/// Each template list in a tree has the same limit as the template list of a Workload (KUBE-12).
fn tree_limit(template: &PodCliqueSetTemplateSpec, findings: &mut Validation) {
    const HOLDER: &str = "CompositePodGroup";
    let groups = || template.pod_clique_scaling_groups.iter();
    let constrained = |group: &&PodCliqueScalingGroupConfig| group.topology_constraint.is_some();
    let replicas = |group: &PodCliqueScalingGroupConfig| {
        usize::try_from(group.min_available.unwrap_or(1)).unwrap_or(usize::MAX)
    };
    let (mut topology_groups, mut grouped_podgroups) = (0_usize, 0_usize);
    for group in groups().filter(constrained) {
        topology_groups = topology_groups.saturating_add(replicas(group));
        let podgroups = replicas(group).saturating_mul(group.clique_names.len());
        grouped_podgroups = grouped_podgroups.saturating_add(podgroups);
    }
    let below_root = podgroup_counts(template).base.saturating_sub(grouped_podgroups);
    if below_root > workload_api::MAX_TEMPLATES {
        let message = format!("the base PodGang would have {}", too_many(HOLDER, "podgroups", below_root));
        findings.errors.push(FieldError::invalid(format!("{TEMPLATE}.cliques"), message));
    }
    let path = format!("{TEMPLATE}.podCliqueScalingGroups");
    if topology_groups > workload_api::MAX_TEMPLATES {
        let message =
            format!("the base PodGang would have {}", too_many(HOLDER, "topology groups", topology_groups));
        findings.errors.push(FieldError::invalid(&path, message));
    }
    for (i, group) in groups().enumerate() {
        if group.clique_names.len() > workload_api::MAX_TEMPLATES {
            let what = too_many(HOLDER, "podgroups", group.clique_names.len());
            let message = format!("a replica would have {what}");
            findings.errors.push(FieldError::invalid(format!("{path}[{i}].cliqueNames"), message));
        }
    }
}

fn topology(
    template: &PodCliqueSetTemplateSpec,
    scope: GangScope,
    support: Option<&Support>,
    findings: &mut Validation,
) {
    let missing = support.and_then(|support| support.topology.as_ref().err());
    for constrained in constraints(template) {
        let refusal = refusal(template, scope, constrained.place);
        match refusal.or(missing.map(String::as_str)) {
            Some(reason) => findings.errors.push(constrained.refused(DEFAULT_SCHEDULER, reason)),
            None => constrained.check_required_only(DEFAULT_SCHEDULER, findings),
        }
    }
}

fn refusal(
    template: &PodCliqueSetTemplateSpec,
    scope: GangScope,
    place: ConstraintPath,
) -> Option<&'static str> {
    let PodGroupCounts { base, scaled } = podgroup_counts(template);
    let single = base <= 1 && scaled.iter().all(|podgroups| *podgroups == 1);
    match (place, scope) {
        (_, GangScope::Tree) => None,
        (ConstraintPath::PodCliqueSet, GangScope::PodGroup) if !single => Some(
            "kube-scheduler chooses a domain for each PodGroup, so the podgroups of a PodGang could get \
             different domains; set annotation scheduling.grove.io/gang-scope: PodGang, or constrain the \
             cliques instead",
        ),
        (ConstraintPath::Clique, GangScope::PodGang) => Some(
            "gang scope PodGang creates one PodGroup per PodGang: set annotation \
             scheduling.grove.io/gang-scope: PodGroup, or constrain the PodCliqueSet instead",
        ),
        (ConstraintPath::Clique, GangScope::PodGroup) if template.topology_constraint.is_some() => Some(
            "a PodGroup has only one topology key, and the PodCliqueSet already sets it: remove one \
             constraint",
        ),
        (ConstraintPath::ScalingGroup, _) => Some(
            "kube-scheduler cannot keep the PodGroups of a scaling-group replica in one domain without \
             CompositePodGroup: constrain the PodCliqueSet instead",
        ),
        (ConstraintPath::PodCliqueSet | ConstraintPath::Clique, _) => None,
    }
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;
