//! A new object must satisfy all rules. An update must keep the shape (ADM-03), and may keep the stored
//! object's errors. So an object stays editable when other objects in the cluster change (ADM-08, ADM-16).

use grove_api::PodCliqueSet;

use super::findings::keep_new;
use super::topology_bindings::LookupError;
use super::{
    AdmissionState, autoscaling, derived_names, immutability, overwritten, pod_priority, pod_template,
    resource_sharing, scheduler, startup_order, structure, topology, topology_change, unsupported,
};
use crate::backend::Validation;

pub async fn validate_create(
    pcs: &PodCliqueSet,
    cluster: &AdmissionState,
) -> Result<Validation, LookupError> {
    let mut findings = own_rules(pcs);
    findings.extend(topology::check(pcs, cluster.bindings.as_ref()).await?);
    findings.extend(scheduler::check(pcs, None, &cluster.registry).await);
    Ok(findings)
}

pub async fn validate_update(
    old: &PodCliqueSet,
    new: &PodCliqueSet,
    cluster: &AdmissionState,
) -> Result<Validation, LookupError> {
    if new.metadata.deletion_timestamp.is_some() || is_unchanged_for_all_rules(old, new) {
        return Ok(Validation::default());
    }
    let stored = in_order_of(new, old);
    let mut findings = keep_new(own_rules(new), &own_rules(&stored));
    findings.errors.extend(immutability::check(old, new));
    findings.warnings.extend(topology_change::deprecations(new));
    findings.warnings.extend(autoscaling::warnings(old, new));
    if findings.admits() && topology_change::is_repair(old, new) {
        findings.extend(topology::check(new, cluster.bindings.as_ref()).await?);
    }
    findings.extend(scheduler::check(new, Some(&stored), &cluster.registry).await);
    Ok(findings)
}

/// Returns the stored object with its cliques and scaling groups in the order of the update. An update may
/// reorder them, and the paths and messages of findings depend on the order.
fn in_order_of(new: &PodCliqueSet, old: &PodCliqueSet) -> PodCliqueSet {
    let mut stored = old.clone();
    let (before, after) = (&mut stored.spec.template, &new.spec.template);
    before.cliques.sort_by_key(|clique| {
        let place = after.cliques.iter().position(|found| found.name == clique.name);
        place.unwrap_or(usize::MAX)
    });
    before.pod_clique_scaling_groups.sort_by_key(|group| {
        let place = after.pod_clique_scaling_groups.iter().position(|found| found.name == group.name);
        place.unwrap_or(usize::MAX)
    });
    stored
}

fn is_unchanged_for_all_rules(old: &PodCliqueSet, new: &PodCliqueSet) -> bool {
    old.spec == new.spec
        && old.metadata.labels == new.metadata.labels
        && old.metadata.annotations == new.metadata.annotations
}

