//! Selects targets by backend, gang scope and Kubernetes version.

use conformance_contract::clauses::{EXTERNAL, Feature, Workload};
use conformance_contract::external_scheduler::DECLARABLE;
use conformance_contract::kubernetes::Kubernetes;
use conformance_contract::scheduler::Scheduler;
use conformance_contract::target::{TARGETS, Target};
use conformance_run::suites;

use super::{Failure, unknown};

const ALL: &str = "all";

/// Splits TrainJob targets by control plane. The Job controller creates gangs for all Jobs, regardless of
/// their scheduler. So the targets that need these gangs (the first group) have their own control plane.
pub(crate) fn by_control_plane(targets: Vec<Target>) -> (Vec<Target>, Vec<Target>) {
    targets.into_iter().partition(|target| target.declares(Feature::JobWorkload))
}

/// Returns the targets whose `schedulerName` or target name is `backend`, or all.
pub(crate) fn targets_of(workload: Workload, what: &str, backend: &str) -> Result<Vec<Target>, Failure> {
    let targets = suites::of(workload).targets;
    let matches = |target: &Target| [ALL, target.backend(), target.name()].contains(&backend);
    let found: Vec<_> = targets.iter().copied().filter(matches).collect();
    if found.is_empty() {
        let all: Vec<_> = targets.iter().map(|target| target.backend()).chain([ALL]).collect();
        return Err(unknown::name(what, backend, &all, ""));
    }
    Ok(found)
}

/// Removes Kueue's target, for a run that does not support Kueue. Fails if no other target is selected.
pub(crate) fn without_kueue(targets: Vec<Target>, reason: &str) -> Result<Vec<Target>, Failure> {
    let (kueue, others): (Vec<_>, Vec<_>) =
        targets.into_iter().partition(|target| *target == Target::AI_CONFORMANCE_KUEUE);
    match (kueue.as_slice(), others.is_empty()) {
        ([_, ..], true) => Err(Failure::Usage(format!("--backend {}: {reason}", Scheduler::KUEUE.name()))),
        _ => Ok(others),
    }
}

fn targets(backend: &str, scope: Option<&str>) -> Result<Vec<Target>, Failure> {
    let matches = |target: &Target| backend == ALL || target.name() == backend;
    let of_backend: Vec<_> = TARGETS.into_iter().filter(matches).collect();
    if of_backend.is_empty() {
        let all: Vec<_> = TARGETS.iter().map(|target| target.name()).chain([ALL]).collect();
        return Err(unknown::name("backend", backend, &all, ""));
    }
    let Some(scope) = scope else { return Ok(of_backend) };
    let all: Vec<_> = of_backend.iter().filter_map(|target| target.scope()).collect();
    if all.is_empty() {
        return Err(Failure::Usage(format!(
            "backend {backend} has no gang scopes; --scope applies to default-scheduler only"
        )));
    }
    if !all.contains(&scope) {
        return Err(unknown::name("gang scope", scope, &all, ""));
    }
    // Other backends have only one scope.
    Ok(of_backend.into_iter().filter(|target| target.scope().is_none_or(|of| of == scope)).collect())
}

pub(crate) fn targets_on(
    kubernetes: Kubernetes,
    backend: &str,
    scope: Option<&str>,
) -> Result<Vec<Target>, Failure> {
    on(kubernetes, targets(backend, scope)?, scope)
}

/// Returns the targets of this version. A gang scope of another version is an error.
pub(crate) fn on(
    kubernetes: Kubernetes,
    targets: Vec<Target>,
    scope: Option<&str>,
) -> Result<Vec<Target>, Failure> {
    let elsewhere = targets.iter().find(|target| !target.is_on(kubernetes));
    if let (Some(scope), Some(version)) = (scope, elsewhere.map(|target| target.kubernetes())) {
        return Err(Failure::Usage(format!(
            "gang scope {scope} requires Kubernetes {version}: pass --kubernetes {version}, not {kubernetes}"
        )));
    }
    Ok(targets.into_iter().filter(|target| target.is_on(kubernetes)).collect())
}

pub(crate) fn has_scopes(backend: &str) -> bool {
    let mut of_backend = TARGETS.iter().filter(|target| backend == ALL || target.name() == backend);
    of_backend.any(|target| target.scope().is_some())
}

pub(crate) fn version_for(scope: Option<&str>) -> Kubernetes {
    let of_scope = TARGETS.iter().find(|target| scope.is_some() && target.scope() == scope);
    of_scope.map(|target| target.kubernetes()).unwrap_or_default()
}