fn own_rules(pcs: &PodCliqueSet) -> Validation {
    let (structure, sharing) = (structure::check(pcs), resource_sharing::check(pcs));
    let has_valid_names = structure.is_empty() && sharing.is_empty();
    let mut findings = Validation { errors: structure, warnings: overwritten::warnings(pcs) };
    if has_valid_names {
        findings.errors.extend(derived_names::check(pcs));
    }
    findings.errors.extend(startup_order::check(pcs));
    findings.errors.extend(autoscaling::check(pcs));
    findings.errors.extend(sharing);
    findings.errors.extend(pod_template::check(pcs));
    findings.errors.extend(pod_priority::check(pcs));
    findings.errors.extend(unsupported::check(pcs));
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::admission::fixture::{cluster, pcs};
    use crate::backend::FieldError;
    use crate::backend::fake_backend::FakeBackend;

    const QUEUE: &str = "/metadata/annotations/queue";
    const SCHEDULER: [&str; 3] = [
        "/spec/template/cliques/0/spec/podSpec/schedulerName",
        "/spec/template/cliques/1/spec/podSpec/schedulerName",
        "/spec/template/cliques/2/spec/podSpec/schedulerName",
    ];

    fn queueing(name: &'static str) -> FakeBackend {
        fn queue(pcs: &PodCliqueSet) -> Option<&String> {
            pcs.metadata.annotations.as_ref()?.get("queue")
        }
        fn rules(pcs: &PodCliqueSet, old: Option<&PodCliqueSet>) -> Validation {
            if old == Some(pcs) {
                return Validation::default();
            }
            let is_closed = queue(pcs).is_none_or(|queue| queue != "open");
            let closed =
                is_closed.then(|| FieldError::invalid("queue", format!("{:?} is not open", queue(pcs))));
            let changes = old.is_some_and(|old| queue(old) != queue(pcs));
            let changed = changes.then(|| FieldError::forbidden("queue", "immutable"));
            Validation { errors: closed.into_iter().chain(changed).collect(), warnings: Vec::new() }
        }
        FakeBackend { rules, ..FakeBackend::ready(name) }
    }

    fn two_backends() -> AdmissionState {
        cluster(vec![FakeBackend::ready("default-scheduler"), queueing("volcano")])
    }

    fn on_volcano(edits: &[(&str, Value)]) -> PodCliqueSet {
        let schedulers = SCHEDULER.map(|pointer| (pointer, json!("volcano")));
        pcs(&[schedulers.as_slice(), edits].concat())
    }

    async fn create(pcs: &PodCliqueSet) -> Validation {
        validate_create(pcs, &two_backends()).await.unwrap()
    }

    async fn update(old: &PodCliqueSet, new: &PodCliqueSet) -> Validation {
        validate_update(old, new, &two_backends()).await.unwrap()
    }

    #[tokio::test]
    async fn only_the_selected_backend_is_asked() {
        assert_eq!(create(&pcs(&[])).await, Validation::default());
        assert_eq!(create(&on_volcano(&[(QUEUE, json!("open"))])).await, Validation::default());
        assert_eq!(create(&on_volcano(&[])).await.errors.len(), 1);
    }

    #[tokio::test]
    async fn a_backend_is_not_asked_about_a_broken_structure() {
        let errors = create(&on_volcano(&[("/spec/replicas", json!(-1))])).await.errors;
        assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), ["spec.replicas"]);
    }

    #[tokio::test]
    async fn all_findings_are_returned_at_once() {
        let findings = create(&pcs(&[
            ("/spec/replicas", json!(-1)),
            ("/spec/template/cliqueStartupType", json!("CliqueStartupTypeExplicit")),
            ("/spec/template/cliques/0/spec/startsAfter", json!(["a"])),
            ("/spec/template/cliques/0/spec/podSpec/nodeName", json!("n1")),
            ("/spec/template/cliques/0/spec/podSpec/hostname", json!("mine")),
            ("/spec/template/topologyConstraint", json!({ "pack": { "required": "rack" } })),
            (SCHEDULER[0], json!("koord-scheduler")),
        ]))
        .await;
        let paths: Vec<_> = findings.errors.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "spec.replicas",
                "spec.template.cliques[0].spec.startsAfter",
                "spec.template.cliques[0].spec.podSpec.nodeName",
                "spec.template.topologyConstraint.topologyName",
                "spec.template.cliques[1].spec.podSpec.schedulerName",
            ]
        );
        assert_eq!(findings.warnings.len(), 1);
    }

    /// Edits of an object whose queue was closed after its creation.
    #[rstest::rstest]
    #[case::foreign_label("/metadata/labels/team", json!("x"))]
    #[case::foreign_annotation("/metadata/annotations/note", json!("x"))]
    #[case::finalizer("/metadata/finalizers", json!(["grove.io/podcliqueset.grove.io"]))]
    #[case::scale("/spec/replicas", json!(3))]
    #[tokio::test]
    async fn a_stored_error_blocks_no_edit(#[case] pointer: &str, #[case] value: Value) {
        let closed = (QUEUE, json!("closed"));
        let (old, new) =
            (on_volcano(std::slice::from_ref(&closed)), on_volcano(&[closed.clone(), (pointer, value)]));
        assert!(!create(&old).await.admits());
        assert_eq!(update(&old, &new).await, Validation::default());
    }

    #[tokio::test]
    async fn a_stored_error_does_not_block_an_edit_that_reorders_cliques() {
        fn rules(pcs: &PodCliqueSet, _: Option<&PodCliqueSet>) -> Validation {
            let index = pcs.spec.template.cliques.iter().position(|clique| clique.name == "c");
            let error = index.map(|index| FieldError::invalid(format!("cliques[{index}]"), "has a priority"));
            Validation { errors: error.into_iter().collect(), warnings: Vec::new() }
        }
        let state = cluster(vec![FakeBackend { rules, ..FakeBackend::ready("default-scheduler") }]);
        let policy = ("/spec/template/cliques/2/spec/podSpec/preemptionPolicy", json!("Never"));
        let old = pcs(&[policy]);
        let mut new = old.clone();
        new.spec.template.cliques.reverse();
        assert_eq!(validate_create(&old, &state).await.unwrap().errors.len(), 2);
        assert_eq!(validate_update(&old, &new, &state).await.unwrap(), Validation::default());
        new.spec.template.cliques[1].spec.pod_spec = old.spec.template.cliques[2].spec.pod_spec.clone();
        let added = validate_update(&old, &new, &state).await.unwrap().errors;
        assert_eq!(added[0].path, "spec.template.cliques[1].spec.podSpec.preemptionPolicy");
        assert_eq!(added.len(), 1);
    }

    /// An operator that supports the feature may have stored the object.
    #[tokio::test]
    async fn a_stored_unsupported_feature_blocks_no_edit() {
        let sharing = json!([{ "name": "claim", "scope": "AllReplicas" }]);
        let shared = ("/spec/template/resourceSharing", sharing);
        let scaled = ("/spec/replicas", json!(3));
        let (old, new) = (on_volcano(std::slice::from_ref(&shared)), on_volcano(&[shared, scaled]));
        assert!(!create(&old).await.admits());
        assert!(update(&old, &new).await.admits());
        assert!(!update(&on_volcano(&[]), &old).await.admits());
    }

    #[rstest::rstest]
    #[case::key_a_backend_reads(QUEUE, json!("other"))]
    #[case::key_grove_reads("/metadata/annotations/grove.io~1mnnvl-group", json!("train"))]
    #[case::structure("/spec/replicas", json!(-1))]
    #[case::shape("/spec/template/cliques/0/spec/minAvailable", json!(2))]
    #[tokio::test]
    async fn an_edit_that_adds_an_error_is_refused(#[case] pointer: &str, #[case] value: Value) {
        let old = on_volcano(&[(QUEUE, json!("open"))]);
        let new = on_volcano(&[(QUEUE, json!("open")), (pointer, value)]);
        assert!(!update(&old, &new).await.admits());
    }

    #[tokio::test]
    async fn deletion_is_never_blocked() {
        let old = on_volcano(&[(QUEUE, json!("open"))]);
        let broken: &[(&str, Value)] = &[("/spec/replicas", json!(-1)), (QUEUE, json!("closed"))];
        let deletion = ("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z"));
        assert!(!update(&old, &on_volcano(broken)).await.admits());
        assert_eq!(update(&old, &on_volcano(&[broken, &[deletion]].concat())).await, Validation::default());
    }

    #[tokio::test]
    async fn a_backend_disabled_since_causes_only_a_warning() {
        let on_koord = |replicas: i32| {
            let schedulers = SCHEDULER.map(|pointer| (pointer, json!("koord-scheduler")));
            pcs(&[schedulers.as_slice(), &[("/spec/replicas", json!(replicas))]].concat())
        };
        let findings = update(&on_koord(1), &on_koord(2)).await;
        assert_eq!((findings.errors.len(), findings.warnings.len()), (0, 1));
        assert!(!create(&on_koord(1)).await.admits());
    }

    #[tokio::test]
    async fn a_deleted_topology_blocks_only_edits_that_add_its_name() {
        let path = "/spec/template/topologyConstraint";
        let gone = json!({ "topologyName": "gone", "pack": { "required": "rack" } });
        let (old, new) = (pcs(&[(path, gone.clone())]), pcs(&[(path, gone), ("/spec/replicas", json!(2))]));
        assert!(!create(&old).await.admits());
        assert_eq!(update(&old, &new).await, Validation::default());
        let unnamed = pcs(&[(path, json!({ "packDomain": "rack" }))]);
        let repaired = |name: &str| pcs(&[(path, json!({ "topologyName": name, "packDomain": "rack" }))]);
        assert!(update(&unnamed, &repaired("topo")).await.admits());
        assert!(!update(&unnamed, &repaired("gone")).await.admits());
    }
}