/// Like [`targets`], but also accepts `external:NAME`, which declares these features.
pub(crate) fn targets_declaring(
    backend: &str,
    scope: Option<&str>,
    features: &[String],
) -> Result<Vec<Target>, Failure> {
    let Some((EXTERNAL, name)) = backend.split_once(':') else {
        if let Some(feature) = features.first() {
            return Err(Failure::Usage(format!(
                "target.features {feature}: the features of {backend} are built in; set them only for --backend \
                 {EXTERNAL}:NAME"
            )));
        }
        return targets(backend, scope);
    };
    if let Some(scope) = scope {
        return Err(Failure::Usage(format!(
            "backend {backend} has no gang scopes; --scope {scope} applies to default-scheduler only"
        )));
    }
    let names: Vec<String> = DECLARABLE.iter().map(ToString::to_string).collect();
    let feature = |word: &String| -> Result<Feature, Failure> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        word.parse().map_err(|_| unknown::name("feature", word, &names, ""))
    };
    let declared = features.iter().map(feature).collect::<Result<Vec<_>, _>>()?;
    let target = Target::external_scheduler(name, &declared)
        .map_err(|error| Failure::Usage(format!("--backend {backend}: {error}")))?;
    Ok(vec![target])
}

/// Rejects an external scheduler in a cluster of the harness. It needs the user's own cluster and an operator
/// with a profile for it, and the harness starts neither.
pub(crate) fn external_needs_existing(targets: &[Target], existing: bool) -> Result<(), Failure> {
    let external = targets.iter().find(|target| target.is_named_by_its_user());
    match external {
        Some(target) if !existing => Err(Failure::Usage(format!(
            "--backend {target} tests a scheduler that runs in your own cluster: pass --provider existing"
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kueue_is_left_out_of_several_targets_but_not_of_one() {
        let (kueue, other) = (Target::AI_CONFORMANCE_KUEUE, Target::AI_CONFORMANCE_KUBE);
        assert_eq!(without_kueue(vec![other, kueue], "why").unwrap(), [other]);
        assert_eq!(without_kueue(vec![kueue], "why").unwrap_err().to_string(), "--backend kueue: why");
        assert!(without_kueue(Vec::new(), "why").unwrap().is_empty());
    }

    #[test]
    fn a_gang_scope_belongs_to_one_version() {
        assert_eq!(version_for(None), Kubernetes::V1_36);
        assert_eq!(version_for(Some("Tree")), Kubernetes::V1_37);
        let tree = targets_on(Kubernetes::V1_37, "default-scheduler", None).unwrap();
        assert_eq!(tree, [Target::KUBE_TREE]);
        let failure =
            targets_on(Kubernetes::V1_36, "default-scheduler", Some("Tree")).unwrap_err().to_string();
        assert!(failure.contains("pass --kubernetes 1.37, not 1.36"), "{failure}");
    }

    #[test]
    fn an_external_scheduler_has_the_declared_features() {
        let declared = ["AtomicPodGang".to_owned(), "TopologyRequired".to_owned()];
        let targets = targets_declaring("external:mine", None, &declared).unwrap();
        let [target] = targets.as_slice() else { panic!("{targets:?}") };
        assert_eq!(
            target.options(),
            "--backend external:mine --set target.features=AtomicPodGang,TopologyRequired"
        );
        assert!(external_needs_existing(&targets, true).is_ok());
        let failure = external_needs_existing(&targets, false).unwrap_err().to_string();
        assert!(
            failure.contains("--backend external:mine") && failure.contains("--provider existing"),
            "{failure}"
        );
        assert!(external_needs_existing(&TARGETS, false).is_ok());
    }

    #[rstest::rstest]
    #[case("external:mine", None, &["AtomicPodGan"], r#"did you mean "AtomicPodGang"?"#)]
    #[case("external:mine", None, &["SelfHealing"], "SelfHealing is about resources that a backend creates")]
    #[case("external:mine", Some("PodGang"), &[], "has no gang scopes")]
    #[case("external:", None, &[], "is not a valid profile name")]
    #[case("external:volcano", None, &[], "is the schedulerName of a backend")]
    #[case("volcano", None, &["AtomicPodGang"], "the features of volcano are built in")]
    #[case("extern:mine", None, &[], "unknown backend")]
    fn invalid_external_schedulers_are_rejected(
        #[case] backend: &str,
        #[case] scope: Option<&str>,
        #[case] features: &[&str],
        #[case] message: &str,
    ) {
        let features: Vec<String> = features.iter().map(|word| (*word).to_owned()).collect();
        let failure = targets_declaring(backend, scope, &features).unwrap_err().to_string();
        assert!(failure.contains(message), "{failure}");
    }
}
